//! Time and randomness: the only file that reads a clock or entropy.
//!
//! Everything above takes both from an [`Env`]. With a manual clock *everything* that depends on
//! time follows it; with a seed, everything random is the same in every run. Clones share the
//! clock and the random stream.
//!
//! Invariants: a manual clock moves only when told to, and never because time passes; two `Env`s
//! made with the same start and seed give the same sequence of times and numbers.

#![allow(clippy::disallowed_methods, reason = "the one file that may")]

mod sleep;
mod wait;

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

pub use sleep::Sleep;
use sleep::Sleepers;
pub use wait::{Wait, wait};

/// A point in time: microseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// From microseconds since the epoch.
    pub const fn from_micros(us: i64) -> Self {
        Self(us)
    }

    /// From milliseconds since the epoch, saturating.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// From seconds since the epoch, saturating.
    pub const fn from_secs(s: i64) -> Self {
        Self(s.saturating_mul(1_000_000))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Whole seconds since the epoch.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Seconds since the epoch with their fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.as_secs(), self.0.rem_euclid(1_000_000))
    }
}

/// Where time and randomness come from. Cheap to clone; clones share both.
///
/// ```
/// use std::time::Duration;
/// use stockroom::{Env, Timestamp};
///
/// let env = Env::manual(Timestamp::from_secs(1_000), 42);
/// env.advance(Duration::from_secs(5));
/// assert_eq!(env.now(), Timestamp::from_secs(1_005));
/// ```
#[derive(Clone, Debug)]
pub struct Env {
    clock: Clock,
    random: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
enum Clock {
    System,
    Manual(Arc<ManualClock>),
}

/// A clock that stands until it is moved, and who waits for it.
#[derive(Debug)]
struct ManualClock {
    us: AtomicI64,
    sleepers: Mutex<Sleepers<Timestamp>>,
}

impl ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.us.load(Ordering::Acquire))
    }

    /// Wakes those whose time has come.
    fn moved(&self) {
        let due = self.sleepers.lock().take_due(self.now());
        due.into_iter().for_each(std::task::Waker::wake);
    }
}

impl Env {
    /// The machine's clock, and randomness seeded from the operating system.
    pub fn system() -> Self {
        Self { clock: Clock::System, random: Arc::new(AtomicU64::new(entropy())) }
    }

    /// A clock that stands at `start` until it is moved, and randomness from `seed`.
    pub fn manual(start: Timestamp, seed: u64) -> Self {
        Self {
            clock: Clock::Manual(Arc::new(ManualClock {
                us: AtomicI64::new(start.0),
                sleepers: Mutex::default(),
            })),
            random: Arc::new(AtomicU64::new(seed)),
        }
    }

    /// This clock with randomness of its own, from `seed`.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Self { clock: self.clock.clone(), random: Arc::new(AtomicU64::new(seed)) }
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Timestamp {
        match &self.clock {
            Clock::System => Timestamp(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX)),
            ),
            Clock::Manual(clock) => clock.now(),
        }
    }

    /// The time since some fixed point, which does not go back when the machine's clock is set:
    /// what leases are counted by. With a manual clock that is the manual clock.
    pub fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        match &self.clock {
            Clock::System => START.get_or_init(Instant::now).elapsed(),
            Clock::Manual(clock) => Duration::from_micros(clock.now().0.max(0) as u64),
        }
    }

    /// Whether time moves only by [`advance`](Self::advance) and [`set`](Self::set).
    pub fn is_manual(&self) -> bool {
        matches!(self.clock, Clock::Manual(_))
    }

    /// Moves a manual clock on by `d`. A system clock is left alone.
    pub fn advance(&self, d: Duration) {
        if let Clock::Manual(clock) = &self.clock {
            let d = i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
            let step = |now: i64| Some(now.saturating_add(d));
            let _ = clock.us.fetch_update(Ordering::AcqRel, Ordering::Acquire, step);
            clock.moved();
        }
    }

    /// Puts a manual clock to `t`, also back. A system clock is left alone.
    pub fn set(&self, t: Timestamp) {
        if let Clock::Manual(clock) = &self.clock {
            clock.us.store(t.0, Ordering::Release);
            clock.moved();
        }
    }

    /// Waits for `d` on this clock. On a manual clock that is until somebody moves it on by `d`.
    pub fn sleep(&self, d: Duration) -> Sleep {
        match &self.clock {
            Clock::System => Sleep::monotonic(d),
            Clock::Manual(clock) => Sleep::manual(clock.now() + d, Arc::clone(clock)),
        }
    }

    /// Waits until the clock shows `t`. A machine's clock that is set meanwhile is not noticed.
    pub fn sleep_until(&self, t: Timestamp) -> Sleep {
        match &self.clock {
            Clock::System => Sleep::monotonic(t.since(self.now())),
            Clock::Manual(clock) => Sleep::manual(t, Arc::clone(clock)),
        }
    }

    /// When the next sleeper on a manual clock is to be woken: where to move the clock so that
    /// something happens.
    pub fn next_wake(&self) -> Option<Timestamp> {
        match &self.clock {
            Clock::System => None,
            Clock::Manual(clock) => clock.sleepers.lock().next(),
        }
    }

    /// The next 64 random bits (SplitMix64: every seed gives a full-period stream).
    pub fn random(&self) -> u64 {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        mix(self.random.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA))
    }

    /// A random number below `bound`, each equally likely; 0 when `bound` is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Lemire's method: the high half of a product, without the biased remainder.
        loop {
            let wide = u128::from(self.random()) * u128::from(bound);
            if wide as u64 >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.random().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::system()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn entropy() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        // No entropy source: the clock at least differs between runs.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
    })
}

/// Measures how long something took, by the monotonic clock. For reports and deadlines of real
/// waiting, never for what the engine stores.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_stream_and_clones_share_it() {
        let a = Env::manual(Timestamp::EPOCH, 7);
        let b = Env::manual(Timestamp::EPOCH, 7);
        let from_a: Vec<u64> =
            (0..8).map(|i| if i % 2 == 0 { a.clone().random() } else { a.random() }).collect();
        let from_b: Vec<u64> = (0..8).map(|_| b.random()).collect();
        assert_eq!(from_a, from_b);
    }

    #[test]
    fn below_reaches_every_value_and_none_beyond() {
        let env = Env::manual(Timestamp::EPOCH, 1);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[env.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 800), "{seen:?}");
        assert_eq!(env.below(0), 0);
        assert_eq!(env.below(1), 0);
    }

    #[test]
    fn manual_clock_moves_only_when_told_and_saturates() {
        let env = Env::manual(Timestamp::from_millis(5), 0);
        assert_eq!(env.now().as_millis(), 5);
        env.advance(Duration::MAX);
        assert_eq!(env.now().as_micros(), i64::MAX);
        env.set(Timestamp::from_millis(-1));
        assert_eq!(env.now().as_secs(), -1);
    }
}
