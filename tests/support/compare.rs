//! How equal two replies are, from the same bytes to the same type. Every weakening of a
//! comparison is a function here, so that it shows at the call.

use stockroom::resp::Value;

/// The items of an aggregate; `None` for anything else. A map gives its keys and values in turn.
pub(crate) fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) | Value::Set(items) | Value::Push(items) => Some(items.clone()),
        Value::Map(pairs) => {
            Some(pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect())
        }
        _ => None,
    }
}

/// The same type, and the same items in any order.
pub(crate) fn same_set(a: &Value, b: &Value) -> bool {
    same_groups(a, b, 1)
}

/// The same type, and the same pairs in any order: for maps, which RESP2 writes as flat arrays.
pub(crate) fn same_pairs(a: &Value, b: &Value) -> bool {
    same_groups(a, b, 2)
}

fn same_groups(a: &Value, b: &Value, size: usize) -> bool {
    if std::mem::discriminant(a) != std::mem::discriminant(b) {
        return false;
    }
    match (items(a), items(b)) {
        (Some(a), Some(b)) => sorted(&a, size) == sorted(&b, size),
        _ => a == b,
    }
}

/// Groups of `size` items as text, in the order of that text.
fn sorted(items: &[Value], size: usize) -> Vec<String> {
    let mut groups: Vec<String> = items.chunks(size).map(|group| format!("{group:?}")).collect();
    groups.sort();
    groups
}

/// The same type, and as many items of the same shape each. What strings and numbers say is free.
pub(crate) fn same_shape(a: &Value, b: &Value) -> bool {
    if std::mem::discriminant(a) != std::mem::discriminant(b) {
        return false;
    }
    match (items(a), items(b)) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_shape(a, b)),
        _ => true,
    }
}

/// Both errors, with the same first word.
pub(crate) fn same_error_class(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Error(a), Value::Error(b)) => a.code() == b.code(),
        _ => false,
    }
}

/// The same type, and numbers, or strings that are numbers, no further apart than `tolerance`;
/// aggregates item by item.
pub(crate) fn near(a: &Value, b: &Value, tolerance: f64) -> bool {
    if std::mem::discriminant(a) != std::mem::discriminant(b) {
        return false;
    }
    if let (Some(a), Some(b)) = (items(a), items(b)) {
        return a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| near(a, b, tolerance));
    }
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= tolerance,
        _ => a == b,
    }
}

/// What a reply says as a number.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Double(n) => Some(*n),
        Value::Bulk(text) => text.to_text().parse().ok(),
        _ => None,
    }
}
