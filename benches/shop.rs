//! The shop's hot paths, on the engine in memory and on a real Redis over loopback in one run.
//!
//! `cargo bench --bench shop`. The server is a redis-server on the path, started on a free port;
//! without one only the engine is measured.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
};
use stockroom::Stopwatch;
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::flash_sale::MAX_UNITS;
use stockroom::shop::{Cart, DelayedQueue, FlashSale, Keys, Lease, Lock, Semaphore, Sessions};

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
    group.bench_function("touch, 32 clients at once", |b| {
        b.iter_custom(|times| at_once(&sessions, times));
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
    if backend.has_scripts() {
        by_script(&mut group, backend);
    }
    group.finish();
}

/// How long so many touches take, spread over clients that each wait for their own.
fn at_once<B: Backend>(sessions: &Sessions<B>, times: u64) -> Duration {
    const CLIENTS: u64 = 32;
    let watch = Stopwatch::start();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for n in (client..times).step_by(CLIENTS as usize) {
                    let token = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % TOKENS).to_string();
                    let item = (n % ITEMS).to_string();
                    let touched = sessions.touch(token.as_bytes(), b"user", Some(item.as_bytes()));
                    touched.wait().expect("a touch");
                }
            });
        }
    });
    watch.elapsed()
}

/// What runs as scripts: each a round trip or a few.
fn by_script<B: Backend>(group: &mut BenchmarkGroup<'_, WallTime>, backend: &B) {
    let keys = Keys::new();
    let lease = Lease::of(Duration::from_secs(10)).expect("a lease");
    let lock = Lock::new(backend.clone(), &keys, b"bench").expect("a lock");
    group.bench_function("lock: acquire and release", |b| {
        b.iter(|| {
            let held = lock.try_acquire(lease).wait();
            held.map(|held| held.map(|mut held| held.release().wait()))
        });
    });
    let semaphore = Semaphore::new(backend.clone(), &keys, b"bench", 5).expect("a semaphore");
    group.bench_function("semaphore: acquire and release", |b| {
        b.iter(|| {
            let held = semaphore.try_acquire(lease).wait();
            held.map(|held| held.map(|mut held| held.release().wait()))
        });
    });
    let sale = FlashSale::new(backend.clone(), keys.clone());
    sale.restock(b"bench", b"all", MAX_UNITS).wait().expect("units");
    let mut order = 0_u64;
    group.bench_function("sale: buy", |b| {
        b.iter(|| {
            order += 1;
            let id = order.to_string();
            sale.buy(b"bench", &id.as_bytes()[..1], 1, id.as_bytes()).wait()
        });
    });
    let queue = DelayedQueue::new(backend.clone(), &keys, b"bench").expect("a queue");
    group.bench_function("queue: add, claim and acknowledge", |b| {
        b.iter(|| {
            queue.add(b"task", None, Duration::ZERO).wait()?;
            let claim = queue.claim(1).wait()?;
            queue.ack(&claim.token, b"task").wait()
        });
    });
    cleaning(group, backend);
}

/// Sessions that the cleaner removes, a hundred at a time.
fn cleaning<B: Backend>(group: &mut BenchmarkGroup<'_, WallTime>, backend: &B) {
    let keys = Keys::in_namespace("cleaning");
    let sessions = Sessions::new(backend.clone(), keys).with_limit(0);
    group.throughput(Throughput::Elements(100));
    group.bench_function("clean 100 sessions", |b| {
        b.iter_batched(
            || {
                for n in 0..100_u8 {
                    sessions.touch(&[n], b"user", Some(b"item")).wait().expect("a touch");
                }
            },
            |()| sessions.clean_step().wait(),
            BatchSize::PerIteration,
        );
    });
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
