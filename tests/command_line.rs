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
fn a_trace_is_played_at_its_speed_again_and_for_the_named_service() {
    let dir = std::env::temp_dir().join(format!("lab-trace-use-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("folder");
    let file = dir.join("trace.jsonl");
    let row = |i: u32| {
        format!(
            "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 9, \"hash_ids\": [1]}}\n",
            i / 5 * 3000,
            100 + i * 500
        )
    };
    std::fs::write(&file, (0..50).map(row).collect::<String>()).expect("file");
    let path = file.display().to_string();
    let run = |more: &[&str]| {
        let o = lab(&[&["run", "seven-of-eight", "--trace", &path, "--until", "5m", "--json"], more].concat());
        let v: serde_json::Value = serde_json::from_str(&out(&o)).expect("JSON");
        let said = String::from_utf8_lossy(&o.stderr).into_owned();
        let r = &v["requests"];
        (r["offered"].as_u64().expect("count"), r["rejected"].as_u64().expect("count"), said)
    };
    let none = run(&["--set", "services.chat-8b.traffic={}"]);
    let (once, _, said) = run(&[]);
    for word in ["Mooncake", "Requests: 50", "spread", "prefix caching", "All requests fit"] {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
    assert_eq!(none.0, once, "the trace takes the place of what the file says");
    // 27 s and one mean gap last 27.55 s: 300 s at twice the speed are 21.8 laps.
    let again = run(&["--trace-speed", "2", "--trace-repeat"]).0;
    assert!((1_000..1_060).contains(&(again - once)), "{again} against {once}");
    // rag-14b takes 16,384 tokens; the longest row has 24,609.
    let (_, refused_by_engine, said) = run(&["--trace-service", "rag-14b"]);
    assert!(refused_by_engine >= 10 && said.contains("its engine refuses them"), "{said}");
    let (_, cut, said) = run(&["--trace-service", "rag-14b", "--trace-cut"]);
    assert!(cut == 0 && said.contains("are cut to fit"), "{said}");
    assert!(run(&["--trace-unspread"]).2.contains("played as written"));
    assert!(run(&["--trace-lengths-only"]).0 > 2_000);

    refused(&["run", "sandbox", "--trace", &path, "--trace-service", "x"], &["--trace-service x", "chat-14b"]);
    refused(&["run", "sandbox", "--trace", &path, "--trace-speed", "0"], &["--trace-speed 0", "0.001"]);
    refused(&["run", "sandbox", "--trace-repeat"], &["--trace"]);
    std::fs::write(&file, "when,how much\n1,2\n").expect("file");
    refused(&["run", "sandbox", "--trace", &path], &["line 1", "Azure", "BurstGPT", "Mooncake", "when,how much"]);
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
