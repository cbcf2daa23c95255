//! Sums of numbers without intermediate rounding, so that a sum depends neither on the order of its numbers nor on
//! where they are stored. It knows no columns.

/// The number of bits in a double's significand, without the implicit first one.
const FRACTION_BITS: u32 = 52;
/// The number of exponents of a double, including the special last one.
const EXPONENTS: usize = 2_048;
/// The number of bits after the binary point: the smallest double is 2^-1074.
const POINT: u32 = 1_074;
/// The number of limbs: enough for the sum of 2^64 doubles.
const LIMBS: usize = 36;

/// A sum that is being computed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExactSum {
    /// The sum of the integers.
    whole: i128,
    /// The sums of the significands of the other numbers, by exponent. Empty until there is one.
    by_exponent: Vec<i128>,
}

impl ExactSum {
    /// Adds a number. It must be finite.
    #[inline]
    pub(crate) fn add(&mut self, number: f64) {
        let whole = number as i64;
        if whole as f64 == number && whole != i64::MAX {
            self.whole += i128::from(whole);
            return;
        }
        if self.by_exponent.is_empty() {
            self.by_exponent = vec![0; EXPONENTS];
        }
        let bits = number.to_bits();
        let exponent = (bits >> FRACTION_BITS) as usize % EXPONENTS;
        let fraction = (bits & ((1 << FRACTION_BITS) - 1)) as i128;
        // Subnormal numbers have the exponent of the smallest normal ones, and no implicit first bit.
        let significand = if exponent == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
        self.by_exponent[exponent.max(1)] += if number < 0.0 { -significand } else { significand };
    }

    /// Adds the numbers of another sum.
    pub(crate) fn merge(&mut self, other: &ExactSum) {
        self.whole += other.whole;
        if self.by_exponent.is_empty() {
            self.by_exponent.clone_from(&other.by_exponent);
        } else {
            self.by_exponent.iter_mut().zip(&other.by_exponent).for_each(|(sum, other)| *sum += other);
        }
    }

    /// Returns the double that is nearest to the sum; of two equally near ones, the one with an even significand.
    pub(crate) fn rounded(&self) -> f64 {
        let mut limbs = [0u64; LIMBS];
        add_shifted(&mut limbs, self.whole, POINT);
        for (exponent, &sum) in (0u32..).zip(&self.by_exponent).filter(|(_, sum)| **sum != 0) {
            add_shifted(&mut limbs, sum, exponent - 1);
        }
        let is_negative = limbs[LIMBS - 1] >> 63 == 1;
        if is_negative {
            negate(&mut limbs);
        }
        let magnitude = to_double(&limbs);
        if is_negative { -magnitude } else { magnitude }
    }
}

/// Adds a number times 2^`shift` to a number in two's complement.
fn add_shifted(limbs: &mut [u64; LIMBS], number: i128, shift: u32) {
    let (first, bits) = (shift as usize / 64, shift % 64);
    let low = (number as u128) << bits;
    let high = if bits == 0 { number >> 127 } else { number >> (128 - bits) };
    let sign = (number >> 127) as u64;
    let mut carry = false;
    for (index, limb) in limbs[first..].iter_mut().enumerate() {
        let added = match index {
            0 => low as u64,
            1 => (low >> 64) as u64,
            2 => high as u64,
            _ => sign,
        };
        let (sum, over) = limb.overflowing_add(added);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        (*limb, carry) = (sum, over || over_again);
    }
}

fn negate(limbs: &mut [u64; LIMBS]) {
    let mut carry = true;
    for limb in limbs {
        let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
        (*limb, carry) = (sum, over);
    }
}

/// Returns the double nearest to a number, which counts smallest doubles.
fn to_double(limbs: &[u64; LIMBS]) -> f64 {
    let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
    let highest = top as u32 * 64 + 63 - limbs[top].leading_zeros();
    let bit = |at: u32| limbs[at as usize / 64] >> (at % 64) & 1;
    if highest <= FRACTION_BITS {
        // The bits of a subnormal double are a count of smallest doubles.
        return f64::from_bits(limbs[0]);
    }
    let shift = highest - FRACTION_BITS;
    let significand = (shift..=highest).rev().fold(0, |bits: u64, at| bits << 1 | bit(at));
    let below = shift - 1;
    let is_beyond_half = (0..below).any(|at| bit(at) == 1);
    let rounds_up = bit(below) == 1 && (is_beyond_half || significand & 1 == 1);
    // If rounding overflows the significand, the carry goes into the exponent, which gives the right result.
    let bits = (u64::from(shift + 1) << FRACTION_BITS) + (significand - (1 << FRACTION_BITS)) + u64::from(rounds_up);
    f64::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(numbers: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        numbers.iter().for_each(|&number| sum.add(number));
        sum.rounded()
    }

    #[test]
    fn sums_are_rounded_once() {
        let tiny = f64::from_bits(1);
        for (numbers, expected) in [
            (&[][..], 0.0),
            (&[0.1; 10], 1.0),
            (&[1e15, 0.3, -1e15], 0.3),
            (&[0.1, 0.2], 0.1 + 0.2),
            (&[9_007_199_254_740_991.0, 1.5], 9_007_199_254_740_992.0),
            (&[9_007_199_254_740_991.0, 2.0], 9_007_199_254_740_992.0),
            (&[9_007_199_254_740_991.0, 2.0, tiny], 9_007_199_254_740_994.0),
            (&[-2.5, -0.25], -2.75),
            (&[tiny, tiny], 2.0 * tiny),
            (&[1.0, tiny, -1.0], tiny),
            (&[2.0f64.powi(-1_022), -tiny], 2.0f64.powi(-1_022) - tiny),
            (&[1e300, 1e284, 1e300], 2e300),
        ] {
            assert_eq!(sum(numbers).to_bits(), f64::to_bits(expected), "{numbers:?}");
        }
    }

    proptest! {
        #[test]
        fn the_sum_of_two_is_that_of_the_processor(left in -1e300f64..1e300, right in -1e300f64..1e300, scale in -300i32..0) {
            let right = right * 10f64.powi(scale);
            prop_assert_eq!(sum(&[left, right]), left + right);
            prop_assert_eq!(sum(&[left, right, -left]), right);
        }

        #[test]
        fn the_order_of_numbers_does_not_count(numbers in prop::collection::vec(-1e9f64..1e9, 0..40), at in 0usize..40) {
            let (first, second) = numbers.split_at(at.min(numbers.len()));
            let (mut left, mut right) = (ExactSum::default(), ExactSum::default());
            first.iter().rev().for_each(|&number| left.add(number));
            second.iter().rev().for_each(|&number| right.add(number));
            right.merge(&left);
            prop_assert_eq!(right.rounded(), sum(&numbers));
        }
    }
}
