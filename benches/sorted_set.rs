//! A sorted set of a million members: adding, ranking, and ranges by rank, on the engine and on a
//! redis-server over loopback (pipelines of 100, so that the network weighs little).
//!
//! `cargo bench --bench sorted_set`; `STOCKROOM_BENCH_MEMBERS` sets another size.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use stockroom::commands::{self, Spec};
use stockroom::resp::encode_request;
use stockroom::{Engine, Env, Timestamp};

use support::RealRedis;

const PIPELINE: usize = 100;
/// Different lines per command.
const LINES: usize = 10_000;

type Line = Vec<Vec<u8>>;

fn members() -> u64 {
    let wanted = std::env::var("STOCKROOM_BENCH_MEMBERS").ok().and_then(|n| n.parse().ok());
    let testing = std::env::args().any(|arg| arg == "--test");
    wanted.unwrap_or(if testing { 1_000 } else { 1_000_000 })
}

fn member(n: u64) -> Vec<u8> {
    format!("member:{n:07}").into_bytes()
}

fn add(n: u64, score: u64) -> Line {
    vec!["ZADD".into(), "z".into(), score.to_string().into(), member(n)]
}

/// The lines of each command, at random places.
fn loads() -> [(&'static str, Vec<Line>); 3] {
    let env = Env::manual(Timestamp::EPOCH, 1);
    let lines = |line: &dyn Fn(u64) -> Line| -> Vec<Line> {
        (0..LINES).map(|_| line(env.below(members()))).collect()
    };
    let range = |n: u64| -> Line {
        vec!["ZRANGE".into(), "z".into(), n.to_string().into(), (n + 9).to_string().into()]
    };
    [
        ("ZADD", lines(&|n| add(n, env.below(1_000_000)))),
        ("ZRANK", lines(&|n| vec!["ZRANK".into(), "z".into(), member(n)])),
        ("ZRANGE of 10 by rank", lines(&range)),
    ]
}

fn fill() -> impl Iterator<Item = Line> {
    let env = Env::manual(Timestamp::EPOCH, 2);
    (0..members()).map(move |n| add(n, env.below(1_000_000)))
}

fn engine(c: &mut Criterion) {
    let engine = Engine::new();
    let mut session = engine.session();
    for line in fill() {
        session.call(&line.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    let mut group = c.benchmark_group("sorted set of a million");
    group.throughput(Throughput::Elements(1));
    for (name, lines) in loads() {
        let spec: &Spec = commands::lookup(&lines[0][0]).expect("the row exists");
        let lines: Vec<Vec<&[u8]>> =
            lines.iter().map(|line| line.iter().map(Vec::as_slice).collect()).collect();
        let mut next = (0..LINES).cycle();
        group.bench_function(BenchmarkId::new(name, "engine"), |b| {
            b.iter(|| black_box(engine.run(spec, &lines[next.next().unwrap_or(0)])));
        });
    }
}

fn batch<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<u8> {
    let mut bytes = Vec::new();
    lines.into_iter().for_each(|line| encode_request(line, &mut bytes));
    bytes
}

fn redis(c: &mut Criterion) {
    let server = match RealRedis::start(&[]) {
        Ok(server) => server,
        Err(reason) => return eprintln!("SKIPPED: the side of redis-server: {reason}"),
    };
    let mut wire = server.connect();
    let all: Vec<Line> = fill().collect();
    for lines in all.chunks(PIPELINE) {
        wire.send(&batch(lines));
        lines.iter().for_each(|_| drop(wire.read()));
    }
    let mut group = c.benchmark_group("sorted set of a million");
    for (name, lines) in loads() {
        let batches: Vec<Vec<u8>> = lines.chunks(PIPELINE).map(batch).collect();
        let mut next = (0..batches.len()).cycle();
        group.throughput(Throughput::Elements(PIPELINE as u64));
        group.bench_function(BenchmarkId::new(name, "redis, pipeline of 100"), |b| {
            b.iter(|| {
                wire.send(&batches[next.next().unwrap_or(0)]);
                (0..PIPELINE).for_each(|_| drop(black_box(wire.read())));
            });
        });
    }
}

criterion_group!(benches, engine, redis);
criterion_main!(benches);
