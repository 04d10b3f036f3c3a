//! Pseudo-languages for tests: English made long, doubled or right-to-left.
//!
//! They show text that bypasses the catalogue (it stays plain) and layouts that break.

/// Applies `change` to the text of a template and leaves placeholders as they are.
fn outside_braces(template: &str, change: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut text = String::new();
    let mut depth = 0usize;
    for c in template.chars() {
        match c {
            '{' => {
                if depth == 0 && !text.is_empty() {
                    out.push_str(&change(&text));
                    text.clear();
                }
                depth += 1;
                out.push(c);
            }
            '}' => {
                depth = depth.saturating_sub(1);
                out.push(c);
            }
            _ if depth > 0 => out.push(c),
            _ => text.push(c),
        }
    }
    if !text.is_empty() {
        out.push_str(&change(&text));
    }
    out
}

/// About half as long again, with accents, as German or Finnish would be.
pub fn long(template: &str) -> String {
    outside_braces(template, &|t| {
        let mut s = String::with_capacity(t.len() * 2);
        for c in t.chars() {
            s.push(match c {
                'a' => 'á',
                'e' => 'é',
                'i' => 'í',
                'o' => 'ö',
                'u' => 'ü',
                other => other,
            });
            if matches!(c, 'a' | 'o') {
                s.push(c);
            }
        }
        if t.chars().filter(|c| c.is_alphabetic()).count() > 2 {
            s.push_str(&"~".repeat(t.chars().count() / 4));
        }
        s
    })
}

/// Every text twice. Glue without words of its own (`{first}, {next}`) stays single, or nested
/// messages would grow with every level.
pub fn double(template: &str) -> String {
    let words = std::cell::Cell::new(template.contains(", plural,"));
    outside_braces(template, &|t| {
        words.set(words.get() || t.chars().any(char::is_alphabetic));
        String::new()
    });
    if words.get() { format!("{template} {template}") } else { template.to_owned() }
}

/// The text between right-to-left marks, so that direction and mirroring show.
pub fn rtl(template: &str) -> String {
    format!("\u{202e}{template}\u{202c}")
}
