//! [`Link`]: one connection to a server, that never reconnects and knows when it is gone.
//!
//! The task that drives the connection is ours, so that its end can be seen: on a link known to be
//! closed nothing is sent, and the caller learns that nothing happened, instead of "unknown". What
//! fails after it may have been sent is unknown.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, ConnectionInfo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::engine::{Calls, Replies};
use crate::error::{Error, ErrorKind, Result};

use super::reply;

/// One connection. Calls on it run side by side, answered in the order they were sent.
#[derive(Debug)]
pub(super) struct Link {
    connection: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Link {
    /// Connects within `limit`. Whatever fails here, nothing of the caller's was sent.
    pub(super) async fn connect(info: &ConnectionInfo, limit: Duration) -> Result<Self> {
        Self::connect_with(info, limit, AsyncConnectionConfig::new()).await
    }

    /// As [`connect`](Self::connect), with more to say to the client library.
    pub(super) async fn connect_with(
        info: &ConnectionInfo,
        limit: Duration,
        config: AsyncConnectionConfig,
    ) -> Result<Self> {
        // Time limits are kept here, where it is known what they mean.
        let config = config.set_connection_timeout(None).set_response_timeout(None);
        let connecting = async {
            match info.addr() {
                ConnectionAddr::Tcp(host, port) => {
                    let stream = TcpStream::connect((host.as_str(), *port)).await?;
                    stream.set_nodelay(true)?;
                    Self::over(stream, info, config).await
                }
                ConnectionAddr::Unix(path) => {
                    Self::over(UnixStream::connect(path as &Path).await?, info, config).await
                }
                other => Err(io::Error::other(format!("unsupported address {other}"))),
            }
        };
        match tokio::time::timeout(limit, connecting).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => {
                Err(not_sent(&format!("cannot open a connection to {}: {error}", info.addr())))
            }
            Err(_) => Err(not_sent(&format!("no connection to {} in {limit:?}", info.addr()))),
        }
    }

    async fn over<S>(
        stream: S,
        info: &ConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> io::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let settings = info.redis_settings();
        let (connection, driver) = MultiplexedConnection::new_with_config(settings, stream, config)
            .await
            .map_err(io::Error::other)?;
        Ok(Self { connection, driver: tokio::spawn(driver) })
    }

    /// Whether it still stood at the last look.
    pub(super) fn is_open(&self) -> bool {
        !self.driver.is_finished()
    }

    /// Sends command lines in one go and waits for a reply to each.
    pub(super) async fn send(&self, packed: &redis::Pipeline, limit: Duration) -> Result<Replies> {
        if !self.is_open() {
            return Err(not_sent("the connection is lost"));
        }
        let mut connection = self.connection.clone();
        let sending = connection.send_packed_commands(packed, 0, packed.len());
        match tokio::time::timeout(limit, sending).await {
            Ok(Ok(replies)) => Ok(replies.into_iter().map(reply::convert).collect()),
            Ok(Err(error)) => Err(unknown(&error.to_string())),
            Err(_) => Err(unknown(&format!("no reply in {limit:?}"))),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Command lines as the client library wants them.
pub(super) fn pack(calls: &Calls<'_>, before: &[&str], after: &[&str]) -> redis::Pipeline {
    let mut packed = redis::Pipeline::with_capacity(calls.len() + before.len() + after.len());
    for name in before {
        packed.cmd(name);
    }
    for (_, argv) in calls.iter() {
        let mut line = redis::Cmd::new();
        for word in argv {
            line.arg(*word);
        }
        packed.add_command(line);
    }
    for name in after {
        packed.cmd(name);
    }
    packed
}

pub(super) fn not_sent(why: &str) -> Error {
    Error::new(ErrorKind::NotSent, format!("not sent: {why}"))
}

fn unknown(why: &str) -> Error {
    Error::new(ErrorKind::Unknown, format!("sent, but the reply was lost: {why}"))
}

/// A future that is always polled inside a runtime, whoever polls it: timers and sockets need one.
pub(super) struct Inside<'r, F> {
    runtime: &'r Handle,
    future: Pin<Box<F>>,
}

impl<'r, F: Future> Inside<'r, F> {
    pub(super) fn new(runtime: &'r Handle, future: F) -> Self {
        Self { runtime, future: Box::pin(future) }
    }
}

impl<F: Future> Future for Inside<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _inside = self.runtime.enter();
        self.future.as_mut().poll(cx)
    }
}
