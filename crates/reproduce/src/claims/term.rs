use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_analysis::Estimate;

use crate::interval::Interval;
use crate::text::number;

/// Half-width of a 90 % interval of a normal distribution, in standard deviations.
const HALF_OF_90: f64 = 1.645;

/// One number by which a claim is judged.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Term {
    /// Name of the number.
    pub name: String,
    /// Value of the number.
    pub value: f64,
    /// Lower end of the interval; the number itself if it is exact.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Term {
    pub(crate) fn new(name: impl Into<String>, number: Interval) -> Term {
        Term {
            name: name.into(),
            value: number.estimate,
            low: number.low,
            high: number.high,
        }
    }

    pub(crate) fn interval(&self) -> Interval {
        Interval::new(self.value, self.low, self.high)
    }

    /// Returns true if the number has no interval, such as a count.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Widens the interval, so that the intervals of `many` numbers together have the confidence of
    /// one (Bonferroni). An interval above 0 is widened on a logarithmic scale.
    #[must_use]
    pub fn among(&self, many: usize) -> Term {
        Term::new(&self.name, crate::interval::among(self.interval(), many))
    }

    /// Widens the interval by the differences between results. `spread` is their standard
    /// deviation, of logarithms if the interval lies above 0.
    #[must_use]
    pub fn with_spread(&self, spread: f64) -> Term {
        let widened = |distance: f64| distance.hypot(HALF_OF_90 * spread);
        let (low, high) = if self.low > 0.0 {
            let [below, above] = [self.value / self.low, self.high / self.value];
            (
                self.value / widened(below.ln()).exp(),
                self.value * widened(above.ln()).exp(),
            )
        } else {
            (
                self.value - widened(self.value - self.low),
                self.value + widened(self.high - self.value),
            )
        };
        Term {
            low,
            high,
            ..self.clone()
        }
    }

    /// Formats the ends of the number's interval.
    pub fn interval_words(&self) -> String {
        format!("{} to {}", number(self.low), number(self.high))
    }

    /// Formats the number with its interval.
    pub(crate) fn value_words(&self) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(number);
        if low == value && high == value {
            value
        } else {
            format!("{value} ({})", self.interval_words())
        }
    }

    /// Formats the number with its name and interval.
    pub fn words(&self) -> String {
        if self.name.is_empty() {
            self.value_words()
        } else {
            // Names of ratios have "over", which may also mean "above".
            format!(
                "{}: {}",
                self.name.replace(" over ", " / "),
                self.value_words()
            )
        }
    }
}

/// Returns how much a number differs between results beyond its intervals, as a standard deviation:
/// the root of the variance of the values minus the mean variance of the intervals. If all
/// intervals lie above 0, logarithms are used. The standard deviation of a single result is 0.
pub(super) fn spread(results: &[&Term]) -> f64 {
    let is_ratio = results.iter().all(|term| term.low > 0.0);
    let scaled = |number: f64| if is_ratio { number.ln() } else { number };
    let n = results.len() as f64;
    let mean = results.iter().map(|term| scaled(term.value)).sum::<f64>() / n;
    let between = |term: &&Term| (scaled(term.value) - mean).powi(2) / (n - 1.0);
    let own = |term: &&Term| {
        let half = (scaled(term.high) - scaled(term.low)) / 2.0;
        (half / HALF_OF_90).powi(2) / n
    };
    let more = results.iter().map(between).sum::<f64>() - results.iter().map(own).sum::<f64>();
    // For a single result the value is NaN, which becomes 0.
    more.max(0.0).sqrt()
}

/// Creates a number without an interval, such as a count.
pub(crate) fn exact(name: impl Into<String>, value: f64) -> Term {
    Term::new(name, Interval::exact(value))
}

/// Creates a number that depends on free parameters: the value for the usual parameters, with the
/// range over all parameters as interval.
pub(crate) fn ranged(name: impl Into<String>, usual: f64, all: impl Iterator<Item = f64>) -> Term {
    let (low, high) = all.fold((usual, usual), |(low, high), one| {
        (low.min(one), high.max(one))
    });
    Term::new(name, Interval::new(usual, low, high))
}

/// Creates the ratio of two estimates. Its interval covers the ratio if both estimates' intervals
/// cover their values.
pub(crate) fn ratio(
    name: impl Into<String>,
    above: impl Into<Interval>,
    below: impl Into<Interval>,
) -> Term {
    Term::new(name, above.into() / below.into())
}

/// Creates the ratio of two cases of one run with the same mechanism and number of tasks.
/// Differences between runs cancel in this ratio.
pub(crate) fn ratio_within_run(
    name: impl Into<String>,
    above: &Estimate,
    below: &Estimate,
) -> Term {
    ratio(
        name,
        above.estimate_within_run(),
        below.estimate_within_run(),
    )
}

/// The numbers of a claim at one setting of its open parameters.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// Numbers at the setting, each with its own interval.
    pub terms: Vec<Term>,
}

/// The numbers found for a claim, with a note.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Numbers, with the range over all settings as interval if there are several.
    pub(crate) terms: Vec<Term>,
    /// The numbers at each setting of open parameters, the usual setting first; empty without open
    /// parameters.
    pub(crate) settings: Vec<Setting>,
    /// Note on the costs that a ratio is computed from, or on the number of trials; empty if there
    /// is none.
    pub(crate) note: String,
}

impl Found {
    pub(crate) fn new(terms: Vec<Term>, note: impl Into<String>) -> Found {
        Found {
            terms,
            settings: Vec::new(),
            note: note.into(),
        }
    }

    pub(crate) fn number(term: Term, note: impl Into<String>) -> Found {
        Found::new(vec![term], note)
    }

    /// Creates the numbers of a claim that is judged at several settings, the usual one first. All
    /// settings have the same numbers.
    pub(crate) fn over(settings: Vec<Setting>, note: impl Into<String>) -> Found {
        let mut terms = settings[0].terms.clone();
        for (place, term) in terms.iter_mut().enumerate() {
            for at in settings.iter().map(|setting| &setting.terms[place]) {
                (term.low, term.high) = (term.low.min(at.low), term.high.max(at.high));
            }
        }
        Found {
            settings,
            ..Found::new(terms, note)
        }
    }

    /// Returns the settings at which the number at `place` is smallest and largest, such as
    /// `physical tags 0.830, stores allocate 1.07`; `None` without settings.
    pub(super) fn extremes(&self, place: usize) -> Option<String> {
        let at = |setting: &Setting| setting.terms[place].value;
        let order = |a: &&Setting, b: &&Setting| at(a).total_cmp(&at(b));
        let (least, most) = self
            .settings
            .iter()
            .min_by(order)
            .zip(self.settings.iter().max_by(order))?;
        let words = |setting: &Setting| {
            let name = setting.name.replace('-', " ");
            format!("{name} {}", number(at(setting)))
        };
        Some(format!("{}, {}", words(least), words(most)))
    }

    pub(crate) fn words(&self) -> String {
        let mut parts: Vec<String> = self.terms.iter().map(Term::words).collect();
        parts.extend((!self.note.is_empty()).then(|| self.note.clone()));
        parts.join("; ")
    }
}
