//! Slots of a Redis Cluster: whatever a feature changes together is in one, under names that ask
//! for it, whatever the ids are.
//!
//! The keys are those of the commands that features send, told by the backend; and where there is
//! a redis-server, one with all slots of a cluster judges for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::daemon::Chore;
use stockroom::shop::flash_sale::Strategy as How;
use stockroom::shop::semaphore::published::{
    CounterSemaphore, GuardedSemaphore, TimestampSemaphore,
};
use stockroom::shop::{
    AddressBook, Cart, CommonLog, Contacts, Counters, DelayedQueue, ExpiryQueue, FairLock,
    FlashSale, Held, Keys, Lease, Lock, PageCache, Patience, Popularity, Purchases, RecentLog,
    RowCache, Semaphore, Sessions, Severity, Statistics,
};
use stockroom::{Bytes, Env, Error};

use crate::bed::memory;
use crate::interpose::Interposed;
use crate::rows::Database;
use crate::state::all_keys;

const MINUTE: Duration = Duration::from_secs(60);

/// What comes after the first `{` up to the next `}`, unless that is nothing; else all.
fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|b| *b == b'{') else { return key };
    let after = &key[open + 1..];
    match after.iter().position(|b| *b == b'}') {
        None | Some(0) => key,
        Some(close) => &after[..close],
    }
}

/// The slot of a key: CRC-16/XMODEM of its tag, modulo 16,384.
fn slot(key: &[u8]) -> u16 {
    let shift = |crc: u16| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
    let byte = |crc: u16, b: &u8| (0..8).fold(crc ^ (u16::from(*b) << 8), |crc, _| shift(crc));
    tag(key).iter().fold(0, byte) % 16_384
}

/// A key of the caller's own that is where `like` is.
fn beside(like: &[u8]) -> Vec<u8> {
    [b"{", tag(like), b"}own"].concat()
}

/// All that can be done with what is held; `like` is one of its keys.
fn hold<B: Backend>(held: Option<Held<B>>, like: &[u8]) -> Result<(), Error> {
    let mut held = held.expect("nobody has it");
    assert!(held.refresh().wait()?);
    held.renewal().step().wait()?;
    assert!(held.guarded(&cmd::set(&beside(like), 1)).wait()?.is_some());
    assert!(held.release().wait()?);
    Ok(())
}

/// What a shop is made of in this test.
struct Shop<'s, B> {
    backend: &'s B,
    keys: &'s Keys,
    env: &'s Env,
    /// The ids that everything gets.
    a: &'s [u8],
    b: &'s [u8],
}

impl<B: Backend> Shop<'_, B> {
    fn sessions_and_what_they_buy(&self) -> Result<(), Error> {
        let (backend, keys) = (self.backend.clone(), self.keys.clone());
        let sessions = Sessions::new(backend.clone(), keys.clone()).with_max_age(MINUTE);
        let (cart, purchases) = (
            Cart::new(backend.clone(), keys.clone()),
            Purchases::new(backend.clone(), keys.clone()),
        );
        for token in [self.a, self.b] {
            sessions.touch(token, self.b, Some(self.a)).wait()?;
            sessions.touch(token, self.b, Some(self.b)).wait()?;
            sessions.check(token).wait()?;
            sessions.recently_viewed(token).wait()?;
            cart.set(token, self.a, 2).wait()?;
            cart.add(token, self.b, 3).wait()?;
            cart.add(token, self.b, -1).wait()?;
            purchases.look(token, self.a).wait()?;
            purchases.purchase(token, token).wait()?;
            purchases.order(token).wait()?;
            cart.set(token, self.a, 1).wait()?;
        }
        purchases.record(self.a, &[self.a, self.b].concat(), &[(self.b, 1)]).wait()?;
        purchases.conversion(self.a).wait()?;
        purchases.also_bought(self.a, 9).wait()?;
        purchases.bestsellers(9).wait()?;
        purchases.orders().wait()?;
        sessions.touch(b"old", self.a, Some(self.b)).wait()?;
        self.env.advance(2 * MINUTE);
        sessions.touch(self.a, self.b, None).wait()?;
        sessions.clone().with_limit(0).clean_step().wait()?;
        sessions.logout(self.a).wait()?;
        cart.clear(self.b).wait()?;
        sessions.count().wait()?;
        let popularity = Popularity::new(backend.clone(), keys.clone());
        popularity.rank(self.a).wait()?;
        popularity.top(5).wait()?;
        popularity.rescale(3).wait()?;
        let pages = PageCache::new(backend, keys);
        let render = || async { Ok::<_, Error>("page".into()) };
        pages.fetch(b"/?item=a", render).wait()?;
        pages.forget(b"/?item=a").wait()?;
        Ok(())
    }

    fn logs_and_counters(&self) -> Result<(), Error> {
        let (backend, keys) = (self.backend.clone(), self.keys.clone());
        let recent = RecentLog::new(backend.clone(), keys.clone());
        let common = CommonLog::new(backend.clone(), keys.clone());
        let counters = Counters::new(backend.clone(), keys.clone());
        let statistics = Statistics::new(backend, keys);
        for _ in 0..2 {
            for severity in [Severity::INFO, Severity::ERROR] {
                recent.log(self.a, &severity, self.b).wait()?;
                recent.recent(self.a, &severity, 9).wait()?;
                common.log(self.a, &severity, self.b).wait()?;
                common.log_once(self.a, &severity, self.b, self.b).wait()?;
                common.top(self.a, &severity, 9).wait()?;
                common.previous(self.a, &severity, 9).wait()?;
            }
            counters.increment_all(&[(self.a, 1), (self.b, 2)]).wait()?;
            counters.increment_once(self.a, 1, self.b).wait()?;
            counters.series(self.a, 60).wait()?;
            counters.known().wait()?;
            statistics.record(self.a, self.b, 1.0).wait()?;
            statistics.record_once(self.a, self.b, 1.0, self.a).wait()?;
            statistics.summary(self.a, self.b).wait()?;
            statistics.previous(self.a, self.b).wait()?;
            statistics.record_access(self.a, MINUTE).wait()?;
            statistics.slowest(9).wait()?;
            self.env.advance(61 * MINUTE);
            counters.cleaner().pass().wait()?;
        }
        Ok(())
    }

    fn locks_and_semaphores(&self) -> Result<(), Error> {
        let (backend, keys, name) = (self.backend.clone(), self.keys, self.a);
        let lease = Lease::of(MINUTE)?;
        let lock = Lock::new(backend.clone(), keys, name)?.with_repair();
        hold(lock.try_acquire(lease).wait()?, &keys.lock(name))?;
        let fair = FairLock::new(backend.clone(), keys, name)?;
        hold(fair.try_acquire(lease).wait()?, &keys.fair_lock(name)[0])?;
        let semaphore = Semaphore::new(backend.clone(), keys, name, 1)?;
        let held = semaphore.try_acquire(lease).wait()?;
        semaphore.ask(self.b, lease).wait()?;
        semaphore.count().wait()?;
        semaphore.cancel(self.b).wait()?;
        hold(held, &keys.semaphore(name)[0])?;
        let (limit, timeout) = (1, MINUTE);
        let basic = TimestampSemaphore::new(backend.clone(), keys, name, limit, timeout)?;
        for id in [self.a, self.b] {
            basic.acquire(id).wait()?;
        }
        basic.release(self.a).wait()?;
        let counter = CounterSemaphore::new(backend.clone(), keys, name, limit, timeout)?;
        for id in [self.a, self.b] {
            counter.acquire(id).wait()?;
            counter.refresh(id).wait()?;
        }
        counter.release(self.a).wait()?;
        let guarded = GuardedSemaphore::new(backend, keys, name, limit, timeout, lease)?;
        guarded.acquire(self.a).wait()?;
        guarded.release(self.a).wait()?;
        Ok(())
    }

    fn sales_and_queues(&self) -> Result<(), Error> {
        let (backend, keys) = (self.backend.clone(), self.keys.clone());
        for (how, order) in [
            (How::Atomic, b"1"),
            (How::FairByTicket, b"2"),
            (How::Locked, b"3"),
            (How::Optimistic, b"4"),
        ] {
            let sale = FlashSale::new(backend.clone(), keys.clone())
                .with_strategy(how)
                .with_patience(Patience::NONE)
                .with_reservation(Duration::from_millis(10))?
                .with_limit(1)?;
            sale.restock(self.a, order, 2).wait()?;
            sale.buy(self.a, self.b, 1, order).wait()?;
            sale.buy(self.a, self.b, 1, b"above the limit").wait()?;
            sale.confirm(self.a, order).wait()?;
            sale.give_back(self.a, order).wait()?;
            sale.stock(self.a).wait()?;
            sale.reclaim_step(self.a).wait()?;
        }
        let queue = DelayedQueue::new(backend.clone(), &keys, self.a)?.with_most_tries(1)?;
        queue.add_all(&[self.a, b"other"], Some(self.b), Duration::ZERO).wait()?;
        let token = queue.claim_as(self.b, 9).wait()?.token;
        queue.add(self.a, None, MINUTE).wait()?;
        queue.extend(&token, self.a).wait()?;
        queue.ack(&token, self.a).wait()?;
        queue.give_back(&token, b"other", Duration::ZERO).wait()?;
        queue.dead_letters(9).wait()?;
        queue.revive(b"other", MINUTE).wait()?;
        queue.counts().wait()?;
        queue.due_at(b"other").wait()?;
        queue.remove(b"other").wait()?;
        let expiry = ExpiryQueue::new(backend, &keys)?;
        let own = beside(&keys.delayed(b"expire_queue")[0]);
        self.backend.run(cmd::set(&own, 1)).wait()?;
        expiry.add(&own, Duration::ZERO).wait()?;
        assert_eq!(expiry.step(9).wait()?.deleted, 1);
        Ok(())
    }

    fn rows_and_people(&self) -> Result<(), Error> {
        let (backend, keys) = (self.backend.clone(), self.keys.clone());
        let rows = RowCache::new(backend.clone(), keys.clone());
        let database = Database::of(&[self.a]);
        for row in [self.a, b"missing"] {
            rows.schedule(row, Duration::from_secs(1)).wait()?;
            rows.planned(row).wait()?;
            rows.refresh_step(&database).wait()?;
            rows.fetch(row, MINUTE, &database).wait()?;
            rows.get(row).wait()?;
            rows.columns(row).wait()?;
        }
        self.env.advance(MINUTE);
        database.0.lock().down = true;
        rows.refresh_step(&database).wait()?;
        rows.scheduled().wait()?;
        rows.failing(9).wait()?;
        rows.unschedule(self.a).wait()?;
        let contacts = Contacts::new(backend.clone(), keys.clone());
        contacts.add(self.a, self.b).wait()?;
        contacts.suggest(self.a, self.b).wait()?;
        contacts.remove(self.a, self.b).wait()?;
        contacts.clear(self.a).wait()?;
        let book = AddressBook::new(backend, keys);
        for name in [self.a, self.b] {
            book.join(self.a, name).wait()?;
            book.suggest(self.a, name, 9).wait()?;
        }
        book.members(self.a).wait()?;
        book.leave(self.a, self.b).wait()?;
        Ok(())
    }

    /// Everything that the shop can do.
    fn all(&self) -> Result<(), Error> {
        self.sessions_and_what_they_buy()?;
        self.logs_and_counters()?;
        self.locks_and_semaphores()?;
        self.sales_and_queues()?;
        self.rows_and_people()
    }
}

/// Runs all with these ids, and gives the keys that were named together each time.
fn told(keys: &Keys, a: &[u8], b: &[u8], scripts: bool) -> BTreeSet<Vec<Bytes>> {
    let (memory, env) = memory();
    let told = Arc::new(Mutex::new(BTreeSet::new()));
    let to = Arc::clone(&told);
    let telling = Interposed::telling_keys(memory.clone(), move |keys| {
        to.lock().unwrap().insert(keys.to_vec());
    });
    let telling = if scripts { telling } else { telling.without_scripts() };
    Shop { backend: &telling, keys, env: &env, a, b }.all().unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    // No script has a key that it does not declare.
    let named: BTreeSet<&Bytes> = told.iter().flatten().collect();
    for key in all_keys(&memory) {
        assert!(named.contains(&key), "{key:?} was not named");
    }
    told
}

/// Ids made of what could break a tag.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"{".to_vec()),
        3 => Just(b"}".to_vec()),
        1 => Just(b":".to_vec()),
        1 => Just(b"/".to_vec()),
        1 => Just(b"%".to_vec()),
        1 => vec(any::<u8>(), 1..3),
    ];
    vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_changed_together_is_in_one_slot(
        space in hostile(),
        ids in vec(hostile(), 2).prop_filter("two ids", |ids| ids[0] != ids[1]),
        scripts in any::<bool>(),
    ) {
        for keys in [Keys::clustered(&space), Keys::tagged(&space)] {
            for together in told(&keys, &ids[0], &ids[1], scripts) {
                let slots: BTreeSet<u16> = together.iter().map(|key| slot(key)).collect();
                prop_assert!(slots.len() <= 1, "{together:?}");
                // Not by chance: 1 of 16,384 pairs of tags share a slot.
                let tags: BTreeSet<&[u8]> = together.iter().map(|key| tag(key)).collect();
                prop_assert!(tags.len() <= 1, "{together:?}");
            }
        }
    }
}

#[test]
fn without_tags_it_would_not_be() {
    let split = told(&Keys::in_namespace("shop"), b"a", b"b", true);
    let split = split.iter().filter(|keys| keys.iter().any(|key| slot(key) != slot(&keys[0])));
    assert!(split.count() > 20);
}

#[test]
fn what_is_not_changed_together_spreads_over_the_slots() {
    let keys = Keys::clustered("shop");
    let mut slots: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for n in 0..1_000 {
        let id = format!("id {n}");
        let id = id.as_bytes();
        let each = [
            ("lock", keys.lock(id)),
            ("semaphore", keys.semaphore(id)[0].clone()),
            ("sale", keys.sale(id)[0].clone()),
            ("queue", keys.delayed(id)[0].clone()),
            ("log", keys.common(id, "info")),
            ("statistics", keys.stats(id, b"k", 0)),
            ("contacts", keys.contacts(id)),
            ("page", keys.page(id)),
            ("members", keys.members(id)),
        ];
        for (what, key) in each {
            slots.entry(what).or_default().insert(slot(&key));
        }
    }
    // Of 1,000 at random about 970 differ.
    for (what, slots) in slots {
        assert!(slots.len() > 900, "{what}: {}", slots.len());
    }
    // Two shops are apart also where a feature has one slot.
    let other = Keys::clustered("shop 2");
    assert_ne!(slot(&keys.known()), slot(&other.known()));
    assert_ne!(slot(&keys.known()), slot(&keys.recent()));
}

/// A server that has all slots of a cluster takes everything, and refuses the published names.
#[cfg(feature = "redis")]
#[test]
fn a_node_of_a_cluster_takes_all_of_it() {
    use stockroom::backend::{Redis, RedisConfig};
    use stockroom::resp::Value;

    let Some(server) = crate::support::started_redis(&["--cluster-enabled", "yes"]) else { return };
    let mut wire = server.connect();
    wire.call(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let up = |wire: &mut crate::support::Wire| {
        let info = wire.call(&["CLUSTER", "INFO"]);
        String::from_utf8_lossy(&info.bytes).contains("cluster_state:ok")
    };
    let ready = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        up(&mut wire)
    });
    assert!(ready, "no cluster after ten seconds");
    let of = |env: &Env| {
        let config = RedisConfig { env: env.clone(), ..RedisConfig::default() };
        Redis::lazy(&format!("redis://{}", server.addr()), config).unwrap()
    };
    let ids: [&[u8]; 6] = [b"a", b"{", b"}{x}", b"{}", b"%7B:", b"\0\xff/"];
    for (n, id) in ids.into_iter().enumerate() {
        for scripts in [true, false] {
            for keys in [Keys::clustered([n as u8]), Keys::tagged([n as u8])] {
                let (_, env) = memory();
                let redis = Interposed::telling_keys(of(&env), |_| ());
                let redis = if scripts { redis } else { redis.without_scripts() };
                Shop { backend: &redis, keys: &keys, env: &env, a: id, b: b"b" }.all().unwrap();
                for key in all_keys(&redis) {
                    let asked = wire.call(&[&b"CLUSTER"[..], b"KEYSLOT", &key]).value;
                    assert_eq!(asked, Value::Int(slot(&key).into()), "{key:?}");
                }
                wire.call(&["FLUSHALL"]);
            }
        }
    }
    let (_, env) = memory();
    let (redis, keys) = (of(&env), Keys::in_namespace("shop"));
    let error = Sessions::new(redis, keys).touch(b"t", b"u", None).wait().unwrap_err();
    assert_eq!(error.code(), Some("CROSSSLOT"), "{error}");
}
