use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Term;
use crate::text::number;

/// Range of numbers that meet a claim, without its ends; an end may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// All numbers must lie in the range. For an order or a trend the numbers are ratios, and one
    /// end is 1.
    Every(
        #[serde(with = "ends")]
        #[schemars(with = "[Option<f64>; 2]")]
        [f64; 2],
    ),
    /// At least one number must lie in the range.
    Some(
        #[serde(with = "ends")]
        #[schemars(with = "[Option<f64>; 2]")]
        [f64; 2],
    ),
}

/// Verdict of a claim's rule on the intervals of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All values within the intervals meet the rule.
    Holds,
    /// No value within the intervals meets the rule.
    Differs,
    /// The intervals allow both outcomes, or a number is missing.
    Inconclusive,
    /// The machine has no counter of the numbers. The claim is not counted.
    NotMeasured,
}

impl Verdict {
    /// Returns true if the claim is met or not met.
    pub fn is_decided(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::Differs)
    }
}

/// Returns a rule that any number meets.
impl Default for Rule {
    fn default() -> Rule {
        Rule::Every([f64::NEG_INFINITY, f64::INFINITY])
    }
}

impl Rule {
    /// Returns the verdict of the rule on numbers with intervals; inconclusive without numbers.
    pub fn judge(&self, terms: &[Term]) -> Verdict {
        let (range, all) = match self {
            Rule::Every(range) => (range, true),
            Rule::Some(range) => (range, false),
        };
        let is_in = |term: &Term| range[0] < term.low && term.high < range[1];
        let is_out = |term: &Term| term.high <= range[0] || range[1] <= term.low;
        let (holds, differs) = if all {
            (terms.iter().all(is_in), terms.iter().any(is_out))
        } else {
            (terms.iter().any(is_in), terms.iter().all(is_out))
        };
        match (terms.is_empty(), holds, differs) {
            (false, true, _) => Verdict::Holds,
            (false, _, true) => Verdict::Differs,
            _ => Verdict::Inconclusive,
        }
    }

    /// Returns the verdict of the rule on numbers whose intervals are statistical. One number
    /// outside the range is enough for `every` to fail, and one inside for `some` to be met. Among
    /// many numbers this happens more often by chance, so their intervals are widened.
    pub fn judge_noisy(&self, terms: &[Term]) -> Verdict {
        let widened: Vec<Term> = terms.iter().map(|term| term.among(terms.len())).collect();
        let by_one = match self {
            Rule::Every(_) => Verdict::Differs,
            Rule::Some(_) => Verdict::Holds,
        };
        match self.judge(terms) {
            verdict if verdict == by_one => self.judge(&widened),
            verdict => verdict,
        }
    }

    /// Formats the rule, such as `every number between 1.00 and 2.00`.
    pub fn words(&self) -> String {
        let (who, [low, high]) = match self {
            Rule::Every(range) => ("every number", range),
            Rule::Some(range) => ("at least one number", range),
        };
        match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("{who} between {} and {}", number(*low), number(*high)),
            (true, false) => format!("{who} above {}", number(*low)),
            (false, true) => format!("{who} below {}", number(*high)),
            (false, false) => "none".to_owned(),
        }
    }

    /// Inserts the ends of the range into a condition: at `{low}` and `{high}` as numbers, and at
    /// `{low%}` and `{high%}` as percentages.
    pub fn complete(&self, condition: &str) -> String {
        let (Rule::Every([low, high]) | Rule::Some([low, high])) = *self;
        let percent = |end: f64| format!("{} %", (end * 100.0).round());
        condition
            .replace("{low}", &low.to_string())
            .replace("{high}", &high.to_string())
            .replace("{low%}", &percent(low))
            .replace("{high%}", &percent(high))
    }
}

/// Serializes infinite ends of a range as null, because JSON has no infinite numbers.
mod ends {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        ends: &[f64; 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        ends.map(|end| end.is_finite().then_some(end))
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[f64; 2], D::Error> {
        let [low, high] = <[Option<f64>; 2]>::deserialize(deserializer)?;
        Ok([
            low.unwrap_or(f64::NEG_INFINITY),
            high.unwrap_or(f64::INFINITY),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    fn term(low: f64, high: f64) -> Term {
        Term::new("", Interval::new(f64::midpoint(low, high), low, high))
    }

    #[test]
    fn what_an_interval_leaves_open_is_not_reported() {
        let verdict = |low, high| Rule::Every([1.5, 3.0]).judge(&[term(low, high)]);
        assert_eq!(verdict(1.6, 2.9), Verdict::Holds);
        for (low, high) in [(3.0, 9.0), (0.9, 1.4), (0.9, 1.5)] {
            assert_eq!(verdict(low, high), Verdict::Differs);
        }
        for (low, high) in [
            (1.0, 2.0),
            (2.0, 4.0),
            (1.0, 4.0),
            (f64::NAN, 2.0),
            (1.5, 2.0),
        ] {
            assert_eq!(verdict(low, high), Verdict::Inconclusive, "{low} {high}");
        }
    }

    #[test]
    fn one_number_decides_where_all_have_to_meet_it_or_where_one_has_to() {
        let (inside, outside, open) = (term(2.0, 2.0), term(0.5, 0.6), term(0.5, 2.0));
        let every = |terms: &[Term]| Rule::Every([1.0, f64::INFINITY]).judge(terms);
        let some = |terms: &[Term]| Rule::Some([1.0, f64::INFINITY]).judge(terms);
        use Verdict::{Differs, Holds, Inconclusive};
        let rows: [(&[&Term], Verdict, Verdict); 6] = [
            (&[&inside, &inside], Holds, Holds),
            (&[&inside, &outside], Differs, Holds),
            (&[&inside, &open], Inconclusive, Holds),
            (&[&outside, &open], Differs, Inconclusive),
            (&[&outside], Differs, Differs),
            (&[], Inconclusive, Inconclusive),
        ];
        for (terms, of_every, of_some) in rows {
            let terms: Vec<Term> = terms.iter().map(|term| (*term).clone()).collect();
            assert_eq!(
                (every(&terms), some(&terms)),
                (of_every, of_some),
                "{terms:?}"
            );
        }
    }

    /// Among 20 numbers that all meet the rule, one 90 % interval lies entirely above 1 by chance.
    #[test]
    fn one_of_many_decides_only_with_an_interval_for_many() {
        let (inside, just_outside, outside) = (term(0.8, 0.9), term(1.01, 1.21), term(1.9, 2.1));
        let of = |last: &Term, many: usize| {
            [vec![inside.clone(); many - 1], vec![last.clone()]].concat()
        };
        let (below, above) = (
            Rule::Every([f64::NEG_INFINITY, 1.0]),
            Rule::Some([1.0, f64::INFINITY]),
        );
        for (last, many, of_below, of_above) in [
            (&just_outside, 1, Verdict::Differs, Verdict::Holds),
            (
                &just_outside,
                20,
                Verdict::Inconclusive,
                Verdict::Inconclusive,
            ),
            (&outside, 20, Verdict::Differs, Verdict::Holds),
        ] {
            let terms = of(last, many);
            let found = (below.judge_noisy(&terms), above.judge_noisy(&terms));
            assert_eq!(found, (of_below, of_above), "{many}: {last:?}");
        }
        // All numbers must be inside, which is no less certain for many.
        assert_eq!(
            below.judge_noisy(&[inside.clone(), term(0.8, 0.999)]),
            Verdict::Holds
        );
    }

    #[test]
    fn rules_say_themselves() {
        for (rule, words) in [
            (
                Rule::Every([1.5, 3.0]),
                "every number between 1.50 and 3.00",
            ),
            (
                Rule::Every([f64::NEG_INFINITY, 0.0]),
                "every number below 0",
            ),
            (
                Rule::Some([1.0, f64::INFINITY]),
                "at least one number above 1.00",
            ),
        ] {
            assert_eq!(rule.words(), words);
        }
    }

    #[test]
    fn a_condition_has_the_ends_of_the_range() {
        for (rule, condition, complete) in [
            (
                Rule::Every([0.99, 1.01]),
                "{low} to {high} times",
                "0.99 to 1.01 times",
            ),
            (
                Rule::Every([f64::NEG_INFINITY, 0.2]),
                "below {high%}",
                "below 20 %",
            ),
            (
                Rule::Some([100.0, f64::INFINITY]),
                "above {low} us",
                "above 100 us",
            ),
            (
                Rule::Every([-0.05, 0.05]),
                "{low%} to {high%}",
                "-5 % to 5 %",
            ),
        ] {
            assert_eq!(rule.complete(condition), complete);
        }
    }
}
