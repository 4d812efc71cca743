//! [`Flights`]: when many want the same thing at once, one makes it and the others wait for it.
//!
//! Within one process. The first to come leads; when the leader fails, or its future is dropped,
//! one of those who wait takes over.
//!
//! Invariants: at most one leader a key; a follower is woken when its flight ends, however it
//! ends; a flight is off the map before it ends, so whoever looks afterwards starts a new one.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use foldhash::fast::FixedState;
use parking_lot::Mutex;

use crate::bytes::Bytes;

/// What is under way, by key.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights(Arc<DashMap<Bytes, Arc<Flight>, FixedState>>);

#[derive(Debug, Default)]
pub(super) struct Flight(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    followers: Vec<Waker>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Flying,
    Landed(Bytes),
    Lost,
}

/// One's part in a flight.
pub(super) enum Part {
    Lead(Lead),
    Follow(Arc<Flight>),
}

/// The right and duty to make the thing.
pub(super) struct Lead {
    flights: Flights,
    key: Bytes,
    flight: Arc<Flight>,
    /// How the flight ends when this is dropped.
    end: Phase,
}

impl Flights {
    /// Joins the flight of `key`, or starts it.
    pub(super) fn join(&self, key: &[u8]) -> Part {
        let key = Bytes::copy_from(key);
        match self.0.entry(key.clone()) {
            Entry::Occupied(there) => Part::Follow(Arc::clone(there.get())),
            Entry::Vacant(free) => {
                let flight = Arc::<Flight>::default();
                free.insert(Arc::clone(&flight));
                Part::Lead(Lead { flights: self.clone(), key, flight, end: Phase::Lost })
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Lead {
    /// Ends the flight with a result for all who wait.
    pub(super) fn land(mut self, result: Bytes) {
        self.end = Phase::Landed(result);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.flights.0.remove_if(&self.key, |_, flight| Arc::ptr_eq(flight, &self.flight));
        let mut state = self.flight.0.lock();
        state.phase = std::mem::take(&mut self.end);
        let followers = std::mem::take(&mut state.followers);
        drop(state);
        followers.into_iter().for_each(Waker::wake);
    }
}

impl Flight {
    /// Waits for the end. `None`: the leader failed or went away.
    pub(super) async fn result(&self) -> Option<Bytes> {
        poll_fn(|cx| {
            let mut state = self.0.lock();
            match &state.phase {
                Phase::Flying => {}
                Phase::Landed(result) => return Poll::Ready(Some(result.clone())),
                Phase::Lost => return Poll::Ready(None),
            }
            if !state.followers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.followers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    #[test]
    fn dropped_leader_wakes_its_followers_and_leaves_nothing_behind() {
        let flights = Flights::default();
        let Part::Lead(lead) = flights.join(b"k") else { panic!("the first leads") };
        let Part::Follow(flight) = flights.join(b"k") else { panic!("the second follows") };
        let mut result = pin!(flight.result());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(result.as_mut().poll(&mut cx).is_pending());
        drop(lead);
        assert_eq!(result.as_mut().poll(&mut cx), Poll::Ready(None));
        assert_eq!(flights.len(), 0);
        let Part::Lead(lead) = flights.join(b"k") else { panic!("a new flight") };
        lead.land("x".into());
        assert_eq!(flights.len(), 0);
    }
}
