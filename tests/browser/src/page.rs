//! One opened page: what a test can do with it and ask of it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::driver::Driver;
use crate::server::Server;
use crate::{root, screens, size};

/// How long a test waits for something to appear.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the folder is mounted: deep enough that an absolute URL cannot work by luck.
const MOUNT: &str = "/course/lab/";

/// How a page is to be opened; made by [`Page::at`].
#[derive(Clone, Debug)]
pub struct Opening {
    target: String,
    folder: PathBuf,
    size: (u32, u32),
    dark: bool,
    touch: bool,
    reduced_motion: bool,
    language: Option<String>,
}

impl Opening {
    /// Size of the viewport in CSS pixels; [`size::DESKTOP`] unless given.
    pub fn size(mut self, (width, height): (u32, u32)) -> Self {
        self.size = (width, height);
        self
    }

    /// The reader prefers a dark scheme.
    pub fn dark(mut self) -> Self {
        self.dark = true;
        self
    }

    /// The device has a touch screen and no mouse.
    pub fn touch(mut self) -> Self {
        self.touch = true;
        self
    }

    /// The reader prefers reduced motion.
    pub fn reduced_motion(mut self) -> Self {
        self.reduced_motion = true;
        self
    }

    /// The browser's language, such as `zh-CN`.
    pub fn language(mut self, tag: &str) -> Self {
        self.language = Some(tag.to_owned());
        self
    }

    /// Another folder than `dist/`.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    /// Starts server and browser and opens the page. Fails if there is no build to serve.
    pub async fn open(self) -> Result<Page> {
        ensure!(
            self.folder.join("index.html").is_file(),
            "{} has no index.html; `make dist` builds it",
            self.folder.display()
        );
        let server = Server::start(&self.folder, MOUNT)?;
        let driver = Driver::start()?;
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(driver.capabilities())
            .connect(&driver.url())
            .await
            .context("open a browser session")?;
        let page = Page { client, console: Mutex::default(), driver, server };
        page.emulate(&self).await?;
        page.goto(&self.target).await?;
        Ok(page)
    }
}

/// A page in a browser of its own. Dropping it ends browser, driver and server.
#[derive(Debug)]
pub struct Page {
    pub(crate) client: Client,
    console: Mutex<Vec<Value>>,
    // Dropped in this order: the browser before what it reads from.
    driver: Driver,
    server: Server,
}

impl Page {
    /// The page at a target relative to the lab's folder, such as `?embed=1#s=seven-of-eight`.
    pub fn at(target: &str) -> Opening {
        Opening {
            target: target.to_owned(),
            folder: root().join("dist"),
            size: size::DESKTOP,
            dark: false,
            touch: false,
            reduced_motion: false,
            language: None,
        }
    }

    async fn emulate(&self, opening: &Opening) -> Result<()> {
        let (width, height) = opening.size;
        let scheme = if opening.dark { "dark" } else { "light" };
        let motion = if opening.reduced_motion { "reduce" } else { "no-preference" };
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": opening.touch });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics).await?;
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await?;
        if opening.touch {
            self.cdp("Emulation.setTouchEmulationEnabled", json!({ "enabled": true, "maxTouchPoints": 5 })).await?;
        }
        if let Some(tag) = &opening.language {
            let agent = self.js("navigator.userAgent").await?;
            self.cdp("Emulation.setUserAgentOverride", json!({ "userAgent": agent, "acceptLanguage": tag })).await?;
        }
        Ok(())
    }

    /// Opens another target in the same browser, with the same storage.
    pub async fn goto(&self, target: &str) -> Result<()> {
        let url = format!("{}{target}", self.server.url());
        self.client.goto(&url).await.with_context(|| format!("open {url}"))
    }

    /// The WebDriver client, for what has no helper here.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Holds the browser's profile; gone once the page is dropped.
    pub fn profile_folder(&self) -> &Path {
        self.driver.folder()
    }

    /// Value of a JavaScript expression.
    pub async fn js(&self, expression: &str) -> Result<Value> {
        let script = format!("return ({expression});");
        self.client.execute(&script, vec![]).await.with_context(|| format!("js: {expression}"))
    }

    /// The first element that matches, waiting for it to appear.
    pub async fn find(&self, css: &str) -> Result<Element> {
        self.until(&format!("an element {css}"), async || {
            Ok(self.client.find_all(Locator::Css(css)).await?.into_iter().next())
        })
        .await
    }

    /// Waits until an element that matches `css` shows `text` somewhere in it; gives its whole text.
    pub async fn wait_for(&self, css: &str, text: &str) -> Result<String> {
        let texts = format!("[...document.querySelectorAll({})].map((e) => e.textContent)", json!(css));
        self.until(&format!("{css} with the text {text:?}"), async || {
            let texts = self.js(&texts).await?;
            let mut texts = texts.as_array().into_iter().flatten().filter_map(Value::as_str);
            Ok(texts.find(|found| found.contains(text)).map(str::to_owned))
        })
        .await
    }

    /// Waits until nothing matches.
    pub async fn wait_gone(&self, css: &str) -> Result<()> {
        self.until(&format!("{css} gone"), async || {
            Ok(self.client.find_all(Locator::Css(css)).await?.is_empty().then_some(()))
        })
        .await
    }

    /// Drops a text file on the page.
    pub async fn drop_text(&self, name: &str, text: &str) -> Result<()> {
        let (text, name) = (json!(text), json!(name));
        self.js(&format!(
            "(() => {{ const d = new DataTransfer(); d.items.add(new File([{text}], {name})); \
             const at = document.querySelector('#lab > *'); \
             for (const type of ['dragenter', 'dragover', 'drop']) \
               at.dispatchEvent(new DragEvent(type, {{ dataTransfer: d, bubbles: true, cancelable: true }})); \
             return true; }})()"
        ))
        .await?;
        Ok(())
    }

    /// Waits until a JavaScript expression is true.
    pub async fn wait_js(&self, expression: &str) -> Result<()> {
        self.until(expression, async || Ok((self.js(expression).await? == Value::Bool(true)).then_some(()))).await
    }

    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if Instant::now() > deadline {
                let picture = self.shot("failed-wait").await?;
                let log = self.console().await?;
                bail!("waited in vain for {what}; picture: {}; console: {log:#?}", picture.display());
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Clicks where a person would: the click fails if something covers the element.
    pub async fn click(&self, css: &str) -> Result<()> {
        self.find(css).await?.click().await.with_context(|| format!("click {css}"))
    }

    /// Clicks the element with this `data-testid`.
    pub async fn click_test(&self, name: &str) -> Result<()> {
        self.click(&by_test(name)).await
    }

    /// Types into a field.
    pub async fn type_into(&self, css: &str, text: &str) -> Result<()> {
        self.find(css).await?.send_keys(text).await.with_context(|| format!("type into {css}"))
    }

    /// Presses a key, with modifiers before it: `Enter`, `m`, `Shift+Tab`, `Ctrl+Shift+z`.
    pub async fn press(&self, chord: &str) -> Result<()> {
        let keys = keys(chord)?;
        let mut actions = KeyActions::new("keyboard".to_owned());
        for &value in &keys {
            actions = actions.then(KeyAction::Down { value });
        }
        for &value in keys.iter().rev() {
            actions = actions.then(KeyAction::Up { value });
        }
        self.client.perform_actions(actions).await.with_context(|| format!("press {chord}"))
    }

    /// Saves a picture of the viewport as `target/screens/NAME.png` and gives its path.
    pub async fn shot(&self, name: &str) -> Result<PathBuf> {
        let folder = screens();
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.png"));
        fs::write(&path, self.client.screenshot().await?)?;
        Ok(path)
    }

    /// Everything the console has said so far, as `LEVEL message`.
    pub async fn console(&self) -> Result<Vec<String>> {
        // Reading the log empties it, so what was read is kept.
        let fresh = self.issue("se/log", json!({ "type": "browser" })).await?;
        let mut all = self.console.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.extend(fresh.as_array().cloned().unwrap_or_default());
        Ok(all.iter().map(entry_line).collect())
    }

    /// The errors among what the console has said: uncaught exceptions, failed loads, `console.error`.
    pub async fn console_errors(&self) -> Result<Vec<String>> {
        Ok(self.console().await?.into_iter().filter(|line| line.starts_with("SEVERE ")).collect())
    }

    /// Fails if the console has shown an error.
    pub async fn assert_no_console_errors(&self) -> Result<()> {
        let errors = self.console_errors().await?;
        ensure!(errors.is_empty(), "the console shows errors: {errors:#?}");
        Ok(())
    }

    /// Accessibility violations that axe-core finds, as `rule: where`. Fails if axe-core is not installed.
    pub async fn axe(&self) -> Result<Vec<String>> {
        let path = root().join(".ci/node_modules/axe-core/axe.min.js");
        let source = fs::read_to_string(path).context("axe-core is missing; `make setup` installs it")?;
        self.client.execute(&source, vec![]).await.context("load axe-core")?;
        let script = "const done = arguments[arguments.length - 1]; axe.run().then(
            (found) => done(found.violations.flatMap((rule) => rule.nodes.map((node) => rule.id + ': ' + node.target))),
            (error) => done(['axe-core failed: ' + error]));";
        let found = self.client.execute_async(script, vec![]).await?;
        Ok(found.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// A command of the DevTools protocol, for what WebDriver cannot do.
    pub async fn cdp(&self, command: &str, parameters: Value) -> Result<Value> {
        self.issue("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    async fn issue(&self, endpoint: &'static str, body: Value) -> Result<Value> {
        let command = Extension { endpoint, body: body.to_string() };
        self.client.issue_cmd(command).await.with_context(|| format!("{endpoint} {body}"))
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Driver({})", self.url())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Server({})", self.url())
    }
}

/// Selector of the element with this `data-testid`.
pub fn by_test(name: &str) -> String {
    format!("[data-testid={}]", json!(name))
}

fn entry_line(entry: &Value) -> String {
    let part = |key: &str| entry[key].as_str().unwrap_or("").to_owned();
    format!("{} {}", part("level"), part("message"))
}

/// WebDriver's private-use code points for keys without a character.
fn keys(chord: &str) -> Result<Vec<char>> {
    chord
        .split('+')
        .map(|name| {
            Ok(match name {
                "Shift" => '\u{e008}',
                "Ctrl" => '\u{e009}',
                "Alt" => '\u{e00a}',
                "Tab" => '\u{e004}',
                "Enter" => '\u{e007}',
                "Escape" => '\u{e00c}',
                "Space" => ' ',
                "Plus" => '+',
                "Backspace" => '\u{e003}',
                "Delete" => '\u{e017}',
                "Home" => '\u{e011}',
                "End" => '\u{e010}',
                "PageUp" => '\u{e00e}',
                "PageDown" => '\u{e00f}',
                "Left" => '\u{e012}',
                "Up" => '\u{e013}',
                "Right" => '\u{e014}',
                "Down" => '\u{e015}',
                _ => {
                    let mut letters = name.chars();
                    match (letters.next(), letters.next()) {
                        (Some(letter), None) => letter,
                        _ => bail!("no key is called {name:?}"),
                    }
                }
            })
        })
        .collect()
}

/// A command that chromedriver adds to WebDriver.
#[derive(Debug)]
struct Extension {
    endpoint: &'static str,
    body: String,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.endpoint))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.clone()))
    }
}
