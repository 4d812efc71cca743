//! When two replies count as equal: the same bytes, except where Redis leaves the order open or
//! the choice to chance.

use stockroom::resp::Value;

/// How the replies of a command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Bytes,
    /// Elements in any order.
    Set,
    /// Pairs in any order.
    Pairs,
    /// The cursor, then elements in any order.
    Scan,
    /// The cursor, then pairs in any order.
    ScanPairs,
    /// As many elements.
    Shape,
}

/// Whether the reply to `line` is compared byte by byte.
pub(crate) fn is_ordered(line: &[Vec<u8>]) -> bool {
    by(line) == By::Bytes
}

fn by(line: &[Vec<u8>]) -> By {
    let name = line[0].to_ascii_uppercase();
    match &name[..] {
        // The script calls what stands behind it and the number of keys, which is 0.
        b"EVAL" | b"EVAL_RO" if line.len() > 3 => by(&line[3..]),
        b"SMEMBERS" | b"SUNION" | b"SINTER" | b"SDIFF" | b"HKEYS" | b"HVALS" | b"KEYS"
        | b"SPOP" => By::Set,
        b"PUBSUB"
            if line.get(1).is_some_and(|sub| sub.to_ascii_uppercase().ends_with(b"CHANNELS")) =>
        {
            By::Set
        }
        b"HGETALL" => By::Pairs,
        b"SCAN" | b"SSCAN" => By::Scan,
        b"HSCAN" | b"ZSCAN" => By::ScanPairs,
        b"SRANDMEMBER" | b"HRANDFIELD" | b"ZRANDMEMBER" => By::Shape,
        _ => By::Bytes,
    }
}

/// Whether both replies to `line` say the same.
pub(crate) fn equal(line: &[Vec<u8>], a: &Value, b: &Value) -> bool {
    a == b || normal(by(line), a) == normal(by(line), b)
}

/// The reply to `line` with what is left open brought into one order.
pub(crate) fn normalized(line: &[Vec<u8>], value: &Value) -> Value {
    normal(by(line), value)
}

/// Replies of EXEC are compared by the commands they answer.
pub(crate) fn equal_exec(lines: &[Vec<Vec<u8>>], a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() && a.len() == lines.len() => {
            lines.iter().zip(a.iter().zip(b)).all(|(line, (a, b))| equal(line, a, b))
        }
        _ => a == b,
    }
}

fn normal(by: By, value: &Value) -> Value {
    let items = match value {
        Value::Array(items) => items,
        Value::Set(items) if by == By::Set => return Value::Set(sorted(items.clone())),
        Value::Map(map) if by == By::Pairs => {
            let pairs = map.iter().map(|(k, v)| Value::Array(vec![k.clone(), v.clone()]));
            return Value::Array(sorted(pairs.collect()));
        }
        _ if by == By::Shape => return shape(value),
        _ => return value.clone(),
    };
    match by {
        By::Bytes => value.clone(),
        By::Set => Value::Array(sorted(items.clone())),
        By::Pairs => pairs(items),
        By::Shape => Value::Array(items.iter().map(shape).collect()),
        By::Scan | By::ScanPairs => match &items[..] {
            [cursor, Value::Array(inner)] => {
                let inner =
                    if by == By::Scan { Value::Array(sorted(inner.clone())) } else { pairs(inner) };
                Value::Array(vec![cursor.clone(), inner])
            }
            _ => value.clone(),
        },
    }
}

fn shape(value: &Value) -> Value {
    match value {
        Value::Bulk(_) | Value::Double(_) => Value::simple("some string"),
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        other => other.clone(),
    }
}

fn pairs(items: &[Value]) -> Value {
    let pairs = items.chunks(2).map(|pair| Value::Array(pair.to_vec())).collect();
    Value::Array(sorted(pairs))
}

fn sorted(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by_cached_key(|item| format!("{item:?}"));
    items
}
