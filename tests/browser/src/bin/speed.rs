//! Speed of the built page in Chromium: jumps over an hour of the steady fleet and over a day of
//! 128 nodes, as a person does with the End key, and compares with the native core.

#[path = "../../../bench/fleet.rs"]
mod fleet;

use anyhow::{Result, ensure};
use browser_tests::{Page, size};
use fleet::{DAY, Fleet, STEADY};
use seven_of_eight::scenario;
use seven_of_eight::session::Run;
use std::sync::Arc;
use std::time::Instant;

fn native_s(fleet: &Fleet) -> Result<(f64, u64)> {
    let scenario = scenario::read(&fleet.yaml(), &[]).map_err(|p| anyhow::anyhow!("{p:?}"))?;
    let mut run = Run::new(Arc::new(scenario.setup), Vec::new())?;
    let begun = Instant::now();
    run.advance(run.end(), usize::MAX);
    Ok((begun.elapsed().as_secs_f64(), run.world().snapshot().requests.offered))
}

/// Seconds from moving the scrubber to its end until the page stands there.
async fn page_s(fleet: &Fleet) -> Result<f64> {
    let page = Page::at("").size(size::DESKTOP).open().await?;
    page.drop_text("fleet.yaml", &fleet.yaml()).await?;
    page.wait_js("document.querySelector('[data-testid=map]')?.textContent.includes('h0')").await?;
    let ms = page
        .client()
        .execute_async(
            "const done = arguments[0];
             const busy = () => document.querySelector('.transport').getAttribute('aria-busy') === 'true';
             const input = document.querySelector('[data-testid=scrubber]');
             const from = performance.now();
             input.value = input.max;
             input.dispatchEvent(new Event('input', { bubbles: true }));
             let begun = false;
             const look = () => {
               begun = begun || busy();
               if (begun && !busy()) done(performance.now() - from);
               else setTimeout(look, 20);
             };
             look();",
            vec![],
        )
        .await?;
    ensure!(page.console_errors().await?.is_empty(), "the console shows errors");
    Ok(ms.as_f64().unwrap_or(f64::NAN) / 1e3)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    for (name, fleet) in [("steady, 1 h", Fleet { hours: 1, ..STEADY }), ("day, 128 nodes", DAY)] {
        let (native, requests) = native_s(&fleet)?;
        let page = page_s(&fleet).await?;
        println!(
            "{name}: {requests} requests; native {native:.2} s ({:.2} million a second), page {page:.2} s ({:.2} million a \
             second), ratio {:.2}",
            requests as f64 / native / 1e6,
            requests as f64 / page / 1e6,
            page / native
        );
    }
    Ok(())
}
