//! How much memory a million sessions take: each with a token of 36 bytes, three viewed items and
//! a cart of one item.
//!
//! `cargo run --release --example memory` measures the engine;
//! `cargo run --release --example memory -- 1000000 127.0.0.1:6379` puts the same into a
//! redis-server that is empty and says what that takes.

use std::io::{Read, Write};
use std::net::TcpStream;

use stockroom::resp::{ReplyDecoder, Value, encode_request};
use stockroom::{Engine, Env, Timestamp};

fn main() {
    let mut args = std::env::args().skip(1);
    let sessions: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    match args.next() {
        None => engine(sessions),
        Some(addr) => {
            if let Err(error) = server(sessions, &addr) {
                eprintln!("{addr}: {error}");
                std::process::exit(2);
            }
        }
    }
}

/// The command lines that make one session.
fn session(n: u64, env: &Env) -> Vec<Vec<Vec<u8>>> {
    let mut id = [0; 16];
    env.fill(&mut id);
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    let token = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    let seen = format!("{}.{:06}", 1_700_000_000 + n / 100, n % 1_000_000);
    let line = |words: &[&str]| words.iter().map(|w| w.as_bytes().to_vec()).collect();
    let mut lines: Vec<Vec<Vec<u8>>> = vec![
        line(&["HSET", "login:", &token, &n.to_string()]),
        line(&["ZADD", "recent:", &seen, &token]),
        line(&["HSET", &format!("cart:{token}"), &env.below(100_000).to_string(), "1"]),
    ];
    for _ in 0..3 {
        let item = env.below(100_000).to_string();
        lines.push(line(&["ZADD", &format!("viewed:{token}"), &seen, &item]));
    }
    lines
}

fn engine(sessions: u64) {
    let env = Env::manual(Timestamp::from_secs(1_700_000_000), 1);
    let engine = Engine::with_env(env.clone());
    let before = resident();
    let mut client = engine.session();
    for n in 0..sessions {
        for line in session(n, &env) {
            let argv: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
            assert!(!client.call(&argv).is_error(), "a session could not be made");
        }
    }
    let taken = resident().saturating_sub(before);
    println!("engine: {sessions} sessions, {} MB resident", taken / 1_000_000);
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| {
        text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok())
    });
    pages.unwrap_or(0) * 4096
}

fn server(sessions: u64, addr: &str) -> std::io::Result<()> {
    let env = Env::manual(Timestamp::from_secs(1_700_000_000), 1);
    let mut stream = TcpStream::connect(addr)?;
    let mut decoder = ReplyDecoder::default();
    let mut call = |lines: &[Vec<Vec<u8>>]| -> std::io::Result<Vec<Value>> {
        let mut bytes = Vec::new();
        lines.iter().for_each(|line| encode_request(line, &mut bytes));
        stream.write_all(&bytes)?;
        let mut replies = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        while replies.len() < lines.len() {
            match decoder.next_reply().map_err(std::io::Error::other)? {
                Some(reply) => replies.push(reply),
                None => match stream.read(&mut chunk)? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    n => decoder.feed(&chunk[..n]),
                },
            }
        }
        Ok(replies)
    };
    let words = |text: &str| text.split(' ').map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
    if call(&[words("DBSIZE")])? != [Value::Int(0)] {
        return Err(std::io::Error::other("the database is not empty"));
    }
    let used = |reply: &[Value]| -> u64 {
        let Some(Value::Bulk(text)) = reply.first() else { return 0 };
        let text = text.to_text();
        let line = text.lines().find_map(|l| l.strip_prefix("used_memory_rss:"));
        line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    };
    let before = used(&call(&[words("INFO memory")])?);
    let mut batch = Vec::new();
    for n in 0..sessions {
        batch.extend(session(n, &env));
        if batch.len() >= 600 || n + 1 == sessions {
            call(&batch)?;
            batch.clear();
        }
    }
    let after = used(&call(&[words("INFO memory")])?);
    println!(
        "redis: {sessions} sessions, {} MB resident",
        after.saturating_sub(before) / 1_000_000
    );
    Ok(())
}
