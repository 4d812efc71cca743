//! Lists. The commands that wait for an element are in `blocking`.

use std::ops::Range;

use super::args::{int, is};
use super::{Acl, Arg, Cx, Flags, Handler, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::Value;
use crate::types::{End, List};

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &LINDEX, &LINSERT, &LLEN, &LMOVE, &LMPOP, &LPOP, &LPOS, &LPUSH, &LPUSHX, &LRANGE, &LREM, &LSET,
    &LTRIM, &RPOP, &RPOPLPUSH, &RPUSH, &RPUSHX,
];

const EITHER_END: Arg = Arg::One(&[Arg::Tok("LEFT"), Arg::Tok("RIGHT")]);
const READ: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))];
const INSERT: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::INSERT))];
const DELETE: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::DELETE))];
const POP: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))];
const MOVE: &[KeySpec] = &[
    KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
    KeySpec::at(2, KeyFlags::RW.or(KeyFlags::INSERT)),
];
const GROWS: Flags = Flags::WRITE.or(Flags::DENYOOM);
const GROWS_FAST: Flags = GROWS.or(Flags::FAST);
const PUSHED: &[Arg] = &[Arg::Key, Arg::Many(&[Arg::Member])];
const PUSH_COST: &str = "O(1) for each element added, so O(N) to add N elements when the command \
    is called with multiple arguments.";
const POPPED: &[Arg] = &[Arg::Key, Arg::Opt(&[Arg::Count])];
const POP_COST: &str = "O(N) where N is the number of elements returned";

const fn row(name: &'static str, handler: Handler, flags: Flags, args: &'static [Arg]) -> Spec {
    Spec::new(name, Run::Data(handler), flags, args).acl(Acl::LIST)
}

/// `LINDEX key index`
pub const LINDEX: Spec =
    row("LINDEX", lindex, Flags::READONLY, &[Arg::Key, Arg::Index]).keys(READ).doc(
        "list",
        "1.0.0",
        "O(N) where N is the number of elements to traverse to get to the element at index. This \
         makes asking for the first or the last element of the list O(1).",
        "Get an element from a list by its index",
    );

/// `LINSERT key BEFORE | AFTER pivot element`
pub const LINSERT: Spec = row(
    "LINSERT",
    linsert,
    GROWS,
    &[Arg::Key, Arg::One(&[Arg::Tok("BEFORE"), Arg::Tok("AFTER")]), Arg::Member, Arg::Member],
)
.keys(INSERT)
.doc(
    "list",
    "2.2.0",
    "O(N) where N is the number of elements to traverse before seeing the value pivot. This means \
     that inserting somewhere on the left end on the list (head) can be considered O(1) and \
     inserting somewhere on the right end (tail) is O(N).",
    "Insert an element before or after another element in a list",
);

/// `LLEN key`
pub const LLEN: Spec = row("LLEN", llen, Flags::READONLY.or(Flags::FAST), &[Arg::Key])
    .keys(&[KeySpec::at(1, KeyFlags::RO)])
    .doc("list", "1.0.0", "O(1)", "Get the length of a list");

/// `LMOVE source destination LEFT | RIGHT LEFT | RIGHT`
pub const LMOVE: Spec =
    row("LMOVE", lmove, GROWS, &[Arg::Key, Arg::Key, EITHER_END, EITHER_END]).keys(MOVE).doc(
        "list",
        "6.2.0",
        "O(1)",
        "Pop an element from a list, push it to another list and return it",
    );

/// `LMPOP numkeys key [key ...] LEFT | RIGHT [COUNT count]`
pub const LMPOP: Spec = row(
    "LMPOP",
    lmpop,
    Flags::WRITE,
    &[Arg::NumKeys, EITHER_END, Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count])],
)
.keys(&[KeySpec::counted(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))])
.doc(
    "list",
    "7.0.0",
    "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
    "Pop elements from a list",
);

/// `LPOP key [count]`
pub const LPOP: Spec = row("LPOP", lpop, Flags::WRITE.or(Flags::FAST), POPPED).keys(POP).doc(
    "list",
    "1.0.0",
    POP_COST,
    "Remove and get the first elements in a list",
);

/// `LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]`
pub const LPOS: Spec = row(
    "LPOS",
    lpos,
    Flags::READONLY,
    &[
        Arg::Key,
        Arg::Member,
        Arg::Opt(&[Arg::Tok("RANK"), Arg::Index]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
        Arg::Opt(&[Arg::Tok("MAXLEN"), Arg::Count]),
    ],
)
.keys(READ)
.doc(
    "list",
    "6.0.6",
    "O(N) where N is the number of elements in the list, for the average case. When searching for \
     elements near the head or the tail of the list, or when the MAXLEN option is provided, the \
     command may run in constant time.",
    "Return the index of matching elements on a list",
);

/// `LPUSH key element [element ...]`
pub const LPUSH: Spec = row("LPUSH", lpush, GROWS_FAST, PUSHED).keys(INSERT).doc(
    "list",
    "1.0.0",
    PUSH_COST,
    "Prepend one or multiple elements to a list",
);

/// `LPUSHX key element [element ...]`
pub const LPUSHX: Spec = row("LPUSHX", lpushx, GROWS_FAST, PUSHED).keys(INSERT).doc(
    "list",
    "2.2.0",
    PUSH_COST,
    "Prepend an element to a list, only if the list exists",
);

/// `LRANGE key start stop`
pub const LRANGE: Spec =
    row("LRANGE", lrange, Flags::READONLY, &[Arg::Key, Arg::Index, Arg::Index]).keys(READ).doc(
        "list",
        "1.0.0",
        "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest \
         end (HEAD or TAIL) for large lists; and N is the number of elements in the specified \
         range.",
        "Get a range of elements from a list",
    );

/// `LREM key count element`
pub const LREM: Spec =
    row("LREM", lrem, Flags::WRITE, &[Arg::Key, Arg::Index, Arg::Member]).keys(DELETE).doc(
        "list",
        "1.0.0",
        "O(N+M) where N is the length of the list and M is the number of elements removed.",
        "Remove elements from a list",
    );

/// `LSET key index element`
pub const LSET: Spec = row("LSET", lset, GROWS, &[Arg::Key, Arg::Index, Arg::Member])
    .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
    .doc(
        "list",
        "1.0.0",
        "O(N) where N is the length of the list. Setting either the first or the last element of \
         the list is O(1).",
        "Set the value of an element in a list by its index",
    );

/// `LTRIM key start stop`
pub const LTRIM: Spec =
    row("LTRIM", ltrim, Flags::WRITE, &[Arg::Key, Arg::Index, Arg::Index]).keys(DELETE).doc(
        "list",
        "1.0.0",
        "O(N) where N is the number of elements to be removed by the operation.",
        "Trim a list to the specified range",
    );

/// `RPOP key [count]`
pub const RPOP: Spec = row("RPOP", rpop, Flags::WRITE.or(Flags::FAST), POPPED).keys(POP).doc(
    "list",
    "1.0.0",
    POP_COST,
    "Remove and get the last elements in a list",
);

/// `RPOPLPUSH source destination`
pub const RPOPLPUSH: Spec =
    row("RPOPLPUSH", rpoplpush, GROWS, &[Arg::Key, Arg::Key]).keys(MOVE).doc(
        "list",
        "1.2.0",
        "O(1)",
        "Remove the last element in a list, prepend it to another list and return it",
    );

/// `RPUSH key element [element ...]`
pub const RPUSH: Spec = row("RPUSH", rpush, GROWS_FAST, PUSHED).keys(INSERT).doc(
    "list",
    "1.0.0",
    PUSH_COST,
    "Append one or multiple elements to a list",
);

/// `RPUSHX key element [element ...]`
pub const RPUSHX: Spec = row("RPUSHX", rpushx, GROWS_FAST, PUSHED).keys(INSERT).doc(
    "list",
    "2.2.0",
    PUSH_COST,
    "Append an element to a list, only if the list exists",
);

fn lindex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let Some(list) = cx.db.read::<List>(argv[1])? else { return Ok(Value::Nil) };
    let at = position(int(argv[2])?, list.len());
    Ok(Value::bulk_or_nil(at.and_then(|at| list.get(at))))
}

fn linsert(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, pivot, element) = (argv[1], argv[3], argv[4]);
    let after = is(argv[2], "AFTER");
    if !after && !is(argv[2], "BEFORE") {
        return Err(WireError::SYNTAX);
    }
    let len = cx.db.update::<List, _>(key, |list, _| {
        let Some(at) = list.iter().position(|e| e == pivot) else { return (-1, false) };
        list.insert(at + usize::from(after), element);
        (list.len() as i64, true)
    })?;
    Ok(len.unwrap_or(0).into())
}

fn llen(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<List>(argv[1])?.map_or(0, List::len).into())
}

fn lmove(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (from, to) = (end(argv[3])?, end(argv[4])?);
    transfer(cx, argv[1], argv[2], from, to)
}

fn lmpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let request = Multi::parse(&argv[1..])?;
    for key in request.keys {
        if let Some(popped) = pop_with_key(cx, key, request.end, request.count)? {
            return Ok(popped);
        }
    }
    Ok(Value::NilArray)
}

fn lpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, End::First, &LPOP)
}

fn lpos(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let search = Search::read(&argv[3..])?;
    let none = if search.count.is_some() { Value::Array(Vec::new()) } else { Value::Nil };
    let Some(list) = cx.db.read::<List>(argv[1])? else { return Ok(none) };
    let mut found = search.positions(list, argv[2]);
    Ok(match search.count {
        Some(_) => Value::Array(found.map(Value::from).collect()),
        None => found.next().map_or(none, Value::from),
    })
}

fn lpush(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    push(cx, argv, End::First)
}

fn lpushx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    push_existing(cx, argv, End::First)
}

fn lrange(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (start, stop) = (int(argv[2])?, int(argv[3])?);
    let Some(list) = cx.db.read::<List>(argv[1])? else { return Ok(Value::Array(Vec::new())) };
    Ok(Value::bulks(list.iter_range(range(start, stop, list.len()))))
}

fn lrem(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let count = int(argv[2])?;
    let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let removed = cx.db.update::<List, _>(argv[1], |list, _| {
        let removed = list.remove_equal(argv[3], most, count < 0);
        (removed, removed > 0)
    })?;
    Ok(removed.unwrap_or(0).into())
}

fn lset(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let set = cx.db.update::<List, _>(argv[1], |list, _| {
        let done = int(argv[2]).and_then(|index| {
            let at = position(index, list.len());
            at.filter(|at| list.set(*at, argv[3])).ok_or(WireError::INDEX_RANGE)
        });
        let changed = done.is_ok();
        (done, changed)
    })?;
    set.ok_or(WireError::NO_SUCH_KEY)?.map(|_| Value::OK)
}

fn ltrim(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (start, stop) = (int(argv[2])?, int(argv[3])?);
    cx.db.update::<List, _>(argv[1], |list, _| {
        let kept = range(start, stop, list.len());
        list.remove_range(kept.end..usize::MAX);
        list.remove_range(0..kept.start);
        ((), true) // a change to watchers even when nothing was trimmed
    })?;
    Ok(Value::OK)
}

fn rpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, End::Last, &RPOP)
}

fn rpoplpush(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    transfer(cx, argv[1], argv[2], End::Last, End::First)
}

fn rpush(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    push(cx, argv, End::Last)
}

fn rpushx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    push_existing(cx, argv, End::Last)
}

/// LEFT or RIGHT.
pub(super) fn end(word: &[u8]) -> Result<End, WireError> {
    match word {
        _ if is(word, "LEFT") => Ok(End::First),
        _ if is(word, "RIGHT") => Ok(End::Last),
        _ => Err(WireError::SYNTAX),
    }
}

/// Adds an element at an end.
#[inline]
pub(super) fn put(list: &mut List, end: End, element: &[u8]) {
    match end {
        End::First => list.push_front(element),
        End::Last => list.push_back(element),
    }
}

/// Removes the element at an end.
#[inline]
pub(super) fn take(list: &mut List, end: End) -> Option<Bytes> {
    match end {
        End::First => list.pop_front(),
        End::Last => list.pop_back(),
    }
}

fn push(cx: &mut Cx<'_>, argv: &[&[u8]], end: End) -> Reply {
    let len = cx.db.upsert::<List, _>(argv[1], |list, _| {
        argv[2..].iter().for_each(|element| put(list, end, element));
        (list.len(), true)
    })?;
    Ok(len.into())
}

fn push_existing(cx: &mut Cx<'_>, argv: &[&[u8]], end: End) -> Reply {
    let len = cx.db.update::<List, _>(argv[1], |list, _| {
        argv[2..].iter().for_each(|element| put(list, end, element));
        (list.len(), true)
    })?;
    Ok(len.unwrap_or(0).into())
}

/// LPOP and RPOP.
fn pop(cx: &mut Cx<'_>, argv: &[&[u8]], end: End, spec: &Spec) -> Reply {
    let key = argv[1];
    let Some(count) = argv.get(2) else {
        return Ok(pop_one(cx, key, end)?.map_or(Value::Nil, Value::Bulk));
    };
    if argv.len() > 3 {
        return Err(spec.arity_error());
    }
    let count = int(count).ok().and_then(|n| usize::try_from(n).ok());
    let count = count.ok_or(WireError::fixed("ERR value is out of range, must be positive"))?;
    Ok(pop_many(cx, key, end, count)?.unwrap_or(Value::NilArray))
}

/// What LMPOP asks for.
pub(super) struct Multi<'a> {
    pub(super) keys: &'a [&'a [u8]],
    pub(super) end: End,
    pub(super) count: usize,
}

impl<'a> Multi<'a> {
    /// Reads all from the number of keys on.
    pub(super) fn parse(args: &'a [&'a [u8]]) -> Result<Self, WireError> {
        let positive = |word: Option<&&[u8]>, error: &'static str| {
            let n = word.and_then(|word| int(word).ok()).and_then(|n| usize::try_from(n).ok());
            n.filter(|n| *n > 0).ok_or(WireError::fixed(error))
        };
        let number = positive(args.first(), "ERR numkeys should be greater than 0")?;
        let (keys, options) = args
            .get(1..)
            .and_then(|args| args.split_at_checked(number))
            .ok_or(WireError::SYNTAX)?;
        let [side, options @ ..] = options else { return Err(WireError::SYNTAX) };
        let end = end(side)?;
        let count = match options {
            [] => 1,
            [word, _, rest @ ..] if is(word, "COUNT") => {
                let count = positive(options.get(1), "ERR count should be greater than 0")?;
                if !rest.is_empty() {
                    return Err(WireError::SYNTAX);
                }
                count
            }
            _ => return Err(WireError::SYNTAX),
        };
        Ok(Self { keys, end, count })
    }
}

/// Pops up to `count` elements and answers them with their key; `None` when there is none.
pub(super) fn pop_with_key(
    cx: &mut Cx<'_>,
    key: &[u8],
    end: End,
    count: usize,
) -> Result<Option<Value>, WireError> {
    let popped = pop_many(cx, key, end, count)?;
    Ok(popped.map(|popped| Value::Array(vec![Value::bulk(key), popped])))
}

/// Pops an element; `None` when there is no such key.
pub(super) fn pop_one(cx: &mut Cx<'_>, key: &[u8], end: End) -> Result<Option<Bytes>, WireError> {
    Ok(cx.db.update::<List, _>(key, |list, _| (take(list, end), true))?.flatten())
}

/// Pops up to `count` elements; `None` when there is no such key.
fn pop_many(
    cx: &mut Cx<'_>,
    key: &[u8],
    end: End,
    count: usize,
) -> Result<Option<Value>, WireError> {
    cx.db.update::<List, _>(key, |list, _| {
        let count = count.min(list.len());
        let popped = (0..count).map_while(|_| take(list, end)).map(Value::Bulk).collect();
        (Value::Array(popped), count > 0)
    })
}

/// Moves an element from an end of one list to an end of another, or of the same.
pub(super) fn transfer(cx: &mut Cx<'_>, source: &[u8], target: &[u8], from: End, to: End) -> Reply {
    if cx.db.read::<List>(source)?.is_none() {
        return Ok(Value::Nil);
    }
    if source == target {
        let moved = cx.db.update::<List, _>(source, |list, _| {
            let element = take(list, from);
            if let Some(element) = &element {
                put(list, to, element);
            }
            (element, true)
        })?;
        return Ok(moved.flatten().map_or(Value::Nil, Value::Bulk));
    }
    cx.db.read::<List>(target)?; // the type is checked before anything moves
    let Some(element) = pop_one(cx, source, from)? else { return Ok(Value::Nil) };
    cx.db.upsert::<List, _>(target, |list, _| {
        put(list, to, &element);
        ((), true)
    })?;
    Ok(Value::Bulk(element))
}

/// What LPOS looks for.
struct Search {
    /// Which match is the first to count; negative: from the tail.
    rank: i64,
    /// How many matches to answer, 0 for all; `None`: one, not in an array.
    count: Option<i64>,
    /// How many elements to look at, 0 for all.
    most: i64,
}

impl Search {
    fn read(mut words: &[&[u8]]) -> Result<Self, WireError> {
        const ZERO: WireError = WireError::fixed(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
             or use negative to start from the end of the list",
        );
        let natural =
            |word: &[u8], error| int(word).ok().filter(|n| *n >= 0).ok_or(WireError::fixed(error));
        let mut search = Self { rank: 1, count: None, most: 0 };
        while let [word, rest @ ..] = words {
            let [value, rest @ ..] = rest else { return Err(WireError::SYNTAX) };
            if is(word, "RANK") {
                search.rank = Some(int(value)?).filter(|rank| *rank != 0).ok_or(ZERO)?;
            } else if is(word, "COUNT") {
                search.count = Some(natural(value, "ERR COUNT can't be negative")?);
            } else if is(word, "MAXLEN") {
                search.most = natural(value, "ERR MAXLEN can't be negative")?;
            } else {
                return Err(WireError::SYNTAX);
            }
            words = rest;
        }
        Ok(search)
    }

    /// The positions of the matches, in the order in which they are found.
    fn positions<'l>(&self, list: &'l List, element: &'l [u8]) -> impl Iterator<Item = usize> + 'l {
        let all = |n: i64| if n == 0 { usize::MAX } else { n as usize };
        let (len, from_tail) = (list.len(), self.rank < 0);
        // Redis negates the least number to itself, so that it skips and limits nothing.
        let skipped = self.rank.checked_abs().map_or(0, |rank| rank as usize - 1);
        let count = if self.rank == i64::MIN { 0 } else { self.count.unwrap_or(1) };
        let mut elements = list.iter();
        std::iter::from_fn(move || if from_tail { elements.next_back() } else { elements.next() })
            .take(all(self.most))
            .enumerate()
            .filter(move |(_, e)| *e == element)
            .map(move |(step, _)| if from_tail { len - 1 - step } else { step })
            .skip(skipped)
            .take(all(count))
    }
}

/// The position that an index means, negative from the end, if it is in the list.
fn position(index: i64, len: usize) -> Option<usize> {
    let at = if index < 0 { index + len as i64 } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// The positions from `start` to `stop`, both included, either negative from the end, as far as
/// they are in the list.
fn range(start: i64, stop: i64, len: usize) -> Range<usize> {
    let absolute = |at: i64| if at < 0 { at + len as i64 } else { at };
    let start = absolute(start).max(0) as usize;
    let end = (absolute(stop).max(-1) as usize).wrapping_add(1).min(len);
    if start < end { start..end } else { 0..0 }
}
