//! The same verbs by keyboard alone.

use anyhow::{Result, ensure};
use browser_tests::{Page, by_test, size};

async fn open(scenario: &str, at: &str) -> Result<Page> {
    let page = Page::at(&format!("#s={scenario}&t={at}")).size(size::DESKTOP).open().await?;
    page.wait_for(&by_test("clock"), at).await?;
    Ok(page)
}

/// Tabs until the focused element matches.
async fn tab_to(page: &Page, css: &str) -> Result<()> {
    for _ in 0..80 {
        page.press("Tab").await?;
        let there = page.js(&format!("!!document.activeElement && document.activeElement.matches(`{css}`)")).await?;
        if there == true {
            return Ok(());
        }
    }
    anyhow::bail!("Tab never reaches {css}")
}

/// Types into the focused native select until it shows the option.
async fn choose(page: &Page, css: &str, first_letters: &str) -> Result<()> {
    tab_to(page, css).await?;
    for letter in first_letters.chars() {
        page.press(&letter.to_string()).await?;
    }
    Ok(())
}

async fn play_past(page: &Page, clock: &str) -> Result<()> {
    page.press("k").await?;
    page.wait_js(&format!("document.querySelector('[data-testid=clock]').textContent >= '{clock}'")).await?;
    page.press("k").await
}

#[tokio::test]
async fn a_node_is_moved_with_arrows_and_m() -> Result<()> {
    let page = open("sandbox", "01:46:00").await?;
    tab_to(&page, ".map-board *, .map-floor *").await?;
    // Down from a rack to its nodes, then from node to node, across racks.
    page.press("Down").await?;
    for _ in 0..12 {
        let name = page.js("document.activeElement.closest('[data-testid]')?.dataset.testid ?? ''").await?;
        if name == "node-gb-b1" {
            break;
        }
        page.press("Right").await?;
    }
    page.press("m").await?;
    page.wait_for(&by_test("placing"), "gb-b1").await?;
    page.press("Enter").await?;
    page.wait_for(&by_test("rack-A"), "gb-b1").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn a_tray_is_bought_with_enter() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    tab_to(&page, &by_test("palette-p6e-gb200.36xlarge")).await?;
    page.press("Enter").await?;
    page.wait_for(&by_test("placing"), "GB200").await?;
    page.press("Enter").await?;
    page.wait_js("!!document.querySelector('[data-testid=node-gb200-1]')").await?;
    Ok(())
}

#[tokio::test]
async fn escape_puts_a_carried_node_back() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    tab_to(&page, &by_test("palette-p6e-gb200.36xlarge")).await?;
    page.press("Enter").await?;
    page.find(&by_test("placing")).await?;
    page.press("Escape").await?;
    page.wait_gone(&by_test("placing")).await?;
    ensure!(page.js("!document.querySelector('[data-testid=node-gb200-1]')").await? == true);
    Ok(())
}

#[tokio::test]
async fn gang_scheduler_spike_signal_and_time_without_a_pointer() -> Result<()> {
    let page = open("seven-of-eight", "01:58:00").await?;
    tab_to(&page, "[data-testid^=switch-scheduler] input").await?;
    page.press("Right").await?;
    page.wait_js("document.querySelector('[data-testid=switch-scheduler-kai] input').checked").await?;
    choose(&page, "[data-testid=\"param-hpa.signal\"]", "wa").await?;
    page.wait_js("!!document.querySelector('[data-testid=\"param-hpa.target_waiting\"]')").await?;
    tab_to(&page, &by_test("launch-llama-70b")).await?;
    page.press("Enter").await?;
    page.wait_for(&by_test("why-row"), "llama-70b").await?;
    tab_to(&page, &by_test("spike")).await?;
    page.press("Enter").await?;
    tab_to(&page, &by_test("spike-tokens")).await?;
    page.press("Ctrl+a").await?;
    for digit in "20000".chars() {
        page.press(&digit.to_string()).await?;
    }
    tab_to(&page, &by_test("spike-send")).await?;
    page.press("Enter").await?;
    page.wait_for(&by_test("why-row"), "20,000").await?;
    play_past(&page, "01:59:00").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn stepping_and_undo_by_keys() -> Result<()> {
    let page = open("seven-of-eight", "01:58:00").await?;
    tab_to(&page, &by_test("play")).await?;
    page.press("l").await?;
    page.wait_js("document.querySelector('[data-testid=clock]').textContent > '01:58:00'").await?;
    page.press("j").await?;
    page.press("?").await?;
    page.find(&by_test("dialog")).await?;
    page.press("Escape").await?;
    page.wait_gone("dialog[open]").await?;
    Ok(())
}

#[tokio::test]
async fn consolidation_is_watched_from_the_keyboard() -> Result<()> {
    let page = open("sandbox", "01:49:30").await?;
    tab_to(&page, &by_test("play")).await?;
    page.press("]").await?;
    play_past(&page, "01:51:00").await?;
    page.wait_for(&by_test("why-row"), "l40-2").await?;
    Ok(())
}
