//! The reader of recorded traces, by the Azure format: its limits, and where its refusals point.

use super::trace::{Expected, Field, LINE_BYTES_MAX, ROWS_MAX, Row, Trace, TraceProblem, TraceProblems, TraceReader};

const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

fn read(text: &str) -> Result<Trace, TraceProblems> {
    let mut reader = TraceReader::new();
    reader.push(text.as_bytes());
    reader.finish()
}

fn rows(lines: &[&str]) -> Result<Trace, TraceProblems> {
    read(&format!("{HEADER}\n{}\n", lines.join("\n")))
}

fn refusals(lines: &[&str]) -> Vec<String> {
    rows(lines).expect_err("refused").first.iter().map(ToString::to_string).collect()
}

fn row(offset_us: u64, prompt_tokens: u32, output_tokens: u32) -> Row {
    Row { offset_us, prompt_tokens, output_tokens }
}

const START: &str = "2023-11-16 18:15:46.6805900,374,44";

#[test]
fn rows_become_offsets_from_the_first() {
    let text = format!("{HEADER}\r\n{START}\r\n2023-11-16 18:15:50.9951690,396,109");
    assert_eq!(read(&text).unwrap().rows(), [row(0, 374, 44), row(4_314_579, 396, 109)]);
    // Months, leap days, other decimals and a zone.
    let far = rows(&["2024-02-28 23:59:59.5,1,0", "2024-03-01 00:00:00.000001+00:00,2,3", "2024-03-14 00:00:00,4,5"]);
    let day = 86_400_000_000;
    let wanted = [row(0, 1, 0), row(day + 500_001, 2, 3), row(14 * day + 500_000, 4, 5)];
    assert_eq!(far.unwrap().rows(), wanted);
    // A part of a microsecond is cut off the difference, not off the two stamps.
    let close = rows(&["2023-12-31 23:59:59.9999999,1,1", "2024-01-01 00:00:00.0000018,1,1"]);
    assert_eq!(close.unwrap().rows()[1].offset_us, 1);
}

#[test]
fn pieces_of_any_size_give_the_same_trace() {
    let text = format!("\u{feff}{HEADER}\r\n{START}\r\n2023-11-16 18:15:50.9951690,396,109\r\n\r\n");
    let whole = read(&text).unwrap();
    for size in 1..60 {
        let mut reader = TraceReader::new();
        for piece in text.as_bytes().chunks(size) {
            assert!(reader.push(piece).wants_more);
        }
        let trace = reader.finish().unwrap();
        assert_eq!((trace.rows(), trace.rows_hash()), (whole.rows(), whole.rows_hash()), "{size}");
    }
}

#[test]
fn the_content_hash_is_fixed() {
    let trace = rows(&[START, "2023-11-16 18:15:50.9951690,396,109"]).unwrap();
    assert_eq!(trace.rows_hash_text(), "9375c9e7f3ed5837");
    assert_ne!(rows(&[START, "2023-11-16 18:15:50.9951690,396,110"]).unwrap(), trace);
    assert_eq!(Trace::from_rows(trace.rows().to_vec()), trace);
}

#[test]
fn refusals_name_line_field_and_what_was_expected() {
    let time = "TIMESTAMP: expected a time such as `2023-11-16 18:15:46.6805900`, in UTC, found";
    let tokens = "expected a whole number from 0 to 10000000, found";
    for (line, wanted) in [
        ("2023-11-16T18:15:47,1,1", format!("line 3: {time} `2023-11-16T18:15:47`")),
        ("2023-02-29 18:15:47,1,1", format!("line 3: {time} `2023-02-29 18:15:47`")),
        ("2023-11-16 24:15:47,1,1", format!("line 3: {time} `2023-11-16 24:15:47`")),
        ("2023-11-16 18:15:47.,1,1", format!("line 3: {time} `2023-11-16 18:15:47.`")),
        ("2023-11-16 18:15:47+01:00,1,1", format!("line 3: {time} `2023-11-16 18:15:47+01:00`")),
        ("2023-11-16 18:15:47,-1,1", format!("line 3: ContextTokens: {tokens} `-1`")),
        ("2023-11-16 18:15:47,1,10000001", format!("line 3: GeneratedTokens: {tokens} `10000001`")),
        ("2023-11-16 18:15:47,,1", format!("line 3: ContextTokens: {tokens} ``")),
        ("2023-11-16 18:15:47,1", "line 3: line: expected 3 fields, found 2 in `2023-11-16 18:15:47,1`".to_owned()),
        (
            "2023-11-16 18:15:46.6805899,1,1",
            "line 3: TIMESTAMP: expected a time not before that of line 2 (sort the rows by time), found an earlier one"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusals(&[START, line]), [wanted], "{line}");
    }
    assert_eq!(refusals(&["x,y,z"]).len(), 3);
    assert_eq!(refusals(&[START, "", START]), ["line 3: line: expected 3 fields, found an empty line"]);
    assert_eq!(rows(&[START, "2023-11-16 18:15:47,1,10000000"]).unwrap().rows()[1].output_tokens, 10_000_000);
}

#[test]
fn a_late_row_is_named_once() {
    let later = "2023-11-16 18:15:48,1,1";
    let found = rows(&[START, later, START, later, later]).unwrap_err();
    assert_eq!(found.count, 1);
    assert_eq!((found.first[0].line, &found.first[0].expected), (4, &Expected::Sorted { line: 3 }));
}

#[test]
fn a_header_and_a_row_are_needed() {
    let problem = |text: &str| read(text).unwrap_err().first.remove(0);
    assert!(problem("").to_string().ends_with("found an empty file"), "{}", problem(""));
    assert_eq!(problem(START).expected, Expected::KnownFormat);
    assert_eq!(problem(&format!("{HEADER}\n")).expected, Expected::AnyRow);
}

#[test]
fn problems_are_listed_up_to_twenty_and_counted() {
    let found = rows(&["a,b,c"; 50]).unwrap_err();
    assert_eq!((found.first.len(), found.count), (20, 150));
    assert!(found.to_string().ends_with("and 130 more\n"));
}

#[test]
fn long_lines_and_other_bytes_are_refused_and_reading_goes_on() {
    let fits = format!("{HEADER}\n{}\r\n", "x".repeat(LINE_BYTES_MAX));
    assert_eq!(read(&fits).unwrap_err().first[0].expected, Expected::Fields { n: 3 });
    for long in [LINE_BYTES_MAX + 1, 10 * LINE_BYTES_MAX] {
        let text = format!("{HEADER}\n{}\n{START}\nx\n", "x".repeat(long));
        let mut reader = TraceReader::new();
        for piece in text.as_bytes().chunks(1000) {
            reader.push(piece);
        }
        let found = reader.finish().unwrap_err();
        let seen: Vec<_> = found.first.iter().map(|p| (p.line, p.expected.clone())).collect();
        assert_eq!(seen, [(2, Expected::ShorterLine), (4, Expected::Fields { n: 3 })], "{long}");
    }
    let mut reader = TraceReader::new();
    reader.push(HEADER.as_bytes());
    reader.push(b"\n\xff\xfe,1,1\n");
    let wanted =
        TraceProblem { line: 2, field: Field::Line, expected: Expected::Utf8, found: "other bytes".to_owned() };
    assert_eq!(reader.finish().unwrap_err().first, [wanted]);
}

#[test]
fn rows_are_limited() {
    assert_eq!((ROWS_MAX, size_of::<Row>()), (4_000_000, 16));
    let mut reader = TraceReader::with_rows_max(1_000);
    reader.push(format!("{HEADER}\n").as_bytes());
    assert!(reader.push(format!("{START}\n").repeat(1_000).as_bytes()).wants_more);
    let progress = reader.push(format!("{START}\n{START}\n").as_bytes());
    assert_eq!((progress.rows, progress.problems, progress.wants_more), (1_000, 1, false));
    let found = reader.finish().unwrap_err();
    assert_eq!((found.first[0].line, &found.first[0].expected), (1_002, &Expected::FewerRows { n: 1_000 }));
}
