//! Multiplies the scores of a text query by dates and numbers of the resources. It knows no words.
//!
//! Only multiplications, divisions and additions are used, whose results are the same on every machine.

use super::order::{KeySource, Sorter};
use super::text_search::TextSearch;
use crate::period::{millis_of_day, parse_day};
use crate::query::SortKey;
use crate::text_query::{Boost, Curve};
use crate::value::{integer_of_rank, number_of_rank};

const DAY_MILLIS: f64 = 86_400_000.0;
/// The greatest value of a number by its logarithm.
const MAX_LOGARITHM: f64 = 20.0;
/// The number of terms of a series. The next one is smaller than the rounding error of the sum.
const TERMS: u32 = 18;

/// The boosts of a text query, with the sources of their values.
pub(super) struct Boosts<'a>(Vec<(Sorter<'a>, Boost)>);

impl<'a> TextSearch<'a> {
    /// Returns the boosts; `None` if there are none.
    pub(super) fn boosts(&self) -> Option<Boosts<'a>> {
        let of = |boost: &Boost| {
            let key = SortKey { by: boost.by, descending: false };
            (Sorter::new(self.context, self.version, self.variant, &[key], self.interrupt), *boost)
        };
        (!self.query.boosts.is_empty()).then(|| Boosts(self.query.boosts.iter().map(of).collect()))
    }
}

impl Boosts<'_> {
    /// Returns the factor for the score of a slot.
    pub(super) fn of(&self, slot: u32) -> f32 {
        let factor = |(sorter, boost): &(Sorter<'_>, Boost)| 1.0 + boost.weight * value(sorter, boost.curve, slot);
        self.0.iter().map(factor).product::<f64>() as f32
    }

    /// Returns an upper bound of the factors.
    pub(super) fn most(&self) -> f32 {
        let most = |(_, boost): &(Sorter<'_>, Boost)| match boost.curve {
            Curve::Logarithm => 1.0 + boost.weight * MAX_LOGARITHM,
            Curve::Recency { .. } | Curve::Range { .. } => 1.0 + boost.weight,
        };
        // Rounding errors are smaller than this.
        (self.0.iter().map(most).product::<f64>() * 1.001) as f32
    }
}

/// Returns the value of a curve for a slot, 0 if it has no date or number.
fn value(sorter: &Sorter<'_>, curve: Curve, slot: u32) -> f64 {
    let Some(key) = sorter.keys.first() else { return 0.0 };
    let millis = match key.source {
        KeySource::Text(of) => of.value(slot).sort_text().and_then(|text| parse_day(&text)).map(millis_of_day),
        _ if sorter.is_null(key, slot) => None,
        KeySource::Date(_) => Some(integer_of_rank(sorter.rank(key, slot))),
        KeySource::Rank(_) => Some(integer_of_rank(sorter.rank(key, slot)).div_euclid(1_000)),
    };
    let number = || match key.source {
        KeySource::Rank(_) if !sorter.is_null(key, slot) => Some(number_of_rank(sorter.rank(key, slot))),
        _ => None,
    };
    match curve {
        Curve::Recency { now, half_life_days } => {
            millis.map_or(0.0, |at| halved((now.saturating_sub(at).max(0)) as f64 / DAY_MILLIS / half_life_days))
        }
        Curve::Logarithm => number().map_or(0.0, |number| logarithm(1.0 + number.max(0.0)).min(MAX_LOGARITHM)),
        Curve::Range { from, to } => number().map_or(0.0, |number| ((number - from) / (to - from)).clamp(0.0, 1.0)),
    }
}

/// Returns 1 halved this many times.
fn halved(times: f64) -> f64 {
    if times > 1_000.0 {
        return 0.0;
    }
    let whole = times.floor();
    let exponent = -(times - whole) * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for number in 1..TERMS {
        term = term * exponent / f64::from(number);
        sum += term;
    }
    // Exact, since it is a power of 2.
    (0..whole as u32).fold(sum, |value, _| value * 0.5)
}

/// Returns the natural logarithm of a number from 1 on.
fn logarithm(number: f64) -> f64 {
    if !number.is_finite() {
        return MAX_LOGARITHM;
    }
    let bits = number.to_bits();
    let exponent = f64::from((bits >> 52) as i32 - 1_023);
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1_023 << 52);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum) = (ratio, 0.0);
    for number in 0..TERMS {
        sum += power / f64::from(2 * number + 1);
        power *= ratio * ratio;
    }
    exponent * std::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_agree_with_the_functions_of_the_platform() {
        for number in [1.0_f64, 1.5, 2.0, 3.0, 10.0, 12_345.678, 1e9, 1e300] {
            let difference = (logarithm(number) - number.ln()).abs();
            assert!(difference < 1e-12 * number.ln().max(1.0), "{number}: {difference}");
        }
        for times in [0.0_f64, 0.25, 0.999, 1.0, 1.5, 7.3, 100.0] {
            let expected = (-times).exp2();
            assert!((halved(times) - expected).abs() < 1e-14 * expected.max(1e-3), "{times}");
        }
        assert_eq!(halved(1e9).to_bits(), 0);
    }
}
