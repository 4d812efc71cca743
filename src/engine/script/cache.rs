//! The scripts that are loaded, by the SHA-1 of their source, and what a script's first line says.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use sha1::{Digest, Sha1};

use super::interp::Compiled;
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::inline;

/// A SHA-1 in lower-case hexadecimal.
pub(super) type Sha = [u8; 40];

/// The SHA-1 of `text`.
pub(super) fn sha1_hex(text: &[u8]) -> Sha {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 40];
    for (pair, byte) in hex.chunks_mut(2).zip(Sha1::digest(text)) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    hex
}

/// A SHA-1 as a client sends it, in any case. `None` for what has another length.
pub(super) fn parse(text: &[u8]) -> Option<Sha> {
    let mut sha: Sha = text.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// A cached script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) source: Bytes,
    pub(super) flags: ScriptFlags,
    /// What the interpreter keeps of it; `None` once that interpreter is gone.
    pub(super) compiled: Option<Compiled>,
}

/// What a script's first line says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptFlags {
    /// There is such a line. A script without one may do anything in any place.
    pub(super) declared: bool,
    pub(super) no_writes: bool,
}

/// All loaded scripts. It grows until SCRIPT FLUSH, as in Redis.
#[derive(Debug, Default)]
pub(super) struct Cache {
    scripts: HashMap<Sha, Script, FixedState>,
    bytes: usize,
}

impl Cache {
    /// Number of scripts.
    pub(super) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// Bytes that they take, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, sha: &Sha) -> Option<&Script> {
        self.scripts.get(sha)
    }

    pub(super) fn add(&mut self, sha: Sha, source: &[u8], flags: ScriptFlags, compiled: Compiled) {
        let source = Bytes::copy_from(source);
        self.bytes += size_of::<(Sha, Script)>() + source.len();
        self.scripts.insert(sha, Script { source, flags, compiled: Some(compiled) });
    }

    pub(super) fn set_compiled(&mut self, sha: &Sha, compiled: Compiled) {
        if let Some(script) = self.scripts.get_mut(sha) {
            script.compiled = Some(compiled);
        }
    }

    /// The interpreter has been replaced.
    pub(super) fn forget_compiled(&mut self) {
        self.scripts.values_mut().for_each(|script| script.compiled = None);
    }
}

const INVALID: WireError = WireError::fixed("ERR Invalid engine in script shebang");

/// Reads the line `#!lua flags=…` that a script may begin with. What is to be compiled starts at
/// the end of that line, so that lines are counted as in the whole.
pub(super) fn shebang(source: &[u8]) -> Result<(&[u8], ScriptFlags), WireError> {
    if !source.starts_with(b"#!") {
        return Ok((source, ScriptFlags::default()));
    }
    let end = source.iter().position(|&b| b == b'\n');
    let end = end.ok_or(WireError::fixed("ERR Invalid script shebang"))?;
    let (line, body) = source.split_at(end);
    let words = inline::words(line).ok_or(INVALID)?;
    let (engine, options) = words.split_first().ok_or(INVALID)?;
    if engine != b"#!lua" {
        return Err(complaint("ERR Unexpected engine in script shebang: ", engine));
    }
    let mut flags = ScriptFlags { declared: true, no_writes: false };
    for option in options {
        let Some(list) = option.strip_prefix(b"flags=") else {
            return Err(complaint("ERR Unknown lua shebang option: ", option));
        };
        for flag in list.split(|&b| b == b',').filter(|_| !list.is_empty()) {
            match flag {
                b"no-writes" => flags.no_writes = true,
                b"allow-oom" | b"allow-stale" | b"no-cluster" | b"allow-cross-slot-keys" => {}
                _ => return Err(complaint("ERR Unexpected flag in script shebang: ", flag)),
            }
        }
    }
    Ok((body, flags))
}

fn complaint(text: &str, what: &[u8]) -> WireError {
    WireError::new([text.as_bytes(), what].concat())
}
