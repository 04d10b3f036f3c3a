//! Boundaries of the code, checked as text: what may import what, and what has no place where.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Code lines of all Rust files below `src/DIR`, with their place.
fn lines(dir: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    rust_files(&root().join("src").join(dir), &mut files);
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        if file.to_string_lossy().ends_with("_test.rs") {
            continue;
        }
        let name = file.strip_prefix(root()).expect("below").display().to_string();
        // Tests may reach further: they read settings as scenario files write them.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (i, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if !code.starts_with("//") {
                out.push((format!("{name}:{}", i + 1), code.to_owned()));
            }
        }
    }
    assert!(!out.is_empty(), "no code in src/{dir}");
    out
}

fn forbid(dir: &str, words: &[&str]) {
    let found: Vec<String> = lines(dir)
        .into_iter()
        .filter(|(_, code)| words.iter().any(|w| code.contains(w)))
        .map(|(place, code)| format!("{place}: {code}"))
        .collect();
    assert!(found.is_empty(), "not allowed in src/{dir}:\n{}", found.join("\n"));
}

#[test]
fn the_core_imports_nothing_outside_itself() {
    for (place, code) in lines("sim") {
        if let Some(at) = code.find("crate::") {
            assert!(code[at..].starts_with("crate::sim"), "{place}: {code}");
        }
    }
}

#[test]
fn the_core_knows_no_web_clock_files_or_hash_order() {
    forbid(
        "sim",
        &[
            "HashMap",
            "HashSet",
            "std::fs",
            "std::net",
            "std::thread",
            "std::env",
            "Instant::now",
            "SystemTime",
            "web_sys",
            "js_sys",
            "gloo",
            "yew",
            "println!",
            "static mut",
            "thread_local!",
            "OnceLock",
            "Mutex",
        ],
    );
}

#[test]
fn layers_do_not_reach_upwards() {
    for dir in ["scenario", "share", "yaml", "report"] {
        forbid(dir, &["crate::session", "crate::view", "crate::ui", "web_sys"]);
    }
    forbid("session", &["crate::view", "crate::ui", "web_sys", "gloo"]);
    forbid("view", &["crate::ui", "crate::session::Run", "sim::world::World", "web_sys"]);
    forbid("i18n", &["crate::view", "crate::ui", "crate::session"]);
}

#[test]
fn components_do_not_reach_the_world() {
    forbid("ui", &["sim::world", ".world()"]);
}

#[test]
fn files_stay_small_enough_to_hold_in_the_head() {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    let tables = ["i18n/messages.rs", "i18n/en.rs"];
    for file in files.iter().filter(|f| !tables.iter().any(|t| f.ends_with(t))) {
        let count = fs::read_to_string(file).expect("readable").lines().count();
        assert!(count <= 800, "{}: {count} lines", file.display());
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let test = file.to_string_lossy().ends_with("_test.rs");
        assert!(test || text.starts_with("//!"), "{} has no module documentation", file.display());
    }
}

/// plotters turns features of shared crates on, and Cargo would unify them into the core.
#[test]
fn plotters_and_yew_stay_out_of_the_native_core() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo tree");
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    assert!(tree.contains("libm"), "cargo tree printed: {tree}");
    for name in ["plotters", "yew", "web-sys"] {
        assert!(!tree.lines().any(|l| l.starts_with(name)), "{name} is in the native tree");
    }
}
