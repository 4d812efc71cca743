//! [`wait`]: runs a future on the calling thread, which sleeps while there is nothing to do.
//!
//! It is the blocking façade of the backend, and how a session of the engine waits without an
//! async runtime. On the memory backend nearly all futures are ready at once and this costs next
//! to nothing. On a real Redis it works on any thread, with or without an async runtime; but not
//! on a thread that itself drives the runtime which the backend was made in, which would wait for
//! itself.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Waits on this thread until `future` is done.
///
/// ```
/// use stockroom::backend::{self, Backend, Memory, cmd};
///
/// let memory = Memory::new();
/// backend::wait(memory.run(cmd::set(b"greeting", b"hello")))?;
/// # Ok::<(), stockroom::Error>(())
/// ```
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // Most are ready at the first look, and need no waker.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread::park();
    }
}

/// `.wait()` on every future.
///
/// ```
/// use stockroom::backend::{Backend, Memory, Wait, cmd};
///
/// let memory = Memory::new();
/// memory.run(cmd::set(b"greeting", b"hello")).wait()?;
/// # Ok::<(), stockroom::Error>(())
/// ```
pub trait Wait: Future + Sized {
    /// Waits on this thread until the future is done; see [`wait`].
    fn wait(self) -> Self::Output {
        wait(self)
    }
}

impl<F: Future> Wait for F {}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
