//! Takes the pictures of the built page that people look at, into `target/screens/`:
//! desktop, phone and embed, light and dark.
//!
//! `shots [TARGET]`, where TARGET is appended to the address of desktop and phone, such as
//! `?scenario=seven-of-eight`.

use std::env;

use anyhow::{Result, ensure};
use browser_tests::{Page, size};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let target = env::args().nth(1).unwrap_or_default();
    let embed = "?embed=1&scenario=seven-of-eight";
    let mut errors = Vec::new();
    for (name, target, size) in
        [("desktop", target.as_str(), size::DESKTOP), ("phone", &target, size::PHONE), ("embed", embed, size::EMBED)]
    {
        for dark in [false, true] {
            let mut opening = Page::at(target).size(size).reduced_motion();
            if dark {
                opening = opening.dark();
            }
            if size == size::PHONE {
                opening = opening.touch();
            }
            let page = opening.open().await?;
            // Two frames: one to lay out what has mounted, one to paint the charts.
            page.client()
                .execute_async(
                    "const done = arguments[0];
                     setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())), 500);",
                    vec![],
                )
                .await?;
            let path = page.shot(&format!("{name}-{}", if dark { "dark" } else { "light" })).await?;
            println!("{}", path.canonicalize()?.display());
            errors.extend(page.console_errors().await?);
        }
    }
    ensure!(errors.is_empty(), "the console shows errors: {errors:#?}");
    Ok(())
}
