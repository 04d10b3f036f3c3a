//! Links, state hashes (native against the browser), embed, languages, and bad addresses.

use anyhow::{Context, Result, ensure};
use browser_tests::{Page, by_test, size};
use seven_of_eight::scenario;
use seven_of_eight::session::Run;
use seven_of_eight::sim::time::Time;
use std::sync::Arc;

async fn hash_of(page: &Page) -> Result<(String, String)> {
    page.click_test("share").await?;
    let hash = page.wait_for(&by_test("state-hash"), "").await?;
    let link = page.js("document.querySelector('[data-testid=share-link]').value").await?;
    page.click_test("dialog-close").await?;
    Ok((hash, link.as_str().context("a link")?.to_owned()))
}

fn native_hash(id: &str, at: Time) -> Result<String> {
    let scenario = scenario::library(id).context("in the library")?;
    let scenario = scenario.map_err(|p| anyhow::anyhow!("{p:?}"))?;
    let mut run = Run::new(Arc::new(scenario.setup), Vec::new())?;
    run.advance(at, usize::MAX);
    Ok(format!("{:016x}", run.world().state_hash()))
}

#[tokio::test]
async fn native_and_browser_agree_on_the_state_of_every_scenario() -> Result<()> {
    for (id, _) in scenario::LIBRARY {
        let setup = scenario::library(id).context("in the library")?.map_err(|p| anyhow::anyhow!("{p:?}"))?.setup;
        // Two thirds of the run: most of what happens has happened.
        let at = Time::from_secs(setup.end.0 / 1_000_000 * 2 / 3);
        let of_day = (setup.day_start.0 / 1_000_000 + at.0 / 1_000_000) % 86_400;
        let clock = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
        let page = Page::at(&format!("#s={id}&t={clock}")).open().await?;
        page.wait_for(&by_test("clock"), &clock).await?;
        let (hash, _) = hash_of(&page).await?;
        ensure!(hash == native_hash(id, at)?, "{id}: {hash} in the browser, {} natively", native_hash(id, at)?);
    }
    Ok(())
}

#[tokio::test]
async fn a_shared_link_reopens_the_same_state_in_another_page() -> Result<()> {
    let page = Page::at("#s=seven-of-eight&t=02:00:00").size(size::DESKTOP).open().await?;
    page.wait_for(&by_test("clock"), "02:00:00").await?;
    page.click_test("switch-scheduler-kai").await?;
    page.drag(&by_test("palette-p6e-gb200.36xlarge"), &by_test("rack-A")).await?;
    page.wait_for(&by_test("rack-A"), "gb200-1").await?;
    let (hash, link) = hash_of(&page).await?;
    let fragment = link.split_once('#').map_or(link.as_str(), |(_, f)| f).to_owned();
    let other = Page::at(&format!("#{fragment}")).open().await?;
    other.wait_for(&by_test("rack-A"), "gb200-1").await?;
    ensure!(hash_of(&other).await?.0 == hash);
    other.assert_no_console_errors().await
}

#[tokio::test]
async fn bad_addresses_open_the_lab_and_say_what_is_wrong() -> Result<()> {
    let long = format!("#x1={}", "A".repeat(20_000));
    for (target, says) in [
        ("#x1=broken", "link"),
        ("#s=lying-signal&hpa.max=900", "hpa.max"),
        ("#s=nowhere", "nowhere"),
        ("?theme=pink", "theme"),
        (long.as_str(), "16"),
    ] {
        let page = Page::at(target).open().await?;
        page.wait_for(&by_test("dialog"), says).await.with_context(|| target[..target.len().min(40)].to_owned())?;
        page.click_test("dialog-close").await?;
        page.click_test("play").await?;
        page.wait_js("document.querySelector('[data-testid=clock]').textContent.length === 8").await?;
        page.assert_no_console_errors().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_embed_waits_under_start_and_takes_neither_focus_nor_scroll() -> Result<()> {
    let page = Page::at("?embed=1&scenario=seven-of-eight").size(size::EMBED).open().await?;
    page.find(&by_test("start")).await?;
    ensure!(page.js("document.activeElement === document.body && scrollY === 0").await? == true);
    let before = page.js("document.querySelector('[data-testid=clock]').textContent").await?;
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    ensure!(page.js("document.querySelector('[data-testid=clock]').textContent").await? == before);
    page.click_test("start").await?;
    page.wait_js(&format!("document.querySelector('[data-testid=clock]').textContent !== {before}")).await?;
    ensure!(!page.scrolls_sideways().await?);
    page.shot("embed-started").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn pseudo_languages_fit_and_leave_no_text_outside_the_catalogue() -> Result<()> {
    for lang in ["x-long", "x-double", "x-rtl"] {
        for size in [size::DESKTOP, size::PHONE] {
            let page = Page::at(&format!("?lang={lang}#s=seven-of-eight&t=02:04:00")).size(size).open().await?;
            page.wait_for(&by_test("clock"), "02:04:00").await?;
            ensure!(!page.scrolls_sideways().await?, "{lang} at {size:?}");
            page.shot(&format!("{lang}-{}", size.0)).await?;
        }
    }
    let page = Page::at("?lang=x-rtl#s=seven-of-eight&t=02:04:00").size(size::DESKTOP).open().await?;
    page.wait_for(&by_test("clock"), "02:04:00").await?;
    ensure!(page.js("document.documentElement.dir").await? == "rtl");
    // Every text of the catalogue stands between marks; what has none must be a name or a number.
    let plain = page
        .js("(() => { const out = []; const walk = document.createTreeWalker(document.querySelector('#lab'), NodeFilter.SHOW_TEXT); \
             for (let n = walk.nextNode(); n; n = walk.nextNode()) { \
               const whole = n.parentElement.closest('button, label, p, h1, h2, h3, li, dt, dd, summary, td, th, figcaption, option, output, span') ?? n.parentElement; \
               if (/[a-z]{4,} [a-z]{2,}/.test(n.data) && !/[\\u202e]/.test(whole.textContent)) out.push(n.data.trim()); } \
             return out; })()")
        .await?;
    ensure!(plain == serde_json::json!([]), "not from the catalogue: {plain}");
    Ok(())
}
