//! The serving engine in the page: a replica's state on hover and focus, parts of GPUs, the
//! serving card, signals over one another, a crash.

use anyhow::{Context, Result, ensure};
use browser_tests::{Page, by_test, size};

async fn open(scenario: &str, at: &str) -> Result<Page> {
    let page = Page::at(&format!("#s={scenario}&t={at}")).size(size::DESKTOP).open().await?;
    page.wait_for(&by_test("clock"), at).await?;
    Ok(page)
}

/// Sends a pointer over the first element that matches, as a mouse does.
async fn hover(page: &Page, css: &str) -> Result<()> {
    page.js(&format!(
        "(() => {{ const e = document.querySelector(`{css}`); const r = e.getBoundingClientRect(); \
         e.dispatchEvent(new PointerEvent('pointerover', {{ bubbles: true, pointerType: 'mouse', \
         clientX: r.x + r.width / 2, clientY: r.y + r.height / 2 }})); return true; }})()"
    ))
    .await?;
    Ok(())
}

#[tokio::test]
async fn pointing_at_a_part_of_a_gpu_tells_its_replicas_state() -> Result<()> {
    let page = open("mig-or-slices", "11:12:00").await?;
    page.wait_for(&by_test("node-mig-1"), "MIG-2g.20gb").await?;
    let parts = page.js("document.querySelectorAll('[data-testid=node-mig-1] .cell').length").await?;
    ensure!(parts == 3, "three slices, not {parts}");
    hover(&page, "[data-testid=node-turns-1] .cell").await?;
    let tip = page.wait_for(&by_test("map-tip"), "turns-a-0").await?;
    for said in ["seats run", "wait", "KV cache", "times as long"] {
        ensure!(tip.contains(said), "{said:?} is missing in {tip:?}");
    }
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn the_serving_card_changes_what_the_gateway_does_and_says_so() -> Result<()> {
    let page = open("shed-load", "14:07:00").await?;
    page.click("[data-testid=card-serving] summary").await?;
    let field = by_test("param-gateway.queue_limit");
    page.wait_for("[data-testid=card-serving]", "Queue limit").await?;
    page.js(&format!(
        "(() => {{ const e = document.querySelector(`{field}`); e.value = '5'; \
         e.dispatchEvent(new Event('input', {{ bubbles: true }})); \
         e.dispatchEvent(new Event('change', {{ bubbles: true }})); return true; }})()"
    ))
    .await?;
    page.wait_for(&by_test("why-row"), "Queue limit").await.context("the change is logged")?;
    page.click_test("play").await?;
    page.wait_for(&by_test("why-row"), "429").await.context("and turns requests away")?;
    page.wait_for(&by_test("verdict-serving"), "turned away").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn one_fault_under_mps_takes_the_neighbours_down() -> Result<()> {
    let page = open("mig-or-slices", "11:05:00").await?;
    page.click("[data-testid=node-mps-1] .cell").await?;
    page.click_test("menu-crash").await?;
    page.wait_for(&by_test("why-row"), "2 replicas on the same GPU with it").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn signals_of_one_service_lie_over_one_another_and_can_be_hidden() -> Result<()> {
    let page = open("lying-signal", "09:20:00").await?;
    page.click_test("legend-button").await?;
    let legend = page.wait_for(&by_test("legend"), "GPU utilization").await?;
    for signal in ["SM active", "tensor active", "DRAM active", "power", "KV cache", "first token p95", "output tokens"]
    {
        ensure!(legend.contains(signal), "{signal:?} is missing in {legend:?}");
    }
    ensure!(legend.contains("read by the HPA"), "the HPA's signal is marked");
    page.click("[data-testid=legend] button[aria-pressed=true]").await?;
    page.wait_for(&by_test("legend-button"), "12 of 13").await?;
    page.press("Escape").await?;
    page.wait_gone(&by_test("legend")).await?;
    page.assert_no_console_errors().await
}
