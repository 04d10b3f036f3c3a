//! A week: one day's profile with a factor for each weekday.

use super::arrivals::Gaps;
use super::pattern::{Diurnal, OfficeDay, PER_SECOND_MAX, Problems, check_hours};
use crate::sim::units::DAY_US;
use serde::{Deserialize, Serialize};

/// Microseconds of a week.
pub(super) const WEEK_US: u64 = 7 * DAY_US;

/// A day of the week.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weekday {
    #[default]
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// 0 for Monday.
    pub fn index(self) -> u64 {
        self as u64
    }
}

/// The day's rates times the weekday's factor, week after week. The rate jumps at midnight where two
/// factors differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weekly {
    pub day: Day,
    #[serde(default)]
    pub factors: WeekFactors,
}

/// The profile that every day of a [`Weekly`] has; as the patterns of the same names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Day {
    OfficeDay(OfficeDay),
    Diurnal(Diurnal),
    Hours {
        per_second: Vec<f64>,
        #[serde(default)]
        gaps: Gaps,
    },
}

/// A factor for each weekday, 1 if not given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WeekFactors {
    pub monday: f64,
    pub tuesday: f64,
    pub wednesday: f64,
    pub thursday: f64,
    pub friday: f64,
    pub saturday: f64,
    pub sunday: f64,
}

impl Default for WeekFactors {
    fn default() -> WeekFactors {
        WeekFactors {
            monday: 1.0,
            tuesday: 1.0,
            wednesday: 1.0,
            thursday: 1.0,
            friday: 1.0,
            saturday: 1.0,
            sunday: 1.0,
        }
    }
}

impl WeekFactors {
    /// From Monday to Sunday.
    pub fn all(&self) -> [f64; 7] {
        [self.monday, self.tuesday, self.wednesday, self.thursday, self.friday, self.saturday, self.sunday]
    }
}

impl Day {
    pub(super) fn gaps(&self) -> Gaps {
        match self {
            Day::OfficeDay(day) => day.gaps,
            Day::Diurnal(day) => day.gaps,
            Day::Hours { gaps, .. } => *gaps,
        }
    }

    fn highest(&self) -> f64 {
        match self {
            Day::OfficeDay(day) => day.peak_per_second.max(day.night_per_second),
            Day::Diurnal(day) => day.high_per_second,
            Day::Hours { per_second, .. } => per_second.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl Weekly {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        match &self.day {
            Day::OfficeDay(day) => day.check(problems, &format!("{path}.day.office_day")),
            Day::Diurnal(day) => day.check(problems, &format!("{path}.day.diurnal")),
            Day::Hours { per_second, gaps } => {
                check_hours(per_second, problems, &format!("{path}.day.hours.per_second"));
                gaps.check(problems, &format!("{path}.day.hours.gaps"));
            }
        }
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        for (name, factor) in names.into_iter().zip(self.factors.all()) {
            // Written so that a NaN is refused.
            if !(factor >= 0.0 && factor * self.day.highest() <= PER_SECOND_MAX) {
                let message = format!("must be 0 or more and give at most {PER_SECOND_MAX} per second, is {factor}");
                problems.add(format!("{path}.factors.{name}"), message);
            }
        }
    }
}
