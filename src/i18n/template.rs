//! Templates: text with `{name}`, `{name, plural, one {…} other {…}}` and `**strong**`.
//!
//! Inside a plural branch `#` stands for the number. The same small grammar serves every
//! language table; [`placeholders`] lets a test compare a table with the catalogue.

use super::{Arg, Lang, Message};

/// Writes a message in a language. `**` marks of emphasis are kept; [`crate::view`] splits on
/// them where emphasis is shown, and [`plain`] removes them elsewhere.
pub fn render(lang: &Lang, message: &Message) -> String {
    let mut out = String::new();
    let template = lang.template(message.key());
    write(lang, &template, &message.args(), None, &mut out);
    out
}

fn write(lang: &Lang, template: &str, args: &[(&'static str, Arg)], number: Option<i64>, out: &mut String) {
    let mut rest = template;
    while let Some(at) = rest.find(['{', '#']) {
        out.push_str(&rest[..at]);
        if rest[at..].starts_with('#') {
            match number {
                Some(n) => out.push_str(&lang.numbers.int(n)),
                None => out.push('#'),
            }
            rest = &rest[at + 1..];
            continue;
        }
        let Some(len) = closing(&rest[at..]) else {
            out.push_str(&rest[at..]);
            return;
        };
        let inner = &rest[at + 1..at + len];
        rest = &rest[at + len + 1..];
        match inner.split_once(", plural,") {
            None => match args.iter().find(|(n, _)| *n == inner.trim()) {
                Some((_, arg)) => out.push_str(&lang.write_arg(arg)),
                None => {
                    out.push('{');
                    out.push_str(inner);
                    out.push('}');
                }
            },
            Some((name, branches)) => {
                let n = args.iter().find(|(a, _)| *a == name.trim()).map_or(0, |(_, a)| match a {
                    Arg::Int(n) => *n,
                    _ => 0,
                });
                let branch = branch(branches, lang.plural(n)).or_else(|| branch(branches, "other")).unwrap_or("");
                write(lang, branch, args, Some(n), out);
            }
        }
    }
    out.push_str(rest);
}

/// Index of the `}` that closes the `{` at the start.
fn closing(s: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in s.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

fn branch<'a>(branches: &'a str, category: &str) -> Option<&'a str> {
    let mut rest = branches.trim_start();
    while let Some(open) = rest.find('{') {
        let name = rest[..open].trim();
        let len = closing(&rest[open..])?;
        let body = &rest[open + 1..open + len];
        if name == category {
            return Some(body);
        }
        rest = rest[open + len + 1..].trim_start();
    }
    None
}

/// The placeholder names of a template, sorted, each once.
#[cfg(test)]
pub fn placeholders(template: &str) -> Vec<String> {
    let mut names = Vec::new();
    collect(template, &mut names);
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
fn collect(template: &str, names: &mut Vec<String>) {
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let Some(len) = closing(&rest[at..]) else { return };
        let inner = &rest[at + 1..at + len];
        rest = &rest[at + len + 1..];
        match inner.split_once(", plural,") {
            None => names.push(inner.trim().to_owned()),
            Some((name, branches)) => {
                names.push(name.trim().to_owned());
                let mut b = branches;
                while let Some(open) = b.find('{') {
                    let Some(l) = closing(&b[open..]) else { return };
                    collect(&b[open + 1..open + l], names);
                    b = &b[open + l + 1..];
                }
            }
        }
    }
}

/// The text without marks of emphasis.
pub fn plain(text: &str) -> String {
    text.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_branches_choose_by_number() {
        let t = "{n, plural, one {# GPU} other {# GPUs}} of {m}";
        let en = Lang::english();
        let mut one = String::new();
        write(&en, t, &[("n", Arg::Int(1)), ("m", Arg::Int(8))], None, &mut one);
        assert_eq!(one, "1 GPU of 8");
        let mut seven = String::new();
        write(&en, t, &[("n", Arg::Int(7)), ("m", Arg::Int(8))], None, &mut seven);
        assert_eq!(seven, "7 GPUs of 8");
        assert_eq!(placeholders(t), ["m", "n"]);
    }
}
