//! Opens the files of a trace: plain or gzip, told apart by their first bytes; `-` is standard
//! input.
//!
//! Compressed files are decoded as they are read, so a small file that unpacks to a huge one costs
//! time but no memory. Concatenated gzip members, which log rotation makes, are one file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

const BUFFER: usize = 64 * 1024;

/// How many bytes have been read from the files so far, as they lie on disk. Clones share the
/// count.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// The bytes read so far, before decompression.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether `path` means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What a file is called in messages.
pub(super) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file, or standard input, unpacking gzip.
pub(super) fn open(path: &Path, progress: &Progress) -> io::Result<Box<dyn BufRead>> {
    let raw: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    decode(Counted { inner: raw, progress: progress.clone() })
}

/// Buffers `raw`, unpacking it when it begins as gzip does.
pub(super) fn decode(mut raw: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut magic = Vec::with_capacity(2);
    (&mut raw).take(2).read_to_end(&mut magic)?;
    let gzip = magic == [0x1f, 0x8b];
    let whole = BufReader::with_capacity(BUFFER, io::Cursor::new(magic).chain(raw));
    if gzip {
        Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole))))
    } else {
        Ok(Box::new(whole))
    }
}

struct Counted<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.progress.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut w = GzEncoder::new(Vec::new(), Compression::fast());
        w.write_all(text).unwrap();
        w.finish().unwrap()
    }

    fn read(raw: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        decode(io::Cursor::new(raw))?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn plain_files_shorter_than_the_magic_pass_through() {
        assert_eq!(read(vec![]).unwrap(), b"");
        assert_eq!(read(vec![0x1f]).unwrap(), [0x1f]);
        assert_eq!(read(b"plain".to_vec()).unwrap(), b"plain");
    }

    #[test]
    fn gzip_members_in_a_row_are_one_file() {
        let raw = [gzip(b"one\n"), gzip(b""), gzip(b"two\n")].concat();
        assert_eq!(read(raw).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn a_gzip_file_cut_short_is_an_error() {
        let mut raw = gzip(&b"some text to compress, and more of it\n".repeat(50));
        raw.truncate(raw.len() - 9);
        assert_eq!(read(raw).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(read(vec![0x1f, 0x8b]).is_err());
    }

    #[test]
    fn progress_counts_bytes_on_disk() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let raw = gzip(&vec![b'a'; 100_000]);
        std::fs::write(file.path(), &raw).unwrap();
        let progress = Progress::default();
        let mut out = Vec::new();
        open(file.path(), &progress).unwrap().read_to_end(&mut out).unwrap();
        assert_eq!((out.len(), progress.bytes()), (100_000, raw.len() as u64));
    }
}
