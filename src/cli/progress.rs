//! A progress bar on standard error, when that is a terminal.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::replay::trace::Progress;

/// How often it is drawn.
const EVERY: Duration = Duration::from_millis(100);

/// A bar that follows the bytes read from a trace's files, from a thread of its own so that the
/// replay need not think of it. Ends when dropped.
pub(super) struct Bar(Option<(Sender<()>, JoinHandle<()>)>);

impl Bar {
    /// A bar, unless nobody would see it.
    pub(super) fn start(name: &str, files: &[PathBuf], progress: Progress) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        // Unknown for standard input.
        let sizes = files.iter().map(|f| std::fs::metadata(f).map(|m| m.len()));
        let bar = match sizes.sum::<io::Result<u64>>() {
            Ok(total) => ProgressBar::new(total),
            Err(_) => ProgressBar::new_spinner(),
        };
        let style = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
        if let Some(style) = bar.length().and_then(|_| ProgressStyle::with_template(style).ok()) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        let (end, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(progress.bytes());
            }
            bar.finish_and_clear();
        });
        Self(Some((end, thread)))
    }

    /// Removes the bar from the screen.
    pub(super) fn end(self) {
        if let Some((end, thread)) = self.0 {
            drop(end);
            // A bar that panicked is gone too.
            let _ = thread.join();
        }
    }
}
