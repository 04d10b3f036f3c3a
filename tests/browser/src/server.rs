//! A static file server for one folder, mounted under a sub-path so that a URL which is not
//! relative fails. GET and HEAD only, one short-lived thread per connection.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A running server; it stops when dropped.
pub struct Server {
    address: SocketAddr,
    mount: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `folder` under `mount`, which starts and ends with a slash, on a free port of 127.0.0.1.
    pub fn start(folder: &Path, mount: &str) -> io::Result<Self> {
        assert!(mount.starts_with('/') && mount.ends_with('/'), "mount is like /course/lab/");
        let folder = folder.canonicalize()?;
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (stop, mount) = (stop.clone(), mount.to_owned());
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    let (folder, mount) = (folder.clone(), mount.clone());
                    // A client that goes away mid-answer is its own business.
                    thread::spawn(move || answer(stream, &folder, &mount).ok());
                }
            })
        };
        Ok(Self { address, mount: mount.to_owned(), stop, thread: Some(thread) })
    }

    /// Address of the mounted folder, with a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.mount)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // `incoming` only looks at the flag when somebody calls.
        if TcpStream::connect(self.address).is_ok()
            && let Some(thread) = self.thread.take()
        {
            thread.join().ok();
        }
    }
}

fn answer(stream: TcpStream, folder: &Path, mount: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut stream = reader.into_inner();
    let mut words = request.split_whitespace();
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method != "GET" && method != "HEAD" {
        return respond(&mut stream, "405 Method Not Allowed", "text/plain", b"GET or HEAD only", true);
    }
    match local_path(target, folder, mount).and_then(|path| Some((fs::read(&path).ok()?, path))) {
        Some((bytes, path)) => respond(&mut stream, "200 OK", mime(&path), &bytes, method == "GET"),
        None => respond(&mut stream, "404 Not Found", "text/plain", b"not here", method == "GET"),
    }
}

fn respond(stream: &mut TcpStream, status: &str, mime: &str, body: &[u8], with_body: bool) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {mime}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if with_body {
        stream.write_all(body)?;
    }
    stream.flush()
}

/// The file that a request target names, or nothing if it lies outside the mounted folder.
fn local_path(target: &str, folder: &Path, mount: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix(mount)?;
    let relative = PathBuf::from(percent_decoded(path)?);
    if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
        return None;
    }
    let path = folder.join(relative);
    Some(if path.is_dir() { path.join("index.html") } else { path })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn mime(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        Some("yaml" | "yml" | "txt" | "csv" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_mounted_folder_is_reachable() {
        let folder = Path::new("/srv/none");
        assert_eq!(local_path("/lab/a%20b.js?x=1", folder, "/lab/"), Some(folder.join("a b.js")));
        assert_eq!(local_path("/a.js", folder, "/lab/"), None);
        assert_eq!(local_path("/lab/../a.js", folder, "/lab/"), None);
        assert_eq!(local_path("/lab/%2e%2e/a.js", folder, "/lab/"), None);
        assert_eq!(local_path("/lab//etc/passwd", folder, "/lab/"), None);
        assert_eq!(local_path("/lab/%zz", folder, "/lab/"), None);
    }
}
