//! The five verbs as a person does them, by mouse and touch, and what the page then shows.

use anyhow::{Context, Result, ensure};
use browser_tests::{Page, by_test, size};

/// Opens a library scenario at a time of day.
async fn open(scenario: &str, at: &str) -> Result<Page> {
    let page = Page::at(&format!("#s={scenario}&t={at}")).size(size::DESKTOP).open().await?;
    page.wait_for(&by_test("clock"), at).await?;
    Ok(page)
}

/// Plays at full speed until the clock has passed a time of day, then pauses.
async fn play_past(page: &Page, clock: &str) -> Result<()> {
    page.js("(() => { const s = document.querySelector('[data-testid=speed]'); s.value = '3600'; \
             s.dispatchEvent(new Event('change', { bubbles: true })); return true; })()")
        .await?;
    page.click_test("play").await?;
    page.wait_js(&format!("document.querySelector('[data-testid=clock]').textContent >= '{clock}'")).await?;
    page.click_test("play").await
}

async fn texts(page: &Page, css: &str) -> Result<String> {
    let all =
        page.js(&format!("[...document.querySelectorAll(`{css}`)].map((e) => e.textContent).join(' | ')")).await?;
    Ok(all.as_str().unwrap_or_default().replace('\u{a0}', " "))
}

#[tokio::test]
async fn a_tray_is_dragged_from_the_palette_into_a_domain() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    page.drag(&by_test("palette-p6e-gb200.36xlarge"), &by_test("rack-B")).await?;
    page.wait_for(&by_test("why-row"), "p6e-gb200").await?;
    page.wait_for(&by_test("rack-B"), "gb200-1").await?;
    play_past(&page, "02:08:00").await?;
    ensure!(texts(&page, &by_test("node-gb200-1")).await?.contains("4 × GB200"));
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn hardware_refuses_what_it_cannot_do_and_says_why() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    page.drag(&by_test("grip-l40-1"), &by_test("rack-A")).await?;
    page.wait_for(&by_test("notice"), "NVLink").await?;
    page.wait_for(&by_test("node-l40-1"), "l40-1").await?;
    ensure!(!texts(&page, &by_test("rack-A")).await?.contains("l40-1"), "the node did not move");
    Ok(())
}

#[tokio::test]
async fn a_node_is_carried_to_another_domain_by_a_finger() -> Result<()> {
    let page = Page::at("#s=sandbox&t=01:46:00").size(size::DESKTOP).touch().open().await?;
    page.wait_for(&by_test("clock"), "01:46:00").await?;
    page.touch_drag(&by_test("grip-gb-b1"), &by_test("rack-A")).await?;
    page.wait_for(&by_test("why-row"), "gb-b1").await?;
    page.wait_for(&by_test("rack-A"), "gb-b1").await?;
    Ok(())
}

#[tokio::test]
async fn a_node_is_moved_by_plain_clicks() -> Result<()> {
    let page = open("sandbox", "01:46:00").await?;
    page.click(&format!("{} button.node-name", by_test("node-gb-b1"))).await?;
    page.click(&format!("{} [data-testid=menu-move]", by_test("map-menu"))).await?;
    page.shot("placing").await?;
    page.click_test("drop-A").await?;
    page.wait_for(&by_test("rack-A"), "gb-b1").await?;
    Ok(())
}

#[tokio::test]
async fn kube_scheduler_holds_seven_gpus_and_the_money_counts() -> Result<()> {
    let page = open("seven-of-eight", "01:58:00").await?;
    play_past(&page, "02:04:00").await?;
    let trap = page.wait_for(&by_test("trap"), "7 of 8 GPUs held").await?;
    ensure!(trap.contains('$'), "{trap}");
    page.wait_for(&by_test("pending"), "llama-70b-0").await?;
    ensure!(texts(&page, &by_test("task-0")).await?.contains("seven"));
    page.wait_js("document.querySelector('[data-testid=task-0]').dataset.state !== 'open'").await?;
    page.shot("trap").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn kai_holds_nothing_and_one_more_tray_starts_the_gang() -> Result<()> {
    let page = open("seven-of-eight", "01:58:00").await?;
    page.click_test("switch-scheduler-kai").await?;
    play_past(&page, "02:04:00").await?;
    page.wait_for(&by_test("verdict-placement"), "7").await?;
    page.wait_gone(&by_test("trap")).await?;
    page.drag(&by_test("palette-p6e-gb200.36xlarge"), &by_test("rack-A")).await?;
    play_past(&page, "02:12:00").await?;
    page.wait_js("document.querySelector('[data-testid=task-1]').dataset.state !== 'open'").await?;
    page.shot("kai").await?;
    Ok(())
}

#[tokio::test]
async fn launching_adds_a_gang_that_waits() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    page.click_test("launch-llama-70b").await?;
    page.wait_for(&by_test("pending"), "llama-70b-1").await?;
    Ok(())
}

async fn spike(page: &Page, service: &str, tokens: &str) -> Result<()> {
    page.click_test("spike").await?;
    page.js(&format!(
        "(() => {{ const s = document.querySelector('[data-testid=spike-service]'); \
         s.selectedIndex = [...s.options].findIndex((o) => o.textContent.includes('{service}')); \
         s.dispatchEvent(new Event('change', {{ bubbles: true }})); \
         const t = document.querySelector('[name=tokens]'); if (t) t.value = '{tokens}'; return true; }})()"
    ))
    .await?;
    page.click_test("spike-send").await
}

#[tokio::test]
async fn the_two_am_spike_reaches_the_model_that_takes_it() -> Result<()> {
    let page = open("sandbox", "02:00:00").await?;
    spike(&page, "long-14b", "1000000").await?;
    page.wait_for(&by_test("why-row"), "1,000,000").await?;
    play_past(&page, "02:06:00").await?;
    page.shot("spike").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn another_model_refuses_the_spike_with_its_context_limit() -> Result<()> {
    let page = open("sandbox", "02:00:00").await?;
    spike(&page, "chat-14b", "1000000").await?;
    page.wait_for(&by_test("notice"), "16,384").await?;
    Ok(())
}

#[tokio::test]
async fn switching_the_signal_from_utilization_to_queue_depth_adds_replicas() -> Result<()> {
    let page = open("lying-signal", "09:10:00").await?;
    page.wait_for(&by_test("verdict-replicas"), "tolerance").await?;
    let before = texts(&page, &by_test("verdict-replicas")).await?;
    page.js("(() => { const s = document.querySelector('[data-testid=\"param-hpa.signal\"]'); \
             s.selectedIndex = 2; s.dispatchEvent(new Event('change', { bubbles: true })); return true; })()")
        .await?;
    play_past(&page, "09:14:00").await?;
    let after = texts(&page, &by_test("verdict-replicas")).await?;
    ensure!(before != after, "{after}");
    page.wait_for(&by_test("why-row"), "up from").await?;
    page.shot("signal").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn consolidation_evicts_a_node_that_answers_requests() -> Result<()> {
    let page = open("sandbox", "01:49:30").await?;
    play_past(&page, "01:52:00").await?;
    page.wait_for(&by_test("why-row"), "l40-2").await?;
    page.wait_gone(&by_test("node-l40-2")).await?;
    page.shot("consolidation").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn a_dropped_trace_drives_the_service_and_a_broken_one_is_refused_by_line() -> Result<()> {
    let page = open("lying-signal", "08:55:00").await?;
    let rows: String = (0..50).map(|i| format!("2023-11-16 18:15:{:02}.0000000,{},40\r\n", i, 300 + i)).collect();
    page.drop_text("ok.csv", &format!("TIMESTAMP,ContextTokens,GeneratedTokens\r\n{rows}")).await?;
    page.wait_for(&by_test("trace-facts"), "Azure LLM inference 2023").await?;
    page.wait_for(&by_test("trace-notes"), "50 of 50").await?;
    page.click_test("trace-use").await?;
    page.wait_for(&by_test("notice"), "50").await?;
    page.wait_for(&by_test("tasks"), "ok.csv").await.context("story and tasks make way")?;
    play_past(&page, "08:58:00").await?;
    page.wait_js("document.querySelector('[data-testid=score-panel]').textContent.length > 0").await?;
    page.drop_text("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,x,44\r\n")
        .await?;
    page.wait_for(&by_test("dialog"), "line 2").await.context("the line is named")?;
    page.click_test("dialog-close").await?;
    page.click_test("play").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn undo_takes_a_purchase_back() -> Result<()> {
    let page = open("seven-of-eight", "02:00:00").await?;
    page.drag(&by_test("palette-p6e-gb200.36xlarge"), &by_test("rack-B")).await?;
    page.wait_for(&by_test("rack-B"), "gb200-1").await?;
    page.click_test("undo").await?;
    page.wait_gone(&by_test("node-gb200-1")).await?;
    page.click_test("redo").await?;
    page.wait_for(&by_test("rack-B"), "gb200-1").await?;
    Ok(())
}
