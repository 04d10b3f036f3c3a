//! Times as traces write them: dates, seconds, milliseconds; read from bytes, exact to the nanosecond.

/// A time as recorded, from an origin that only its trace knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    /// At most about 10^12, so that differences in µs fit 64 bits.
    pub seconds: u64,
    /// Below 10^9.
    pub nanos: u32,
}

impl Stamp {
    /// Microseconds since an earlier stamp, parts cut off.
    pub fn since_us(self, earlier: Stamp) -> u64 {
        let nanos = i64::from(self.nanos) - i64::from(earlier.nanos);
        let whole = self.seconds.saturating_sub(earlier.seconds).saturating_mul(1_000_000);
        whole.saturating_add_signed(nanos.div_euclid(1_000))
    }
}

/// Only digits, at most twelve.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 12 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}

/// Up to nine decimals as nanoseconds.
fn nanos(decimals: &[u8]) -> Option<u32> {
    let n = digits(decimals).filter(|_| decimals.len() <= 9)?;
    let scaled = (decimals.len()..9).fold(n, |n, _| n * 10);
    u32::try_from(scaled).ok()
}

/// `12` or `12.5`, in seconds.
pub(super) fn seconds(text: &[u8]) -> Option<Stamp> {
    match text.iter().position(|b| *b == b'.') {
        None => Some(Stamp { seconds: digits(text)?, nanos: 0 }),
        Some(dot) => Some(Stamp { seconds: digits(&text[..dot])?, nanos: nanos(&text[dot + 1..])? }),
    }
}

/// Milliseconds from 0, perhaps with decimals.
pub(super) fn milliseconds(ms: f64) -> Option<Stamp> {
    // Below 2^53, so that whole milliseconds are exact.
    if !(0.0..=9e15).contains(&ms) {
        return None;
    }
    let whole = ms.floor();
    let nanos = ((whole % 1_000.0) * 1e6 + ((ms - whole) * 1e6).floor()) as u32;
    Some(Stamp { seconds: (whole / 1_000.0).floor() as u64, nanos })
}

/// `YYYY-MM-DD HH:MM:SS[.d{1,9}][+00:00]`, and whether it names the zone. From the year 0 of the
/// Gregorian calendar.
pub(super) fn date(text: &[u8]) -> Option<(Stamp, bool)> {
    let (text, zoned) = text.strip_suffix(b"+00:00").map_or((text, false), |rest| (rest, true));
    let (whole, rest) = text.split_at_checked(19)?;
    let nanos = match rest {
        [] => 0,
        [b'.', decimals @ ..] => nanos(decimals)?,
        _ => return None,
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b' '), (13, b':'), (16, b':')];
    if marks.iter().any(|(at, mark)| whole[*at] != *mark) {
        return None;
    }
    let part =
        |from: usize, to: usize, min: u64, max: u64| digits(&whole[from..to]).filter(|n| (min..=max).contains(n));
    let year = part(0, 4, 0, 9999)?;
    let month = part(5, 7, 1, 12)?;
    let day = part(8, 10, 1, days_of_month(year, month))?;
    let (hour, minute, second) = (part(11, 13, 0, 23)?, part(14, 16, 0, 59)?, part(17, 19, 0, 59)?);
    let days = days_before_year(year) + (1..month).map(|m| days_of_month(year, m)).sum::<u64>() + day - 1;
    Some((Stamp { seconds: days * 86_400 + hour * 3_600 + minute * 60 + second, nanos }, zoned))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_before_year(year: u64) -> u64 {
    // Year 0 is a leap year itself.
    let leap_days = if year == 0 { 0 } else { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 };
    year * 365 + leap_days
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}
