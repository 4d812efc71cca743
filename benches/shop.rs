//! The shop's hot paths, on the engine in memory and on a real Redis over loopback in one run.
//!
//! `cargo bench --bench shop`. The server is a redis-server on the path, started on a free port;
//! without one only the engine is measured.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::{Cart, Keys, Sessions};

#[path = "../tests/support/mod.rs"]
mod support;

/// Tokens and items go round in these many, so that keys are neither all hot nor all new.
const TOKENS: u64 = 10_000;
const ITEMS: u64 = 1_000;

fn measure<B: Backend>(c: &mut Criterion, name: &str, backend: &B) {
    let sessions = Sessions::new(backend.clone(), Keys::new());
    let cart = Cart::new(backend.clone(), Keys::new());
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    let mut n = 0_u64;
    let mut next = move || {
        n += 1;
        let token = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % TOKENS).to_string();
        (token.into_bytes(), (n % ITEMS).to_string().into_bytes())
    };
    group.bench_function("touch", |b| {
        b.iter(|| {
            let (token, item) = next();
            sessions.touch(&token, b"user", Some(&item)).wait()
        });
    });
    group.bench_function("touch without an item", |b| {
        b.iter(|| sessions.touch(&next().0, b"user", None).wait());
    });
    group.bench_function("check", |b| b.iter(|| sessions.check(&next().0).wait()));
    group.bench_function("cart add", |b| {
        b.iter(|| {
            let (token, item) = next();
            cart.add(&token, &item, 1).wait()
        });
    });
    backend.run(cmd::set(b"page", b"0123456789")).wait().expect("a set");
    group.bench_function("bare GET", |b| {
        b.iter(|| black_box(backend.run(cmd::get::<stockroom::Bytes>(b"page")).wait()));
    });
    group.finish();
}

fn shop(c: &mut Criterion) {
    measure(c, "memory", &Memory::new());
    #[cfg(feature = "redis")]
    if let Ok(server) = support::RealRedis::start(&[]) {
        let url = format!("redis://{}", server.addr());
        let redis = stockroom::backend::Redis::connect(&url).wait().expect("a server");
        measure(c, "redis", &redis);
    }
}

criterion_group!(benches, shop);
criterion_main!(benches);
