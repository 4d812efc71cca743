//! [`Wire`]: a raw client over TCP that gives replies as bytes and as values.
//!
//! Reads wait a minute at most, so that a lost reply fails a test and does not hang it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use stockroom::resp::{ReplyDecoder, Value, encode_request};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A reply as it arrived and as it reads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) value: Value,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    decoder: ReplyDecoder,
}

impl Wire {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        Self::try_connect(addr).unwrap_or_else(|error| panic!("connecting to {addr}: {error}"))
    }

    pub(crate) fn try_connect(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, decoder: ReplyDecoder::default() })
    }

    /// Sends a request and reads its reply.
    pub(crate) fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Reply {
        self.try_call(args).unwrap_or_else(|error| panic!("no reply: {error}"))
    }

    pub(crate) fn try_call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        let mut bytes = Vec::new();
        encode_request(args, &mut bytes);
        self.stream.write_all(&bytes)?;
        self.try_read()
    }

    /// Sends a request and reads as many replies to it.
    pub(crate) fn try_call_for<A: AsRef<[u8]>>(
        &mut self,
        args: &[A],
        replies: usize,
    ) -> io::Result<Reply> {
        let mut all = self.try_call(args)?;
        for _ in 1..replies {
            let next = self.try_read()?;
            all.bytes.extend(next.bytes);
            all.value = next.value;
        }
        Ok(all)
    }

    /// Sends a request.
    pub(crate) fn request<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        let mut bytes = Vec::new();
        encode_request(args, &mut bytes);
        self.send(&bytes);
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap_or_else(|error| panic!("sending: {error}"));
    }

    /// Reads the next reply.
    pub(crate) fn read(&mut self) -> Reply {
        self.try_read().unwrap_or_else(|error| panic!("no reply: {error}"))
    }

    pub(crate) fn try_read(&mut self) -> io::Result<Reply> {
        let mut chunk = [0; 16 * 1024];
        loop {
            let next = self.decoder.next_with_bytes().map_err(io::Error::other)?;
            if let Some((value, bytes)) = next {
                return Ok(Reply { bytes: bytes.to_vec(), value });
            }
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.decoder.feed(&chunk[..n]),
            }
        }
    }

    /// The next reply if one arrives within `patience`.
    pub(crate) fn poll(&mut self, patience: Duration) -> Option<Reply> {
        self.stream.set_read_timeout(Some(patience)).expect("a timeout above zero");
        let reply = self.try_read();
        self.stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout above zero");
        match reply {
            Ok(reply) => Some(reply),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                None
            }
            Err(error) => panic!("no reply: {error}"),
        }
    }

    /// The next reply if it has arrived.
    pub(crate) fn arrived(&mut self) -> Option<Reply> {
        self.stream.set_nonblocking(true).expect("a socket can be asked without waiting");
        let reply = self.try_read();
        self.stream.set_nonblocking(false).expect("a socket can be waited for");
        match reply {
            Ok(reply) => Some(reply),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => panic!("no reply: {error}"),
        }
    }

    /// Says that no more requests come.
    pub(crate) fn finish(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap_or_else(|error| panic!("closing: {error}"));
    }

    /// Everything from here to the end of the connection, not decoded.
    pub(crate) fn read_to_end(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => rest,
            Err(error) => panic!("the connection did not end: {error}"),
        }
    }

    /// Whether the other side closes the connection, sending nothing more.
    pub(crate) fn ends(&mut self) -> bool {
        let ended = |error: io::Error| {
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
        };
        self.try_read().is_err_and(ended)
    }
}
