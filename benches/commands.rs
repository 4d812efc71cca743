//! GET, SET, HGET and ZADD: on the engine in process, on a bare `DashMap`, and on a redis-server
//! over loopback, one round trip each and in pipelines of 100. All in one run, so that the numbers
//! can be divided by each other.
//!
//! `cargo bench --bench commands`

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dashmap::DashMap;
use stockroom::commands::{self, Spec};
use stockroom::resp::encode_request;
use stockroom::{Bytes, Engine};

use support::{RealRedis, Wire};

const KEYS: usize = 10_000;
const PIPELINE: usize = 100;

type Line = Vec<Vec<u8>>;

/// Each command with its lines over all keys.
fn loads() -> Vec<(&'static str, Vec<Line>)> {
    let lines = |line: &dyn Fn(usize, String) -> Vec<String>| -> Vec<Line> {
        let line = |i| line(i, format!("key:{i}")).into_iter().map(String::into_bytes).collect();
        (0..KEYS).map(line).collect()
    };
    vec![
        ("SET", lines(&|i, key| vec!["SET".into(), key, format!("value-{i}")])),
        ("GET", lines(&|_, key| vec!["GET".into(), key])),
        ("HGET", lines(&|_, key| vec!["HGET".into(), "hash".into(), key])),
        (
            "ZADD",
            lines(&|i, key| vec!["ZADD".into(), "zset".into(), (i * 7919 % KEYS).to_string(), key]),
        ),
    ]
}

/// The lines that put there what HGET reads.
fn preparation() -> Vec<Line> {
    let line = |i| vec!["HSET".into(), "hash".into(), format!("key:{i}").into(), "v".into()];
    (0..KEYS).map(line).collect()
}

fn slices(line: &Line) -> Vec<&[u8]> {
    line.iter().map(Vec::as_slice).collect()
}

fn engine(c: &mut Criterion) {
    let engine = Engine::new();
    let mut session = engine.session();
    preparation().iter().for_each(|line| drop(session.call(&slices(line))));
    let mut group = c.benchmark_group("commands");
    group.throughput(Throughput::Elements(1));
    for (name, lines) in loads() {
        let spec: &Spec = commands::lookup(name.as_bytes()).expect("the row exists");
        let lines: Vec<Vec<&[u8]>> = lines.iter().map(slices).collect();
        let mut next = (0..KEYS).cycle();
        group.bench_function(BenchmarkId::new(name, "engine"), |b| {
            b.iter(|| {
                let line = &lines[next.next().unwrap_or(0)];
                black_box(engine.run(spec, black_box(line)))
            });
        });
    }
}

/// What a bare concurrent map costs for the two commands that it could answer at all.
fn dash_map(c: &mut Criterion) {
    let map: DashMap<Bytes, Bytes> = DashMap::new();
    let mut group = c.benchmark_group("commands");
    group.throughput(Throughput::Elements(1));
    let keys: Vec<String> = (0..KEYS).map(|i| format!("key:{i}")).collect();
    let values: Vec<String> = (0..KEYS).map(|i| format!("value-{i}")).collect();
    let mut next = (0..KEYS).cycle();
    group.bench_function(BenchmarkId::new("SET", "dashmap"), |b| {
        b.iter(|| {
            let i = next.next().unwrap_or(0);
            map.insert(Bytes::from(black_box(&*keys[i])), Bytes::from(black_box(&*values[i])))
        });
    });
    for (key, value) in keys.iter().zip(&values) {
        map.insert(Bytes::from(&**key), Bytes::from(&**value));
    }
    group.bench_function(BenchmarkId::new("GET", "dashmap"), |b| {
        b.iter(|| {
            let i = next.next().unwrap_or(0);
            map.get(black_box(keys[i].as_bytes())).map(|v| v.value().clone())
        });
    });
}

fn redis(c: &mut Criterion) {
    let server = match RealRedis::start(&[]) {
        Ok(server) => server,
        Err(reason) => return eprintln!("SKIPPED: the side of redis-server: {reason}"),
    };
    let mut wire = server.connect();
    preparation().iter().for_each(|line| drop(wire.call(line)));
    let mut group = c.benchmark_group("commands");
    for (name, lines) in loads() {
        let mut next = (0..KEYS).cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new(name, "redis, one trip"), |b| {
            b.iter(|| wire.call(&lines[next.next().unwrap_or(0)]).value);
        });
        let batches: Vec<Vec<u8>> = lines.chunks(PIPELINE).map(batch).collect();
        let mut next = (0..batches.len()).cycle();
        group.throughput(Throughput::Elements(PIPELINE as u64));
        group.bench_function(BenchmarkId::new(name, "redis, pipeline of 100"), |b| {
            b.iter(|| pipeline(&mut wire, &batches[next.next().unwrap_or(0)]));
        });
    }
}

fn batch(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    lines.iter().for_each(|line| encode_request(line, &mut bytes));
    bytes
}

fn pipeline(wire: &mut Wire, batch: &[u8]) {
    wire.send(batch);
    for _ in 0..PIPELINE {
        black_box(wire.read());
    }
}

criterion_group!(benches, engine, dash_map, redis);
criterion_main!(benches);
