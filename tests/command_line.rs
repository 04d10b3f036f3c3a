//! `lab` as a user calls it: output, refusals, exit codes.

use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lab")).args(arguments).output().expect("lab runs")
}

fn out(o: &Output) -> String {
    String::from_utf8_lossy(&o.stdout).into_owned()
}

fn refused(arguments: &[&str], says: &[&str]) {
    let o = lab(arguments);
    let text = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(!o.status.success(), "{arguments:?} was accepted: {}", out(&o));
    assert!(!text.contains("panicked"), "{text}");
    for word in says {
        assert!(text.contains(word), "{arguments:?}: `{word}` is not in: {text}");
    }
}

#[test]
fn run_prints_report_ledger_and_hash_and_repeats_itself() {
    let first = out(&lab(&["run", "seven-of-eight", "--until", "10m"]));
    for word in ["score", "requests", "held", "bill", "state hash"] {
        assert!(first.contains(word), "{first}");
    }
    assert_eq!(first, out(&lab(&["run", "seven-of-eight", "--until", "10m"])));
    assert_ne!(first, out(&lab(&["run", "seven-of-eight", "--until", "10m", "--seed", "8"])));
}

#[test]
fn json_states_sum_to_the_bill() {
    let o = lab(&["run", "sandbox", "--until", "30m", "--json"]);
    let v: serde_json::Value = serde_json::from_str(&out(&o)).expect("JSON");
    let sum: f64 =
        v["ledger"].as_array().expect("rows").iter().map(|r| r["gpu_minutes"].as_f64().expect("number")).sum();
    let bill = v["bill_gpu_minutes"].as_f64().expect("number");
    assert!((sum - bill).abs() < 1e-6 * bill, "{sum} against {bill}");
    let r = &v["requests"];
    let parts = ["met", "late", "timed_out", "rejected", "failed", "lost", "unfinished"];
    let total: u64 = parts.iter().map(|p| r[*p].as_u64().expect("count")).sum();
    assert_eq!(r["offered"].as_u64(), Some(total));
}

#[test]
fn a_trace_drives_the_scaled_service() {
    let dir = std::env::temp_dir().join(format!("lab-trace-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("folder");
    let file = dir.join("trace.csv");
    let rows: String = (0..60).map(|i| format!("2023-11-16 18:15:{:02}.5000000,{},50\r\n", i, 200 + i)).collect();
    std::fs::write(&file, format!("TIMESTAMP,ContextTokens,GeneratedTokens\r\n{rows}")).expect("file");
    let path = file.display().to_string();
    let o = lab(&["run", "lying-signal", "--trace", &path, "--until", "10m", "--json"]);
    let v: serde_json::Value = serde_json::from_str(&out(&o)).expect("JSON");
    assert_eq!(v["requests"]["offered"], 60);
    std::fs::write(&file, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,many\n")
        .expect("file");
    refused(&["run", "lying-signal", "--trace", &path], &["line 2", "GeneratedTokens", "many"]);
    std::fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn bad_input_is_refused_with_its_place() {
    refused(&["run", "no-such"], &["no-such", "seven-of-eight"]);
    refused(&["run", "sandbox", "--set", "hpa.max"], &["PATH=VALUE"]);
    refused(&["run", "sandbox", "--set", "hpa.max=900"], &["hpa.max", "1 to 64"]);
    refused(&["run", "sandbox", "--set", "hpa.min=20"], &["hpa.min", "hpa.max"]);
    refused(&["run", "sandbox", "--set", "services.chat-14b.modl=x"], &["modl"]);
    refused(&["run", "sandbox", "--set", "services.chat-14b.model=llama-9"], &["llama-9"]);
    refused(&["run", "sandbox", "--until", "soon"], &["soon"]);
    refused(&["run", "sandbox", "--trace", "/no/such/file"], &["/no/such/file"]);
    refused(&["open", "x1=broken"], &["link"]);
}

#[test]
fn list_names_scenarios_and_parameters() {
    let text = out(&lab(&["list"]));
    assert!(text.contains("lying-signal") && text.contains("hpa.signal") && text.contains("queue_depth"));
}
