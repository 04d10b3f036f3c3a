//! Cron schedules of disruption budgets, in UTC: five fields, or a shorthand such as `@daily`.

/// A parsed schedule: the allowed values of each field as bit sets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Day of month and day of week are alternatives if neither begins with `*`.
    either_day: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Days that are searched for a start: ten years.
const MAX_DAYS: i64 = 3660;

impl Cron {
    pub fn parse(text: &str) -> Option<Cron> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        let starred = |field: &str| field.starts_with('*') || field.starts_with('?');
        Some(Cron {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            weekdays: field(weekdays, 0, 6, &WEEKDAYS)?,
            either_day: !starred(days) && !starred(weekdays),
        })
    }

    /// Whether a start lies in (`now_s - duration_s`, `now_s`], in seconds since 1970 UTC.
    pub fn started_within(&self, now_s: i64, duration_s: i64) -> bool {
        let after = now_s.saturating_sub(duration_s);
        let (last_day, first_day) = (now_s.div_euclid(86_400), after.div_euclid(86_400));
        let first_day = first_day.max(last_day.saturating_sub(MAX_DAYS));
        (first_day..=last_day).rev().any(|day| {
            self.runs_on(day)
                && minutes_of_day(self.hours, self.minutes).any(|minute| {
                    let at = day * 86_400 + minute * 60;
                    after < at && at <= now_s
                })
        })
    }

    fn runs_on(&self, day: i64) -> bool {
        let (month, day_of_month) = civil(day);
        // 1 January 1970 was a Thursday.
        let weekday = (day + 4).rem_euclid(7);
        let by_date = self.days >> day_of_month & 1 == 1;
        let by_week = self.weekdays >> weekday & 1 == 1;
        let day_matches = if self.either_day { by_date || by_week } else { by_date && by_week };
        self.months >> month & 1 == 1 && day_matches
    }
}

fn minutes_of_day(hours: u64, minutes: u64) -> impl Iterator<Item = i64> {
    let bits = |set: u64, n: i64| (0..n).filter(move |i| set >> i & 1 == 1);
    bits(hours, 24).flat_map(move |h| bits(minutes, 60).map(move |m| h * 60 + m))
}

/// Month (1 to 12) and day of month of a day since 1970 (proleptic Gregorian calendar).
fn civil(day: i64) -> (i64, i64) {
    let shifted = day + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (month, day_of_month)
}

/// One field: a comma list of `*`, `n`, `n-m`, each with an optional `/step`.
fn field(text: &str, low: u64, high: u64, names: &[&str]) -> Option<u64> {
    let value = |v: &str| -> Option<u64> {
        let named = names.iter().position(|n| v.eq_ignore_ascii_case(n));
        let n = match named {
            Some(at) => at as u64 + low,
            None => v.parse().ok()?,
        };
        (low..=high).contains(&n).then_some(n)
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u64>().ok().filter(|s| *s > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (low, high),
            Some((from, to)) => (value(from)?, value(to)?),
            // `n/step` runs from n to the end.
            None => (value(range)?, if step.is_some() { high } else { value(range)? }),
        };
        if from > to {
            return None;
        }
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        set = (from..=to).step_by(step).fold(set, |set, n| set | 1 << n);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAN_1_2025: i64 = 1_735_689_600;
    const MON_2025_03_03: i64 = 1_740_960_000;

    fn active(schedule: &str, now_s: i64, duration_s: i64) -> bool {
        Cron::parse(schedule).expect("schedule").started_within(now_s, duration_s)
    }

    #[test]
    fn window_includes_its_start_and_excludes_its_end() {
        assert!(active("@yearly", JAN_1_2025, 3600));
        assert!(active("@yearly", JAN_1_2025 + 3599, 3600));
        assert!(!active("@yearly", JAN_1_2025 + 3600, 3600));
        assert!(!active("@yearly", JAN_1_2025 - 1, 3600));
    }

    #[test]
    fn weekdays_ranges_steps_and_names() {
        assert!(active("0 9 * * mon-fri", MON_2025_03_03 + 9 * 3600, 60));
        assert!(!active("0 9 * * sat,sun", MON_2025_03_03 + 9 * 3600, 60));
        assert!(active("*/15 * * * *", MON_2025_03_03 + 45 * 60, 60));
        assert!(!active("*/15 * * * *", MON_2025_03_03 + 50 * 60, 60));
        assert!(active("0 0 3 mar *", MON_2025_03_03, 60));
    }

    #[test]
    fn day_of_month_or_weekday_when_both_are_given() {
        assert!(active("0 0 15 * 1", MON_2025_03_03, 60));
        assert!(active("0 0 3 * 0", MON_2025_03_03, 60));
        assert!(!active("0 0 4 * 0", MON_2025_03_03, 60));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "@soon", "* * 0 * *", "* * * * 7"] {
            assert_eq!(Cron::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn leap_day() {
        assert_eq!(civil(19_782), (2, 29));
        assert_eq!(civil(19_783), (3, 1));
        assert_eq!(civil(0), (1, 1));
    }
}
