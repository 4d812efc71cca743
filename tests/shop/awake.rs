//! [`KeepAwake`]: time that passes while real threads wait for a manual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use stockroom::Env;

/// Moves a manual clock on by a millisecond at a time for as long as somebody waits for it, so that
/// waits of real threads end.
pub(crate) struct KeepAwake {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KeepAwake {
    pub(crate) fn new(env: &Env) -> Self {
        let (done, env) = (Arc::new(AtomicBool::new(false)), env.clone());
        let until = Arc::clone(&done);
        let keep = move || {
            while !until.load(Ordering::SeqCst) {
                if env.next_wake().is_some() {
                    env.advance(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        };
        Self { done, thread: Some(std::thread::spawn(keep)) }
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        self.thread.take().map(JoinHandle::join);
    }
}
