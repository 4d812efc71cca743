//! [`Control`]: what the world outside may know of the running script, and do to it, without
//! waiting for it.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::commands::Reply;
use crate::error::WireError;
use crate::resp::{Protocol, Value};

const RELAXED: Ordering = Ordering::Relaxed;

/// What the interpreter does.
const IDLE: u64 = 0;
/// It runs a script that has written nothing.
const CLEAN: u64 = 1;
/// It runs a script that has called a command that writes, and so cannot be undone.
const DIRTY: u64 = 2;
/// It runs a script that is to end.
const KILLED: u64 = 3;
/// The bits that say so. Above them runs are counted, so that a kill never hits the next script.
const STATE: u64 = 3;

/// The state of the interpreter that others see. One script runs at a time.
#[derive(Debug)]
pub(super) struct Control {
    state: AtomicU64,
    /// When the running script has started, in microseconds of the engine's monotonic clock.
    since_us: AtomicU64,
    /// The protocol of replies that the script has asked for: 2 or 3.
    protocol: AtomicU8,
    /// The state of the scripts' random numbers: 48 bits. As in Redis it goes on from one script to
    /// the next.
    random: AtomicU64,
    /// Bytes that the interpreter uses.
    memory: AtomicUsize,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            state: AtomicU64::new(IDLE),
            since_us: AtomicU64::new(0),
            protocol: AtomicU8::new(2),
            // Where POSIX's `lrand48` starts when nobody has seeded it.
            random: AtomicU64::new(0x1234_abcd_330e),
            memory: AtomicUsize::new(0),
        }
    }
}

impl Control {
    /// A script begins, at `now` of the engine's monotonic clock.
    pub(super) fn start(&self, now: Duration) {
        self.set_protocol(Protocol::Resp2);
        self.since_us.store(now.as_micros() as u64, RELAXED);
        let run = self.state.load(RELAXED) | STATE;
        self.state.store(run.wrapping_add(1) | CLEAN, Ordering::Release);
    }

    /// The script has ended, and the interpreter uses that many bytes.
    pub(super) fn end(&self, memory: usize) {
        let run = self.state.load(RELAXED) & !STATE;
        self.state.store(run | IDLE, Ordering::Release);
        self.set_memory(memory);
    }

    pub(super) fn set_memory(&self, bytes: usize) {
        self.memory.store(bytes, RELAXED);
    }

    /// When the script that runs has started; `None` if none does.
    #[inline]
    pub(super) fn running_since(&self) -> Option<Duration> {
        if self.state.load(Ordering::Acquire) & STATE == IDLE {
            return None;
        }
        Some(Duration::from_micros(self.since_us.load(RELAXED)))
    }

    /// The script is about to write. `false` if it has been killed and must not.
    pub(super) fn may_write(&self) -> bool {
        let dirty = |state: u64| (state & STATE == CLEAN).then_some(state & !STATE | DIRTY);
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, dirty) {
            Ok(_) => true,
            Err(state) => state & STATE == DIRTY,
        }
    }

    #[inline]
    pub(super) fn is_killed(&self) -> bool {
        self.state.load(RELAXED) & STATE == KILLED
    }

    /// SCRIPT KILL.
    pub(super) fn kill(&self) -> Reply {
        let killed = |state: u64| (state & STATE == CLEAN).then_some(state | KILLED);
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, killed) {
            Err(state) if state & STATE == IDLE => {
                Err(WireError::fixed("NOTBUSY No scripts in execution right now."))
            }
            Err(state) if state & STATE == DIRTY => Err(WireError::fixed(
                "UNKILLABLE Sorry the script already executed write commands against the \
                 dataset. You can either wait the script termination or kill the server in a \
                 hard way using the SHUTDOWN NOSAVE command.",
            )),
            _ => Ok(Value::OK),
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        if self.protocol.load(RELAXED) == 3 { Protocol::Resp3 } else { Protocol::Resp2 }
    }

    pub(super) fn set_protocol(&self, protocol: Protocol) {
        self.protocol.store(if protocol == Protocol::Resp3 { 3 } else { 2 }, RELAXED);
    }

    /// Starts the random numbers anew: those of POSIX's `srand48`.
    pub(super) fn seed(&self, seed: u32) {
        self.random.store(u64::from(seed) << 16 | 0x330e, RELAXED);
    }

    /// The next random number, of 31 bits: that of POSIX's `lrand48`.
    pub(super) fn random(&self) -> u32 {
        let last = self.random.load(RELAXED);
        let next = last.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        self.random.store(next, RELAXED);
        (next >> 17) as u32
    }

    /// Bytes that the interpreter used when the last script ended.
    pub(super) fn memory(&self) -> usize {
        self.memory.load(RELAXED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_hits_the_running_script_unless_it_has_written() {
        let control = Control::default();
        assert!(control.kill().is_err_and(|e| e.code() == b"NOTBUSY"));
        control.start(Duration::from_micros(7));
        assert_eq!(control.running_since(), Some(Duration::from_micros(7)));
        assert!(!control.is_killed());
        assert_eq!(control.kill(), Ok(Value::OK));
        assert!(control.is_killed() && !control.may_write());
        assert_eq!(control.kill(), Ok(Value::OK));
        control.end(0);
        assert_eq!(control.running_since(), None);
        control.start(Duration::ZERO);
        assert!(!control.is_killed());
        assert!(control.may_write() && control.may_write());
        assert!(control.kill().is_err_and(|e| e.code() == b"UNKILLABLE"));
        assert!(!control.is_killed());
    }
}
