//! [`Control`]: what the world outside may know of the running script, and do to it, without
//! waiting for it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::commands::Reply;
use crate::env::Timestamp;
use crate::error::WireError;
use crate::resp::{Protocol, Value};

const RELAXED: Ordering = Ordering::Relaxed;

/// The state of the interpreter that others see. One script runs at a time.
#[derive(Debug)]
pub(super) struct Control {
    running: AtomicBool,
    /// It has called a command that writes, so it cannot be undone.
    wrote: AtomicBool,
    killed: AtomicBool,
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
            running: AtomicBool::new(false),
            wrote: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            protocol: AtomicU8::new(2),
            // Where POSIX's `lrand48` starts when nobody has seeded it.
            random: AtomicU64::new(0x1234_abcd_330e),
            memory: AtomicUsize::new(0),
        }
    }
}

impl Control {
    /// A script begins.
    pub(super) fn start(&self, _now: Timestamp) {
        self.set_protocol(Protocol::Resp2);
        self.wrote.store(false, RELAXED);
        self.killed.store(false, RELAXED);
        self.running.store(true, Ordering::Release);
    }

    /// The script has ended, and the interpreter uses that many bytes.
    pub(super) fn end(&self, memory: usize) {
        self.running.store(false, Ordering::Release);
        self.memory.store(memory, RELAXED);
    }

    pub(super) fn writes(&self) {
        self.wrote.store(true, RELAXED);
    }

    #[inline]
    pub(super) fn is_killed(&self) -> bool {
        self.killed.load(RELAXED)
    }

    /// SCRIPT KILL.
    pub(super) fn kill(&self) -> Reply {
        if !self.running.load(Ordering::Acquire) {
            return Err(WireError::fixed("NOTBUSY No scripts in execution right now."));
        }
        if self.wrote.load(RELAXED) {
            return Err(WireError::fixed(
                "UNKILLABLE Sorry the script already executed write commands against the \
                 dataset. You can either wait the script termination or kill the server in a \
                 hard way using the SHUTDOWN NOSAVE command.",
            ));
        }
        self.killed.store(true, RELAXED);
        Ok(Value::OK)
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
}
