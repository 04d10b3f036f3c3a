//! chromedriver as a child process that cannot be left behind: a guard shell ends driver and
//! browser when this process ends, be it by a panic or a kill.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio, id};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A running chromedriver with a fresh profile folder. Dropping it ends both.
pub struct Driver {
    folder: PathBuf,
    port: u16,
    guard: Child,
    lifeline: Option<ChildStdin>,
}

impl Driver {
    /// Starts chromedriver (`CHROMEDRIVER`, or from the path) on a port that it finds free.
    pub fn start() -> Result<Self> {
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let folder = env::temp_dir().join(format!("seven-of-eight-browser-{}-{count}", id()));
        fs::create_dir_all(&folder).context("profile folder")?;
        let chromedriver = env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut guard = Command::new("sh")
            .args(["-c", include_str!("guard.sh"), "guard"])
            .args([folder.as_os_str(), chromedriver.as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl+C must reach the tests, not the guard that cleans up after them.
            .process_group(0)
            .spawn()
            .context("start the guard shell")?;
        let lifeline = guard.stdin.take();
        let mut driver = Self { folder, port: 0, guard, lifeline };
        driver.port = driver.wait_for_port()?;
        Ok(driver)
    }

    /// Where the driver listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What to ask for when a session is opened.
    pub fn capabilities(&self) -> serde_json::Map<String, Value> {
        let mut options = json!({
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-crash-reporter", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US",
                format!("--user-data-dir={}", self.profile().display()),
            ],
        });
        if let Ok(binary) = env::var("CHROME") {
            options["binary"] = json!(binary);
        }
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("browserName".into(), json!("chrome"));
        capabilities.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
        capabilities.insert("goog:chromeOptions".into(), options);
        capabilities
    }

    fn profile(&self) -> PathBuf {
        self.folder.join("profile")
    }

    fn wait_for_port(&self) -> Result<u16> {
        let log = self.folder.join("driver.log");
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let text = fs::read_to_string(&log).unwrap_or_default();
            if let Some(port) = port_in(&text) {
                return Ok(port);
            }
            if Instant::now() > deadline {
                bail!("chromedriver did not start; `make setup` installs it. It said:\n{text}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The folder that is removed at the end.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.lifeline.take();
        self.guard.wait().ok();
    }
}

fn port_in(log: &str) -> Option<u16> {
    let rest = log.split("started successfully on port ").nth(1)?;
    rest.split('.').next()?.trim().parse().ok()
}
