//! Text -> tree, paths, and that no text whatsoever panics.

use super::*;
use proptest::prelude::*;

fn problem(text: &str) -> Problem {
    parse(text).expect_err(text)
}

fn placed(text: &str, path: &str) -> (u32, u32) {
    let root = parse(text).unwrap();
    let node = root.find(path).unwrap();
    (node.line, node.column)
}

#[test]
fn every_node_knows_its_line_and_column() {
    let text = "# note\na: 1\nb:\n  - x\n  - {c: 'd', e: [f, g]}\nh:\n  i: |\n    long\n    text\nj:\n";
    for (path, place) in [
        ("a", (2, 4)),
        ("b", (4, 3)),
        ("b[0]", (4, 5)),
        ("b[1]", (5, 5)),
        ("b[1].c", (5, 9)),
        ("b[1].e[1]", (5, 21)),
        ("h.i", (8, 5)),
    ] {
        assert_eq!(placed(text, path), place, "{path}");
    }
    let root = parse(text).unwrap();
    let Value::Map(entries) = &root.value else { panic!() };
    let keys: Vec<_> = entries.iter().map(|(k, _)| (k.text.as_str(), k.line, k.column)).collect();
    assert_eq!(keys, [("a", 2, 1), ("b", 3, 1), ("h", 6, 1), ("j", 10, 1)]);
    assert!(root.find("j").unwrap().is_null());
}

#[test]
fn what_is_left_out_is_refused_with_its_place() {
    for (text, line, column, words) in [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "the key `a` appears twice"),
        ("a: &x 1\n", 1, 4, "anchors"),
        ("a: &x {b: 1}\nc: *x\n", 1, 4, "anchors"),
        ("a: !!str 1\n", 1, 4, "tags"),
        ("a: !mine {b: 1}\n", 1, 4, "tags"),
        ("<<: {a: 1}\n", 1, 1, "merge keys"),
        ("[a, b]: 1\n", 1, 1, "a key must be text"),
        ("a: 1\n---\nb: 2\n", 3, 1, "a second document"),
        ("a: 1\n\tb: 2\n", 1, 4, "found a tab"),
        ("a: [1, 2\nb: 3\n", 2, 2, "not YAML"),
        ("a: \"b\n", 1, 4, "not YAML"),
        ("a: 1\nb: \u{0}\n", 2, 4, "NUL"),
    ] {
        let found = problem(text);
        assert!(found.message.contains(words), "{text:?}: {found}");
        assert_eq!((found.line, found.column), (line, column), "{text:?}: {found}");
    }
}

#[test]
fn an_unknown_alias_is_refused() {
    assert!(problem("a: *nowhere\n").message.contains("anchor"));
}

#[test]
fn limits_hold_at_and_above() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(DEPTH_MAX)).is_ok());
    assert!(problem(&nested(DEPTH_MAX + 1)).message.contains("nested more than 32"));

    let list = |n: usize| format!("[{}]", vec!["1"; n].join(","));
    assert!(parse(&list(NODES_MAX - 1)).is_ok());
    assert!(problem(&list(NODES_MAX)).message.contains("more than 20000"));

    let text = |bytes: usize| format!("a: {}", "x".repeat(bytes - 3));
    assert!(parse(&text(TEXT_BYTES_MAX)).is_ok());
    assert!(problem(&text(TEXT_BYTES_MAX + 1)).message.contains("262144"));
}

#[test]
fn large_hostile_texts_are_refused_quickly() {
    for unit in ["[", "{", "- ", "? ", "{a: ", "[[", "a:\n ", "\"", "'", "|", "%", "&a ", "!a ", "? [", "a: {", "\n- "]
    {
        let _ = parse(&unit.repeat(TEXT_BYTES_MAX / unit.len()));
    }
    // Each line one level deeper.
    let stairs: String = (0..600).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    assert!(problem(&stairs).message.contains("nested more than 32"));
}

#[test]
fn documents_come_one_by_one() {
    let documents = parse_all("---\na: 1\n---\nb: 2\n...\n").unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!((documents[1].line, documents[1].key("b").and_then(Node::text)), (4, Some("2")));
    assert!(parse("").unwrap().is_null());
    assert_eq!(parse_all("# only a note\n").unwrap().len(), 0);
    assert!(parse("\u{feff}a: 1").unwrap().key("a").is_some());
}

const LAB: &str = "\
seed: 7
services:
  - name: chat
    hpa: {target: 5, signals: [queue, kv]}
    labels: {nvidia.com/gpu: h100}
  - name: code
    hpa:
";

#[test]
fn overrides_reach_values_by_key_name_and_index() {
    let mut root = parse(LAB).unwrap();
    for (path, value) in [
        ("seed", "8"),
        ("services.chat.hpa.target", "70"),
        ("services[0].hpa.signals[1]", "ttft"),
        ("services.0.labels.\"nvidia.com/gpu\"", "b200"),
        ("services.code.hpa.target", "{a: [1]}"),
        ("new", "x"),
    ] {
        root.set(path, value).unwrap();
        assert_eq!(root.find(path), Some(&forgotten(value)), "{path}");
    }
    assert_eq!(root.find("services[1].hpa.target.a[0]").and_then(Node::text), Some("1"));
}

fn forgotten(value: &str) -> Node {
    let mut holder = Node::empty_map();
    holder.set("v", value).unwrap();
    holder.key("v").unwrap().clone()
}

#[test]
fn overrides_that_lead_nowhere_name_the_segment() {
    for (path, value, wanted) in [
        ("services.chit.hpa", "1", "services.chit: no element named `chit`; did you mean `chat`?"),
        ("services[2].hpa", "1", "services[2]: no element 2; the list has 2"),
        ("service.chat", "1", "service: no key `service`; did you mean `services`?"),
        ("zoo.chat", "1", "zoo: no key `zoo`; there are: seed, services"),
        ("seed.x", "1", "seed.x: there is nothing below `7`"),
        ("services.code.hpa.a.b", "1", "services.code.hpa.a: no key `a`: the value is empty"),
        ("seed", "[1", "seed: the value `[1` cannot be read: not YAML: "),
        ("", "1", "the path \"\": a segment is empty"),
        ("a..b", "1", "the path \"a..b\": a segment is empty"),
        ("a[x]", "1", "the path \"a[x]\": an index in brackets must be a whole number"),
        ("a[1", "1", "the path \"a[1\": `[` without `]`"),
        ("\"a\"b", "1", "the path \"\"a\"b\": a `.` is missing after a quoted key or an index"),
    ] {
        let mut root = parse(LAB).unwrap();
        let before = root.clone();
        let found = root.set(path, value).unwrap_err().to_string();
        assert!(found.starts_with(wanted), "{path}: {found}");
        assert_eq!(root, before, "{path}");
    }
}

#[test]
fn later_rules_can_point_at_a_value() {
    let root = parse(LAB).unwrap();
    let found = root.problem_at("services[0].hpa.target", "above the limit");
    assert_eq!(found.to_string(), "line 4, column 19: services[0].hpa.target: above the limit");
    let absent = root.problem_at("services.chat.slo.ttft", "is needed");
    assert_eq!((absent.line, absent.column), (3, 5));
}

/// Text made of the pieces that YAML gives a meaning to.
fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "1",
        ":",
        ": ",
        "-",
        "- ",
        "? ",
        "?",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "!<",
        ">",
        "|",
        ">-",
        "|2",
        "\"",
        "'",
        "\\",
        "\\x4",
        "#",
        " #",
        "%",
        "%YAML 1.2\n",
        "%TAG ! x\n",
        "---",
        "---\n",
        "...\n",
        "@",
        "`",
        "~",
        "<<",
        "\r",
        "\r\n",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "😀",
        "\u{7}",
        "0x",
        ".inf",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = parse(&text).map(|mut node| node.set("a.b", "1"));
    }

    #[test]
    fn nothing_that_looks_like_yaml_panics(text in yamlish()) {
        let _ = parse_all(&text);
        let _ = from_str::<serde_json::Value>(&text);
    }

    #[test]
    fn no_path_and_value_panic(path in "[a-c0-2.\\[\\]\"é]{0,12}", value in yamlish()) {
        let mut root = parse(LAB).unwrap();
        if root.set(&path, &value).is_ok() {
            prop_assert!(root.find(&path).is_some());
        }
        let _ = root.problem_at(&path, "x");
    }
}
