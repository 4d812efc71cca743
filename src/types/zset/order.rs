//! [`Order`]: the elements of a large sorted set in order, a counted B+tree.
//!
//! Leaves hold (score, slot) pairs, inner nodes the first pair and the number of elements of each
//! child. So a rank is the sum of counts left of a path, and the same descent finds positions by
//! score, by member or by rank. Members live elsewhere: a search is for a [`Place`], and only the
//! place looks members up, on ties.
//!
//! Why not the skip list of Redis: it needs a pointer, a span and a level per element, and a cache
//! miss per comparison; 64 elements of a leaf share a dozen cache lines.
//!
//! Invariants: all leaves at one depth; no empty node but the root leaf; an inner node's key and
//! count for a child are that child's first pair and size; an inner root has two children or more.
//! A node may be small: neighbours are merged when one falls to a quarter, and splits at either
//! end of the order leave full nodes behind, for elements that arrive in order.

use std::ops::Range;

/// A place in the order: what it finds below itself must be a prefix.
pub(super) trait Place {
    /// How many of these sorted pairs, leading ones, are below the place.
    fn count_below(&self, scores: &[f64], slots: &[u32]) -> usize;
}

/// Number of leading scores for which `below` holds. Counts cache lines, then in a line: unlike in
/// a binary search no step waits for the memory of the one before.
#[inline]
pub(super) fn count_scores(scores: &[f64], below: impl Fn(f64) -> bool) -> usize {
    const LINE: usize = 8;
    let count = |scores: &[f64]| scores.iter().map(|&s| usize::from(below(s))).sum::<usize>();
    let (lines, rest) = scores.as_chunks::<LINE>();
    let full: usize = lines.iter().map(|line| usize::from(below(line[LINE - 1]))).sum();
    full * LINE + lines.get(full).map_or_else(|| count(rest), |line| count(line))
}

/// Pairs in a leaf, children in an inner node.
const WIDTH: usize = 64;
/// A node this small is merged with a neighbour if they fit together with room to spare.
const SMALL: usize = WIDTH / 4;
const ROOMY: usize = WIDTH * 3 / 4;

/// Sorted (score, slot) pairs, in columns.
#[derive(Clone)]
pub(super) struct Keys {
    len: usize,
    scores: [f64; WIDTH],
    slots: [u32; WIDTH],
}

#[derive(Clone)]
struct Inner {
    /// The first pair of each child.
    keys: Keys,
    /// The number of elements in each child.
    counts: [u32; WIDTH],
    nodes: Vec<Node>,
}

#[derive(Clone)]
enum Node {
    Leaf(Box<Keys>),
    Inner(Box<Inner>),
}

#[derive(Clone)]
pub(super) struct Order {
    root: Node,
    len: usize,
}

fn open<T: Copy>(column: &mut [T; WIDTH], len: usize, at: usize, value: T) {
    column.copy_within(at..len, at + 1);
    column[at] = value;
}

impl Keys {
    const EMPTY: Self = Self { len: 0, scores: [0.0; WIDTH], slots: [0; WIDTH] };

    /// The columns.
    pub(super) fn scores(&self) -> &[f64] {
        &self.scores[..self.len]
    }

    /// The columns.
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots[..self.len]
    }

    /// Number of pairs below a place.
    #[inline]
    fn below(&self, place: &impl Place) -> usize {
        place.count_below(self.scores(), self.slots())
    }

    fn insert(&mut self, at: usize, (score, slot): (f64, u32)) {
        open(&mut self.scores, self.len, at, score);
        open(&mut self.slots, self.len, at, slot);
        self.len += 1;
    }

    fn remove(&mut self, range: Range<usize>) {
        self.scores.copy_within(range.end..self.len, range.start);
        self.slots.copy_within(range.end..self.len, range.start);
        self.len -= range.len();
    }

    fn split_off(&mut self, at: usize) -> Self {
        let mut right = Self::EMPTY;
        right.len = self.len - at;
        right.scores[..right.len].copy_from_slice(&self.scores[at..self.len]);
        right.slots[..right.len].copy_from_slice(&self.slots[at..self.len]);
        self.len = at;
        right
    }

    fn append(&mut self, right: &Self) {
        let end = self.len + right.len;
        self.scores[self.len..end].copy_from_slice(right.scores());
        self.slots[self.len..end].copy_from_slice(right.slots());
        self.len = end;
    }

    /// Gives the pair at `from` another score and moves it to `to`.
    fn rescore(&mut self, from: usize, to: usize, score: f64) {
        let turned = from.min(to)..from.max(to) + 1;
        self.scores[from] = score;
        if from < to {
            self.scores[turned.clone()].rotate_left(1);
            self.slots[turned].rotate_left(1);
        } else {
            self.scores[turned.clone()].rotate_right(1);
            self.slots[turned].rotate_right(1);
        }
    }
}

/// Where a full node is split when another pair comes in at `at`: in the middle, or so that the
/// full node stays full when the pair is the first or the last of the whole order.
fn split_point(at: usize, first: bool, last: bool) -> usize {
    match at {
        0 if first => 0,
        WIDTH if last => WIDTH,
        _ => WIDTH / 2,
    }
}

/// Whether a pair for `at` goes to the left half of a node split at `point`.
fn goes_left(at: usize, point: usize) -> bool {
    at < point || at == point && point < WIDTH
}

impl Inner {
    fn of(first: Node, second: Node) -> Self {
        let mut inner =
            Self { keys: Keys::EMPTY, counts: [0; WIDTH], nodes: Vec::with_capacity(WIDTH) };
        inner.put(0, first);
        inner.put(1, second);
        inner
    }

    fn put(&mut self, at: usize, node: Node) {
        open(&mut self.counts, self.keys.len, at, node.count() as u32);
        self.keys.insert(at, node.first());
        self.nodes.insert(at, node);
    }

    fn remove(&mut self, range: Range<usize>) {
        self.counts.copy_within(range.end..self.keys.len, range.start);
        self.keys.remove(range.clone());
        self.nodes.drain(range);
    }

    fn split_off(&mut self, at: usize) -> Self {
        let mut counts = [0; WIDTH];
        counts[..self.keys.len - at].copy_from_slice(&self.counts[at..self.keys.len]);
        let mut nodes = Vec::with_capacity(WIDTH);
        nodes.extend(self.nodes.drain(at..));
        Self { keys: self.keys.split_off(at), counts, nodes }
    }

    fn append(&mut self, right: Self) {
        let at = self.keys.len;
        self.counts[at..at + right.keys.len].copy_from_slice(&right.counts[..right.keys.len]);
        self.keys.append(&right.keys);
        self.nodes.extend(right.nodes);
    }

    fn refresh_key(&mut self, i: usize) {
        if let Some(node) = self.nodes.get(i) {
            (self.keys.scores[i], self.keys.slots[i]) = node.first();
        }
    }

    /// The child that holds rank `rank` of this node, and the rank within it.
    fn child_at(&self, mut rank: usize) -> (usize, usize) {
        for (i, &count) in self.counts[..self.keys.len].iter().enumerate() {
            if rank < count as usize {
                return (i, rank);
            }
            rank -= count as usize;
        }
        (self.keys.len - 1, rank)
    }

    fn rank_of_child(&self, i: usize) -> usize {
        self.counts[..i].iter().map(|&n| n as usize).sum()
    }

    /// Merges child `i`, if small, with a neighbour, if both fit.
    fn merge_around(&mut self, i: usize) {
        if self.nodes.get(i).is_none_or(|node| node.width() > SMALL) {
            return;
        }
        for left in [Some(i), i.checked_sub(1)].into_iter().flatten() {
            let Some(right) = self.nodes.get(left + 1) else { continue };
            if self.nodes[left].width() + right.width() <= ROOMY {
                let right = self.nodes.remove(left + 1);
                let count = self.counts[left + 1];
                self.nodes[left].append(right);
                self.counts.copy_within(left + 2..self.keys.len, left + 1);
                self.counts[left] += count;
                self.keys.remove(left + 1..left + 2);
                return;
            }
        }
    }
}

impl Node {
    fn first(&self) -> (f64, u32) {
        let keys = self.keys();
        (keys.scores[0], keys.slots[0])
    }

    fn keys(&self) -> &Keys {
        match self {
            Self::Leaf(keys) => keys,
            Self::Inner(inner) => &inner.keys,
        }
    }

    fn width(&self) -> usize {
        self.keys().len
    }

    fn count(&self) -> usize {
        match self {
            Self::Leaf(keys) => keys.len,
            Self::Inner(inner) => inner.rank_of_child(inner.keys.len),
        }
    }

    fn append(&mut self, right: Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.append(&right),
            (Self::Inner(left), Self::Inner(right)) => left.append(*right),
            _ => {} // All leaves are at one depth.
        }
    }

    /// Inserts a pair at its place; a node split off is returned. `first` and `last` say whether
    /// this node is at either end of the order.
    fn insert(
        &mut self,
        pair: (f64, u32),
        place: &impl Place,
        first: bool,
        last: bool,
    ) -> Option<Self> {
        let inner = match self {
            Self::Leaf(keys) => return insert_in_leaf(keys, pair, place, first, last),
            Self::Inner(inner) => inner,
        };
        let i = inner.keys.below(place).saturating_sub(1);
        let is_last = last && i + 1 == inner.keys.len;
        let split = inner.nodes[i].insert(pair, place, first && i == 0, is_last);
        inner.refresh_key(i);
        inner.counts[i] += 1;
        let node = split?;
        inner.counts[i] -= node.count() as u32;
        let at = i + 1;
        if inner.keys.len < WIDTH {
            inner.put(at, node);
            return None;
        }
        let point = split_point(at, false, last);
        let mut right = inner.split_off(point);
        if goes_left(at, point) {
            inner.put(at, node);
        } else {
            right.put(at - point, node);
        }
        Some(Self::Inner(Box::new(right)))
    }

    /// Removes the elements at these ranks, handing their slots to `sink`.
    fn remove_range(&mut self, range: Range<usize>, sink: &mut impl FnMut(u32)) {
        let inner = match self {
            Self::Leaf(keys) => {
                keys.slots[range.clone()].iter().for_each(|&slot| sink(slot));
                return keys.remove(range);
            }
            Self::Inner(inner) => inner,
        };
        let (first, offset) = inner.child_at(range.start);
        let mut start = range.start - offset;
        let mut emptied = 0..0;
        for i in first..inner.keys.len {
            if start >= range.end {
                break;
            }
            let count = inner.counts[i] as usize;
            let part = range.start.max(start) - start..range.end.min(start + count) - start;
            start += count;
            inner.counts[i] -= part.len() as u32;
            if inner.counts[i] > 0 {
                inner.nodes[i].remove_range(part, sink);
                inner.refresh_key(i);
            } else {
                inner.nodes[i].for_each_slot(sink);
                emptied = if emptied.is_empty() { i..i + 1 } else { emptied.start..i + 1 };
            }
        }
        inner.remove(emptied);
        inner.merge_around(first + 1);
        inner.merge_around(first);
    }

    fn for_each_slot(&self, f: &mut impl FnMut(u32)) {
        match self {
            Self::Leaf(keys) => keys.slots().iter().for_each(|&slot| f(slot)),
            Self::Inner(inner) => inner.nodes.iter().for_each(|node| node.for_each_slot(f)),
        }
    }

    /// Rescores the element at `rank` if its new place is in the same leaf.
    fn rescore(&mut self, rank: usize, score: f64, place: &impl Place) -> bool {
        match self {
            Self::Leaf(keys) => {
                let target = keys.below(place);
                if target == 0 || target == keys.len {
                    return false;
                }
                keys.rescore(rank, if target > rank { target - 1 } else { target }, score);
                true
            }
            Self::Inner(inner) => {
                let (i, rank) = inner.child_at(rank);
                let stays = inner.nodes[i].rescore(rank, score, place);
                inner.refresh_key(i);
                stays
            }
        }
    }

    fn renumber(&mut self, f: &impl Fn(u32) -> u32) {
        let keys = match self {
            Self::Leaf(keys) => keys,
            Self::Inner(inner) => {
                inner.nodes.iter_mut().for_each(|node| node.renumber(f));
                &mut inner.keys
            }
        };
        keys.slots[..keys.len].iter_mut().for_each(|slot| *slot = f(*slot));
    }

    fn replace_slot(&mut self, rank: usize, to: u32) {
        match self {
            Self::Leaf(keys) => keys.slots[rank] = to,
            Self::Inner(inner) => {
                let (i, rank) = inner.child_at(rank);
                inner.nodes[i].replace_slot(rank, to);
                inner.refresh_key(i);
            }
        }
    }

    fn heap_size(&self) -> usize {
        match self {
            Self::Leaf(_) => size_of::<Keys>(),
            Self::Inner(inner) => {
                size_of::<Inner>()
                    + inner.nodes.capacity() * size_of::<Self>()
                    + inner.nodes.iter().map(Self::heap_size).sum::<usize>()
            }
        }
    }

    /// Checks the subtree and returns its depth.
    fn check(&self) -> usize {
        let Self::Inner(inner) = self else { return 0 };
        assert_eq!(inner.keys.len, inner.nodes.len(), "a key per child");
        let mut depth = None;
        for (i, node) in inner.nodes.iter().enumerate() {
            assert!(node.width() > 0, "an empty node in the tree");
            assert_eq!(inner.counts[i] as usize, node.count(), "count of child {i}");
            assert_eq!((inner.keys.scores[i], inner.keys.slots[i]), node.first(), "key {i}");
            let below = node.check();
            assert_eq!(*depth.get_or_insert(below), below, "leaves at different depths");
        }
        depth.unwrap_or(0) + 1
    }
}

fn insert_in_leaf(
    keys: &mut Keys,
    pair: (f64, u32),
    place: &impl Place,
    first: bool,
    last: bool,
) -> Option<Node> {
    let at = keys.below(place);
    if keys.len < WIDTH {
        keys.insert(at, pair);
        return None;
    }
    let point = split_point(at, first, last);
    let mut right = Box::new(keys.split_off(point));
    if goes_left(at, point) {
        keys.insert(at, pair);
    } else {
        right.insert(at - point, pair);
    }
    Some(Node::Leaf(right))
}

impl Order {
    pub(super) fn new() -> Self {
        Self { root: Node::Leaf(Box::new(Keys::EMPTY)), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of elements below a place. O(log n).
    pub(super) fn rank(&self, place: &impl Place) -> usize {
        let (mut node, mut rank) = (&self.root, 0);
        loop {
            match node {
                Node::Leaf(keys) => return rank + keys.below(place),
                Node::Inner(inner) => {
                    let i = inner.keys.below(place).saturating_sub(1);
                    rank += inner.rank_of_child(i);
                    node = &inner.nodes[i];
                }
            }
        }
    }

    /// The leaf that holds `rank`, and the position in it. O(log n).
    pub(super) fn leaf_at(&self, rank: usize) -> (&Keys, usize) {
        let (mut node, mut rank) = (&self.root, rank);
        loop {
            match node {
                Node::Leaf(keys) => return (keys, rank),
                Node::Inner(inner) => {
                    let (i, within) = inner.child_at(rank);
                    (node, rank) = (&inner.nodes[i], within);
                }
            }
        }
    }

    /// Inserts a pair at its place. O(log n).
    pub(super) fn insert(&mut self, pair: (f64, u32), place: &impl Place) {
        self.len += 1;
        if let Some(right) = self.root.insert(pair, place, true, true) {
            let left = std::mem::replace(&mut self.root, Node::Leaf(Box::new(Keys::EMPTY)));
            self.root = Node::Inner(Box::new(Inner::of(left, right)));
        }
    }

    /// Removes the elements at these ranks, handing their slots to `sink`. O(log n + k).
    pub(super) fn remove_range(&mut self, range: Range<usize>, sink: &mut impl FnMut(u32)) {
        if range.is_empty() {
            return;
        }
        self.len -= range.len();
        if self.len == 0 {
            self.root.for_each_slot(sink);
            self.root = Node::Leaf(Box::new(Keys::EMPTY));
            return;
        }
        self.root.remove_range(range, sink);
        while let Node::Inner(inner) = &mut self.root
            && inner.keys.len == 1
            && let Some(only) = inner.nodes.pop()
        {
            self.root = only;
        }
    }

    /// Rescores the element at `rank` if its new place is in the same leaf, and says whether it
    /// was. O(log n).
    pub(super) fn rescore(&mut self, rank: usize, score: f64, place: &impl Place) -> bool {
        self.root.rescore(rank, score, place)
    }

    /// Puts slot `to` in the place of the slot at `rank`. O(log n).
    pub(super) fn replace_slot(&mut self, rank: usize, to: u32) {
        self.root.replace_slot(rank, to);
    }

    /// Renumbers all slots. O(n).
    pub(super) fn renumber(&mut self, f: impl Fn(u32) -> u32) {
        self.root.renumber(&f);
    }

    pub(super) fn heap_size(&self) -> usize {
        self.root.heap_size()
    }

    pub(super) fn check_invariants(&self) {
        self.root.check();
        assert_eq!(self.root.count(), self.len, "elements are counted");
        if let Node::Inner(inner) = &self.root {
            assert!(inner.keys.len > 1, "a root with one child");
        }
    }
}
