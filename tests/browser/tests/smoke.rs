//! The built page opens under a sub-path, without an error, and is accessible.

use anyhow::Result;
use browser_tests::{Page, size};

#[tokio::test]
async fn the_page_opens_under_a_sub_path_without_errors() -> Result<()> {
    let page = Page::at("").open().await?;
    page.find("#lab").await?;
    page.wait_js("!document.querySelector('#start-status')").await?;
    page.assert_no_console_errors().await
}

#[tokio::test]
async fn the_viewport_has_exactly_the_size_and_scheme_asked_for() -> Result<()> {
    let page = Page::at("?embed=1").size(size::EMBED).dark().open().await?;
    assert_eq!(page.js("[innerWidth, innerHeight]").await?, serde_json::json!([640, 480]));
    assert_eq!(page.js("matchMedia('(prefers-color-scheme: dark)').matches").await?, true);
    Ok(())
}

#[tokio::test]
async fn no_width_scrolls_sideways() -> Result<()> {
    for size in [(320, 568), size::PHONE, size::EMBED, size::DESKTOP] {
        let page = Page::at("").size(size).open().await?;
        assert!(!page.scrolls_sideways().await?, "at {size:?}");
    }
    Ok(())
}

#[tokio::test]
async fn axe_finds_nothing_in_light_and_dark() -> Result<()> {
    for opening in [Page::at(""), Page::at("").dark()] {
        let page = opening.open().await?;
        assert_eq!(page.axe().await?, Vec::<String>::new());
    }
    Ok(())
}

#[tokio::test]
async fn a_lab_that_cannot_start_says_so() -> Result<()> {
    let page = Page::at("").open().await?;
    page.client().goto("about:blank").await?;
    page.cdp("Network.enable", serde_json::json!({})).await?;
    page.cdp("Network.setBlockedURLs", serde_json::json!({ "urls": ["*.wasm"] })).await?;
    page.goto("").await?;
    page.wait_for("#start-status", "The lab could not start").await?;
    page.shot("cannot-start").await?;
    Ok(())
}
