//! Each trace format, what is left out or remarked on, implausible times, and hostile bytes.

use super::trace::{Expected, Remark, Row, Trace, TraceFormat, TraceNote, TraceProblems, TraceReader};
use crate::sim::time::Span;
use proptest::prelude::*;

const DAY_US: u64 = 86_400_000_000;

/// Rows of our own in each format, as its data set writes them.
const AZURE_2023: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
    2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109";
const AZURE_2024: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
    2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n";
const BURST_1: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
    5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n";
const BURST_3: &str = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
    19440110.0,1722ac82-0000-4bf0-aa08-000000000000,43,GPT-4,906,446,1352,Conversation log\n\
    19440161.0,,2.5,ChatGPT,36,29,65,API log\n";
const MOONCAKE: &str = "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1, 2]}\n\
    {\"timestamp\": 3000, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": []}\n";

fn read(text: &str) -> Result<Trace, TraceProblems> {
    let mut reader = TraceReader::new();
    reader.push(text.as_bytes());
    reader.finish()
}

fn refusal(text: &str) -> String {
    read(text).expect_err("refused").first.remove(0).to_string()
}

fn row(offset_us: u64, prompt_tokens: u32, output_tokens: u32) -> Row {
    Row { offset_us, prompt_tokens, output_tokens }
}

#[test]
fn every_format_is_known_by_its_first_line() {
    for (text, format, rows) in [
        (AZURE_2023, TraceFormat::Azure2023, [row(0, 374, 44), row(4_314_579, 396, 109)]),
        (AZURE_2024, TraceFormat::Azure2024, [row(0, 2162, 5), row(7_405, 2399, 6)]),
        (BURST_1, TraceFormat::BurstGpt, [row(0, 472, 18), row(40_000_000, 1087, 230)]),
        (BURST_3, TraceFormat::BurstGpt, [row(0, 906, 446), row(51_000_000, 36, 29)]),
        (MOONCAKE, TraceFormat::Mooncake, [row(0, 6758, 500), row(3_000_000, 7322, 490)]),
    ] {
        let trace = read(text).unwrap();
        assert_eq!((trace.format(), trace.rows()), (Some(format), &rows[..]), "{text}");
        assert_eq!(trace, Trace::from_rows(rows.to_vec()));
        // Line ends, a byte order mark and a last empty line make no difference.
        let windows = format!("\u{feff}{}\r\n", text.trim_end().replace("\r\n", "\n").replace('\n', "\r\n"));
        assert_eq!(read(&windows).unwrap(), trace, "{text}");
    }
}

#[test]
fn pieces_of_any_size_give_the_same_trace_in_every_format() {
    for text in [AZURE_2023, AZURE_2024, BURST_1, BURST_3, MOONCAKE] {
        let whole = read(text).unwrap();
        for size in 1..80 {
            let mut reader = TraceReader::new();
            for piece in text.as_bytes().chunks(size) {
                assert!(reader.push(piece).wants_more);
            }
            let trace = reader.finish().unwrap();
            assert_eq!(
                (trace.rows(), trace.rows_hash(), trace.notes()),
                (whole.rows(), whole.rows_hash(), whole.notes())
            );
        }
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let turned = "Response tokens,Timestamp,Note,Request tokens\n7,1.5,a,3\n8,2.25,b,4\n";
    assert_eq!(read(turned).unwrap().rows(), [row(0, 3, 7), row(750_000, 4, 8)]);
    let more = "GeneratedTokens,TIMESTAMP,ContextTokens,Region\n7,2024-05-10 00:00:00+00:00,3,west\n";
    assert_eq!(read(more).unwrap().rows(), [row(0, 3, 7)]);
}

#[test]
fn another_file_is_refused_once_with_the_known_formats() {
    for other in
        ["time,in,out\n1,2,3\n", "hello\n", "{\"ts\": 1}\n{\"ts\": 2}\n", "[1, 2]\n", "TIMESTAMP;ContextTokens\n"]
    {
        let problems = read(other).unwrap_err();
        assert_eq!((problems.count, problems.first[0].line), (1, 1), "{other}");
        let text = problems.to_string();
        assert!(["Azure", "BurstGPT", "Mooncake"].iter().all(|name| text.contains(name)), "{text}");
    }
    assert!(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\n").contains("download the file itself"));
    let mut reader = TraceReader::new();
    assert!(!reader.push(b"nothing\n").wants_more);
}

#[test]
fn failed_and_empty_rows_of_burst_gpt_are_left_out_and_counted() {
    let text = format!(
        "{BURST_1}50,GPT-4,900,0,900,API log\n60,GPT-4,0,0,0,API log\n70,GPT-4,9,0,9,API log\n80,GPT-4,0,5,5,API log\n"
    );
    let trace = read(&text).unwrap();
    assert_eq!(trace.rows()[2..], [row(75_000_000, 0, 5)]);
    let note = |remark, line, rows| TraceNote { remark, line, rows };
    let wanted = [note(Remark::FailedLeftOut, 4, 2), note(Remark::EmptyLeftOut, 5, 1), note(Remark::ZeroTokens, 7, 1)];
    assert_eq!(trace.notes(), wanted);
    // The first row that is kept is time 0; if none is, there is no trace.
    let late = read("Timestamp,Request tokens,Response tokens\n1,5,0\n9,5,5\n11,5,5\n").unwrap();
    assert_eq!(late.rows(), [row(0, 5, 5), row(2_000_000, 5, 5)]);
    assert!(matches!(
        read("Timestamp,Request tokens,Response tokens\n1,5,0\n").unwrap_err().first[0].expected,
        Expected::AnyRow
    ));
}

#[test]
fn azure_keeps_empty_answers_and_mooncake_says_that_prefixes_are_not_used() {
    let zero = format!("{AZURE_2023}\n2023-11-16 18:15:51.0000000,7,0\n");
    let trace = read(&zero).unwrap();
    assert_eq!(trace.rows()[2].output_tokens, 0);
    assert_eq!(trace.notes(), [TraceNote { remark: Remark::ZeroTokens, line: 4, rows: 1 }]);
    let remarks: Vec<Remark> = read(MOONCAKE).unwrap().notes().iter().map(|n| n.remark).collect();
    assert_eq!(remarks, [Remark::PrefixesIgnored]);
}

#[test]
fn refusals_name_the_column_or_key() {
    let json = |line: &str| refusal(&format!("{MOONCAKE}{line}\n"));
    assert_eq!(
        json("{\"timestamp\": \"4\", \"input_length\": 1, \"output_length\": 1}"),
        "line 3: timestamp: expected milliseconds, not below 0, found `\\\"4\\\"`"
    );
    assert_eq!(
        json("{\"timestamp\": 4000, \"input_length\": -1, \"output_length\": 1}"),
        "line 3: input_length: expected a whole number from 0 to 10000000, found `-1`"
    );
    assert_eq!(
        json("{\"timestamp\": 4000, \"input_length\": 1}"),
        "line 3: output_length: expected a whole number from 0 to 10000000, found nothing"
    );
    assert!(json("{\"timestamp\": 4000,").starts_with("line 3: line: expected a JSON object"));
    assert!(json("{\"timestamp\": 1000, \"input_length\": 1, \"output_length\": 1}").contains("sort the rows"));
    let burst = |line: &str| refusal(&format!("{BURST_1}{line}\n"));
    assert_eq!(
        burst("x,GPT-4,1,1,2,API log"),
        "line 4: Timestamp: expected seconds such as `45` or `19440110.0`, found `x`"
    );
    assert!(burst("50,GPT-4,1.5,1,2,API log").starts_with("line 4: Request tokens: expected a whole number"));
    assert!(burst("50,GPT-4,1,1").contains("expected 6 fields, found 4 in"));
}

#[test]
fn a_row_a_century_later_is_refused_and_gaps_of_days_are_remarked_on() {
    let century = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1\n2123-11-16 18:15:47,1,1\n";
    let text = refusal(century);
    assert!(text.starts_with("line 3: TIMESTAMP: expected a time at most 14 days after that of line 2"), "{text}");
    assert!(text.ends_with("found one 36524 days later"), "{text}");

    let days = |n: u64| format!("Timestamp,Request tokens,Response tokens\n0,1,1\n1,1,1\n{},1,1\n", 1 + n * 86_400);
    assert!(read(&days(1)).unwrap().notes().is_empty());
    let gap = read(&days(3)).unwrap();
    let remark = Remark::LongGap { gap: Span(3 * DAY_US) };
    assert_eq!(gap.notes(), [TraceNote { remark, line: 4, rows: 1 }]);
    assert!(read(&days(14)).is_ok() && read(&days(15)).is_err());

    let weeks: String = (0..4).map(|i| format!("{},1,1\n", i * 10 * 86_400)).collect();
    let long = read(&format!("Timestamp,Request tokens,Response tokens\n{weeks}")).unwrap();
    assert!(long.notes().iter().any(|n| n.remark == Remark::LongerThanAnyRun { span: Span(30 * DAY_US) }));
    let once = read("Timestamp,Request tokens,Response tokens\n5,1,1\n5,1,1\n").unwrap();
    assert_eq!(once.notes()[0].remark, Remark::OneInstant);
}

#[test]
fn a_summary_counts_exactly() {
    let rows = (0..=100).map(|i| row(i * 1_200_000, 10 + i as u32, if i == 100 { 300_000 } else { 5 }));
    let s = Trace::from_rows(rows.collect()).summary();
    assert_eq!((s.requests, s.span, s.busiest_minute), (101, Span::from_secs(120), 50));
    assert_eq!((s.prompt.p50, s.prompt.p99, s.prompt.max, s.prompt.mean), (60.0, 109.0, 110, 60.0));
    assert_eq!((s.output.p50, s.output.p99, s.output.max), (5.0, 5.0, 300_000));
    assert!((s.mean_per_second - 101.0 / 120.0).abs() < 1e-12);
    let two = Trace::from_rows(vec![row(0, 1, 200_000), row(1, 2, 400_000)]);
    assert_eq!((two.summary().prompt.p50, two.summary().output.p50), (1.5, 300_000.0));
    assert_eq!((two.longer_than(400_002), two.longer_than(400_001), two.longer_than(5)), (0, 1, 2));
    assert_eq!(Trace::from_rows(Vec::new()).summary().requests, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary bytes alone and after each format's own beginning: no panic, and the same result
    /// however they are cut.
    #[test]
    fn no_bytes_panic_and_pieces_do_not_matter(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        text in "[0-9,.:+ \r\n{}\"a-z-]{0,200}",
        format in 0..6usize,
        size in 1usize..50,
    ) {
        let begin = ["", AZURE_2023, AZURE_2024, BURST_1, BURST_3, MOONCAKE][format];
        for tail in [bytes.as_slice(), text.as_bytes()] {
            let input = [begin.as_bytes(), b"\n", tail].concat();
            let mut whole = TraceReader::new();
            whole.push(&input);
            let mut cut = TraceReader::new();
            for piece in input.chunks(size) {
                cut.push(piece);
            }
            match (whole.finish(), cut.finish()) {
                (Ok(a), Ok(b)) => prop_assert_eq!((a.rows(), a.notes()), (b.rows(), b.notes())),
                (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
                (a, b) => prop_assert!(false, "{a:?} against {b:?}"),
            }
        }
    }

    /// Rows that look right with any numbers in them.
    #[test]
    fn no_numbers_panic(time in "[0-9]{0,20}(\\.[0-9]{0,12})?", a in any::<u64>(), b in any::<i64>(), ms in any::<f64>()) {
        let _ = read(&format!("{BURST_1}{time},x,{a},{b},0,y\n"));
        let _ = read(&format!("{AZURE_2024}{time},{a},{b}\n"));
        let _ = read(&format!("{MOONCAKE}{{\"timestamp\": {ms}, \"input_length\": {a}, \"output_length\": {b}}}\n"));
        let trace = read(&format!("Timestamp,Request tokens,Response tokens\n{time},{a},{b}\n{time},{a},{b}\n"));
        if let Ok(trace) = trace {
            trace.summary();
        }
    }
}
