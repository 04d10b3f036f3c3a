//! The harness itself, against a page that writes down what it notices: a helper that does
//! nothing would let every other test pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use browser_tests::{Opening, Page, size};

fn probe() -> Opening {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
    Page::at("").folder(&folder)
}

#[tokio::test]
async fn a_mouse_drag_is_seen_as_mouse_events() -> Result<()> {
    let page = probe().open().await?;
    page.drag("#grip", "#target").await?;
    let log = page.wait_for("#log", "pointerup").await?;
    assert!(log.starts_with("pointerdown mouse grip"), "{log}");
    assert!(log.contains("pointerup mouse target"), "{log}");
    assert!(log.matches("pointermove mouse").count() >= 4, "{log}");
    Ok(())
}

#[tokio::test]
async fn a_touch_drag_is_seen_as_touch_events() -> Result<()> {
    let page = probe().size(size::PHONE).touch().open().await?;
    page.touch_drag("#grip", "#target").await?;
    let log = page.wait_for("#log", "pointerup").await?;
    assert!(log.starts_with("pointerdown touch grip"), "{log}");
    assert!(log.contains("pointerup touch"), "{log}");
    assert!(!log.contains("pointercancel"), "{log}");
    assert!(log.matches("pointermove touch").count() >= 4, "{log}");
    Ok(())
}

#[tokio::test]
async fn taps_clicks_and_keys_arrive() -> Result<()> {
    let page = probe().open().await?;
    page.click_test("button").await?;
    page.wait_for("#log", "click button").await?;
    page.tap("#button").await?;
    page.wait_for("#log", "pointerdown touch button").await?;
    page.press("Ctrl+Shift+z").await?;
    page.wait_for("#log", "keydown Ctrl+Shift+z").await?;
    page.press("Tab").await?;
    page.type_into("#field", "seven").await?;
    assert_eq!(page.js("document.querySelector('#field').value").await?, "seven");
    Ok(())
}

#[tokio::test]
async fn console_errors_are_collected() -> Result<()> {
    let page = probe().open().await?;
    page.assert_no_console_errors().await?;
    page.js("setTimeout(() => { console.error('loud'); console.log('quiet'); missing(); })").await?;
    page.wait_js("window.failed === true").await?;
    let errors = page.console_errors().await?;
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("loud") && errors[1].contains("missing"), "{errors:?}");
    // Read twice, still there.
    assert_eq!(page.console_errors().await?.len(), 2);
    assert!(page.assert_no_console_errors().await.is_err());
    Ok(())
}

#[tokio::test]
async fn an_absolute_url_does_not_work_by_luck() -> Result<()> {
    let page = probe().open().await?;
    let status = page
        .client()
        .execute_async("const done = arguments[0]; fetch('/index.html').then((r) => done(r.status));", vec![])
        .await?;
    assert_eq!(status, 404);
    Ok(())
}

#[tokio::test]
async fn no_process_and_no_profile_outlive_a_panic() -> Result<()> {
    let page = probe().open().await?;
    let folder = page.profile_folder().to_owned();
    assert!(folder.is_dir() && processes_with(&folder) > 0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _page = page;
        panic!("as a failing test would");
    }));
    assert!(panicked.is_err());
    assert!(!folder.exists());
    assert_eq!(processes_with(&folder), 0);
    Ok(())
}

fn processes_with(folder: &Path) -> usize {
    let output = Command::new("ps").args(["-eo", "stat=,args="]).output().expect("ps runs");
    let text = String::from_utf8_lossy(&output.stdout);
    // A killed child of a killed parent may be a zombie until it is collected.
    text.lines().filter(|line| !line.starts_with('Z') && line.contains(&*folder.to_string_lossy())).count()
}
