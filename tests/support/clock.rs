//! [`FrozenClock`]: a wall clock for a redis-server that stands until a test moves it.
//!
//! A small library, `frozen_clock.c`, is compiled with the C compiler that Rust links with and
//! preloaded into the server. It reads the time from a file. Where that is not possible, there is
//! no frozen clock and servers run on the machine's.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use stockroom::Timestamp;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/frozen_clock.c");
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

static LIBRARY: LazyLock<Option<PathBuf>> = LazyLock::new(compile);

/// The clock of one server.
#[derive(Debug)]
pub(crate) struct FrozenClock {
    file: tempfile::NamedTempFile,
    library: PathBuf,
}

impl FrozenClock {
    /// A clock that stands at `now`.
    pub(crate) fn new(now: Timestamp) -> Option<Self> {
        let library = LIBRARY.clone()?;
        let clock = Self { file: tempfile::NamedTempFile::new().ok()?, library };
        clock.set(now);
        Some(clock)
    }

    /// Puts it to `now`. The server sees it at its next command.
    pub(crate) fn set(&self, now: Timestamp) {
        let micros = now.as_micros().to_ne_bytes();
        let mut file = fs::OpenOptions::new().write(true).open(self.file.path()).expect("our file");
        std::io::Write::write_all(&mut file, &micros).expect("eight bytes fit");
    }

    /// What the server's environment must hold.
    pub(crate) fn environment(&self) -> [OsString; 2] {
        let entry = |name: &str, path: &std::path::Path| {
            let mut entry = OsString::from(name);
            entry.push(path);
            entry
        };
        [entry("LD_PRELOAD=", &self.library), entry("STOCKROOM_CLOCK_FILE=", self.file.path())]
    }
}

/// Compiles the library; `None` where preloading works otherwise or there is no C compiler.
fn compile() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Test binaries may run at the same time: each writes a file of its own and renames it.
    let temporary = PathBuf::from(FOLDER).join(format!("frozen_clock.{}.so", std::process::id()));
    let library = PathBuf::from(FOLDER).join("frozen_clock.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&temporary)
        .args([SOURCE, "-ldl"])
        .stdout(Stdio::null())
        .status()
        .ok()?;
    (status.success() && fs::rename(&temporary, &library).is_ok()).then_some(library)
}
