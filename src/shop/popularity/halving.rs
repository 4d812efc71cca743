//! How many halvings of all scores can be made at once, exactly.
//!
//! A clock that jumps a week ahead, or a gap in a trace, is two thousand halvings, and each costs
//! O(items). Halving n times is multiplying by 2⁻ⁿ, and exactly so in binary floating point, as
//! long as results stay normal numbers (2⁻¹⁰²² and above). Below that each halving rounds, and n
//! roundings are not one: 5 units of the last place become 2, 1, 0 in three halvings, but 1 when
//! divided by 8 at once. From 2⁻¹⁰⁷⁶ down both ways give zero.
//!
//! So n halvings are made at once only when no score would end between these bounds, which one
//! look tells. Where some would, the step is made shorter, down to single halvings, which are
//! exact by definition. A score passes the band in 54 halvings, so a gap of any length costs a
//! bounded number of steps: after some 1,100 halvings without a view every score is zero and stays
//! so.

use crate::backend::cmd::Edge;
use crate::backend::{Backend, cmd};
use crate::error::Result;

/// The width of the band in which halvings round, in halvings.
const BAND: u64 = 54;

/// The most halvings in one step; 2 to the minus this is a normal number with room to spare.
const LONGEST_STEP: u64 = 900;

/// The largest number of halvings up to `left`, of those tried, that give the same at once as one
/// by one for the scores in `key`. One look, two commands in a round trip, for each number tried.
pub(super) async fn exact_step<B: Backend>(backend: &B, key: &[u8], left: u64) -> Result<u64> {
    if left > LONGEST_STEP && !any_between(backend, key, i32::MIN, i32::MAX).await? {
        return Ok(left); // nothing but zeros
    }
    let mut step = left.min(LONGEST_STEP);
    while step > 1 {
        let n = step as i32;
        if !any_between(backend, key, n - 1076, n - 1022).await? {
            return Ok(step);
        }
        step = step.saturating_sub(BAND);
    }
    Ok(1)
}

/// What a score is multiplied by to be halved so many times.
pub(super) fn weight(halvings: u64) -> f64 {
    power(-(halvings.min(LONGEST_STEP) as i32))
}

/// Whether any score lies between these powers of two, without their signs and ends.
async fn any_between<B: Backend>(backend: &B, key: &[u8], from: i32, to: i32) -> Result<bool> {
    let (from, to) = (power(from), power(to));
    let range = |a: f64, b: f64| cmd::zcount(key, Edge::Past(a.into()), Edge::Past(b.into()));
    let (below_zero, above) = backend.pipeline((range(-to, -from), range(from, to))).await?;
    Ok(below_zero + above > 0)
}

/// 2 to the power `n`, exactly; zero below the smallest number, infinity above the largest.
fn power(n: i32) -> f64 {
    f64::from_bits(match n {
        1024.. => return f64::INFINITY,
        -1022.. => ((n + 1023) as u64) << 52,
        -1074..-1022 => 1 << (n + 1074),
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::{Memory, Wait};
    use crate::shop::{Keys, Popularity};

    /// What a sorted set with these scores holds after so many halvings, at once and one by one.
    fn both_ways(scores: &[f64], times: u64) -> [Vec<u64>; 2] {
        [true, false].map(|at_once| {
            let memory = Memory::new();
            let popularity = Popularity::new(memory.clone(), Keys::new());
            let key = &*Keys::new().viewed();
            for (i, score) in scores.iter().enumerate() {
                memory.run(cmd::zadd(key, *score, i.to_string().as_bytes())).wait().unwrap();
            }
            if at_once {
                popularity.rescale(times).wait().unwrap();
            } else {
                for _ in 0..times {
                    popularity.rescale(1).wait().unwrap();
                }
            }
            let members: Vec<String> = (0..scores.len()).map(|i| i.to_string()).collect();
            let ask = cmd::zmscore(key, members.iter().map(String::as_str));
            let now = memory.run(ask).wait().unwrap();
            now.into_iter().map(|s| s.unwrap().to_bits()).collect()
        })
    }

    #[test]
    fn rounding_below_the_normal_numbers_is_that_of_single_halvings() {
        // 5 units of the last place: 2, 1, 0 by halves, but 1 when divided by 8.
        for five in [-5.0, 5.0].map(|five| five * f64::from_bits(1)) {
            assert_eq!(five / 8.0, f64::from_bits(1).copysign(five));
            let [at_once, one_by_one] = both_ways(&[five], 3);
            assert_eq!(at_once, one_by_one);
            assert_eq!(f64::from_bits(at_once[0]), 0.0);
        }
    }

    #[test]
    fn a_gap_of_years_ends_at_zero_in_few_steps() {
        let memory = Memory::new();
        let popularity = Popularity::new(memory.clone(), Keys::new());
        let key = &*Keys::new().viewed();
        memory.run(cmd::zadd(key, -26, b"item")).wait().unwrap();
        popularity.rescale(1_000_000_000).wait().unwrap();
        assert_eq!(memory.run(cmd::zscore(key, b"item")).wait().unwrap(), Some(0.0));
        assert!(memory.stats().commands < 500, "{:?}", memory.stats());
    }

    #[test]
    fn powers_of_two_are_exact() {
        assert_eq!([1.0, 8.0, 0.25], [0, 3, -2].map(power));
        assert_eq!(power(-1022), f64::MIN_POSITIVE);
        assert_eq!([power(-1023), power(-1074)], [f64::MIN_POSITIVE / 2.0, f64::from_bits(1)]);
        assert_eq!([power(-1075), power(i32::MIN)], [0.0, 0.0]);
        assert_eq!([power(1024), power(i32::MAX)], [f64::INFINITY; 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn many_halvings_at_once_are_exact(
            scores in prop::collection::vec((1_u32..2_000_000, 0_i32..1_060), 1..8),
            times in 1_u64..1_300,
        ) {
            let halved = |n: u32, by: i32| -f64::from(n) * power(-by / 2) * power(-by + by / 2);
            let scores: Vec<f64> = scores.iter().map(|&(n, by)| halved(n, by)).collect();
            let [at_once, one_by_one] = both_ways(&scores, times);
            prop_assert_eq!(at_once, one_by_one);
        }
    }
}
