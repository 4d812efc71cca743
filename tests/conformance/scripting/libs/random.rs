//! Random values and random bytes, through the libraries of the engine and of a real server.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::super::super::support::{Pair, argv, side_by_side};

/// Shows a value with all that can be seen of it, in the order of `pairs` if `ordered`. Where a key
/// is a table, also one that is gone again, the order follows from where that table lies.
const SHOW: &str = "
local ordered = true
local function show(v)
  if type(v) == 'number' then return string.format('%.17g', v) end
  if type(v) == 'string' then return string.format('%q', v) end
  if type(v) ~= 'table' then return tostring(v) end
  local all = {}
  for k, x in pairs(v) do all[#all + 1] = show(k) .. '=' .. show(x) end
  if not ordered then table.sort(all) end
  return '{' .. table.concat(all, ' ') .. '}'
end
local function try(f, ...)
  local all = {pcall(f, ...)}
  for i = 1, #all do all[i] = show(all[i]) end
  return table.concat(all, ' ')
end
";

/// Runs `script` behind `SHOW` with each case of `strategy` as its arguments.
fn agree<S: Strategy>(
    cases: u32,
    script: &str,
    strategy: &S,
    args: impl Fn(S::Value) -> Vec<Vec<u8>>,
) where
    S::Value: Clone,
{
    let script = format!("{SHOW}{script}");
    side_by_side(|c: &Pair| {
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let run = TestRunner::new(config).run(strategy, |case| {
            let mut call = argv!["EVAL", &script, 0];
            call.extend(args(case));
            let (ours, real) = c.both(&call);
            match real.filter(|real| real.bytes != ours.bytes) {
                None => Ok(()),
                Some(real) => Err(TestCaseError::fail(format!(
                    "{:?}\nengine: {}\n  real: {}",
                    call[3..].iter().map(|arg| arg.escape_ascii().to_string()).collect::<Vec<_>>(),
                    ours.bytes.escape_ascii(),
                    real.bytes.escape_ascii(),
                ))),
            }
        });
        if let Err(why) = run {
            panic!("{why}");
        }
    });
}

/// Numbers as Lua writes them.
fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        (-40_i64..300).prop_map(|n| n.to_string()),
        any::<i32>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        (any::<f64>()).prop_filter("finite", |x| x.is_finite()).prop_map(|x| format!("{x:e}")),
        (-2_000_i32..2_000).prop_map(|n| format!("{n}/8")),
        (0_i32..70).prop_map(|n| format!("2^{n}")),
        select(vec!["1/0", "-1/0", "0/0", "-0.0", "0.1", "1e14", "123456789012345"])
            .prop_map(str::to_string),
    ]
}

/// Strings as Lua writes them, shorter than those that stock Lua hashes otherwise than Redis.
fn strings() -> impl Strategy<Value = String> {
    let bytes = prop_oneof![vec(any::<u8>(), 0..12), vec(b'a'..=b'e', 0..32)];
    bytes.prop_map(|bytes| {
        let mut text = String::from("'");
        bytes.iter().for_each(|byte| write!(text, "\\{byte:03}").expect("it fits"));
        text + "'"
    })
}

/// Values as Lua writes them.
fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        numbers(),
        strings(),
        select(vec!["true", "false", "nil", "cjson.null", "tostring"]).prop_map(str::to_string),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        let key = prop_oneof![
            3 => strings(),
            2 => (1_i32..14).prop_map(|n| n.to_string()),
            1 => numbers().prop_filter("no key", |n| n != "0/0"),
            1 => Just("true".to_string()),
        ];
        let pair = (key, inner.clone()).prop_map(|(key, value)| format!("[{key}]={value}"));
        prop_oneof![
            vec(inner, 0..8).prop_map(|items| format!("{{{}}}", items.join(","))),
            vec(pair, 0..8).prop_map(|pairs| format!("{{{}}}", pairs.join(","))),
        ]
    })
}

#[test]
fn random_values_are_encoded_and_packed_the_same() {
    let script = "local v = loadstring('return ' .. ARGV[1])()
        local json = try(cjson.encode, v)
        cjson.encode_sparse_array(true) cjson.encode_invalid_numbers('on')
        local lax = try(cjson.encode, v)
        local again = try(function() return cjson.decode(cjson.encode(v)) end)
        cjson.encode_sparse_array(false) cjson.encode_invalid_numbers('off')
        return {json, lax, again, try(cmsgpack.pack, v), try(cmsgpack.unpack, cmsgpack.pack(v))}";
    agree(200, script, &values(), |value| vec![value.into_bytes()]);
}

/// JSON texts, with a byte changed here and there.
fn json() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| format!("{x:e}")),
        "[-+]?[0-9.]{1,4}([eE][-+]?[0-9]{0,3})?",
        "-?0x[0-9a-f.]{0,5}(p-?[0-9]{0,2})?",
        select(vec!["nan", "-inf", "Infinity", "NaN(12)"]).prop_map(str::to_string),
    ];
    let string = prop_oneof![
        "\"[a-c]{0,3}\"",
        "\"(\\\\[\"\\\\/bfnrtu]|\\\\u[0-9a-f]{4}|\\\\ud8[0-9a-f]{2}\\\\ud[c-f]00|[ -~]){0,4}\"",
    ];
    let word = select(vec!["true", "false", "null", "", "nul"]).prop_map(str::to_string);
    let leaf = prop_oneof![3 => number, 3 => string.clone(), 2 => word];
    let text = leaf.prop_recursive(6, 64, 6, move |inner| {
        let pair =
            (string.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            vec(inner, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            vec(pair, 0..6).prop_map(|pairs| format!("{{{}}}", pairs.join(" ,\n"))),
        ]
    });
    changed(text.prop_map(String::into_bytes))
}

/// `MessagePack`, with a byte changed here and there.
fn msgpack() -> impl Strategy<Value = Vec<u8>> {
    let tagged = |tag: u8, length: usize| {
        vec(any::<u8>(), length).prop_map(move |bytes| [&[tag][..], &bytes].concat())
    };
    let string = vec(any::<u8>(), 0..20).prop_flat_map(|text| {
        let length = text.len() as u8;
        let heads = vec![
            vec![0xA0 | length],
            vec![0xD9, length],
            vec![0xDA, 0, length],
            vec![0xDB, 0, 0, 0, length],
        ];
        select(heads).prop_map(move |head| [head, text.clone()].concat())
    });
    let leaf = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        select(vec![vec![0xC0], vec![0xC2], vec![0xC3]]),
        (select(vec![0xCC, 0xD0]), any::<u8>()).prop_map(|(tag, byte)| vec![tag, byte]),
        select(vec![0xCD, 0xD1]).prop_flat_map(move |tag| tagged(tag, 2)),
        select(vec![0xCE, 0xD2, 0xCA]).prop_flat_map(move |tag| tagged(tag, 4)),
        select(vec![0xCF, 0xD3, 0xCB]).prop_flat_map(move |tag| tagged(tag, 8)),
        string,
    ];
    let item = leaf.prop_recursive(5, 48, 6, |inner| {
        let array = vec(inner.clone(), 0..6).prop_flat_map(|items| {
            let n = items.len() as u8;
            let heads = vec![vec![0x90 | n], vec![0xDC, 0, n], vec![0xDD, 0, 0, 0, n]];
            select(heads).prop_map(move |head| [head, items.concat()].concat())
        });
        let map = vec((inner.clone(), inner), 0..6).prop_flat_map(|pairs| {
            let n = pairs.len() as u8;
            let items: Vec<u8> = pairs.into_iter().flat_map(|(k, v)| [k, v].concat()).collect();
            let heads = vec![vec![0x80 | n], vec![0xDE, 0, n], vec![0xDF, 0, 0, 0, n]];
            select(heads).prop_map(move |head| [head, items.clone()].concat())
        });
        prop_oneof![array, map]
    });
    changed(vec(item, 1..4).prop_map(|items| items.concat()))
}

/// The bytes, or half the time the bytes with one of them changed, added or cut off.
fn changed(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), select(b"[]{},:\"\\ 0-.eu\0".to_vec())];
    (bytes, 0..6_u8, any::<prop::sample::Index>(), byte).prop_map(|(mut bytes, how, at, byte)| {
        let index = at.index(bytes.len() + 1);
        match how {
            0 => bytes.insert(index, byte),
            1 => bytes.truncate(index),
            2 if index < bytes.len() => bytes[index] = byte,
            _ => {}
        }
        bytes
    })
}

#[test]
fn random_texts_are_decoded_the_same() {
    let script = "local lax = try(cjson.decode, ARGV[1])
        cjson.decode_invalid_numbers(false)
        local strict = try(cjson.decode, ARGV[1])
        cjson.decode_invalid_numbers(true)
        return {lax, strict}";
    agree(400, script, &json(), |text| vec![text]);
    agree(200, script, &vec(any::<u8>(), 0..12), |text| vec![text]);
}

#[test]
fn random_bytes_are_unpacked_the_same() {
    let script = "ordered = false
        return {try(cmsgpack.unpack, ARGV[1]), try(cmsgpack.unpack_one, ARGV[1], 1),
        try(cmsgpack.unpack_limit, ARGV[1], 2)}";
    agree(300, script, &msgpack(), |bytes| vec![bytes]);
    agree(200, script, &vec(any::<u8>(), 0..24), |bytes| vec![bytes]);
}

#[test]
fn random_formats_pack_and_unpack_the_same() {
    let format =
        "([bBhHlLTfdsx]|[iI]([0-9]|1[0-9]|3[0-9])?|c[0-9]?|[<>]|!(1|2|4|8|16|3)?| |[zT%]?){0,8}";
    let item = prop_oneof![2 => numbers(), 1 => strings(), 1 => Just("'12'".to_string())];
    let bytes = prop_oneof![
        3 => vec(prop_oneof![any::<u8>(), Just(0), Just(3), Just(b'5')], 0..64),
        1 => vec(any::<u8>(), 0..8),
    ];
    let script = "local args = loadstring('return {' .. ARGV[2] .. '}')()
        return {try(struct.pack, ARGV[1], unpack(args)), try(struct.unpack, ARGV[1], ARGV[3]),
        try(struct.unpack, ARGV[1], ARGV[3], ARGV[4]), try(struct.size, ARGV[1])}";
    agree(400, script, &(format, vec(item, 0..8), bytes, -2_i8..9), |(format, items, data, at)| {
        vec![format.into_bytes(), items.join(",").into_bytes(), data, at.to_string().into_bytes()]
    });
}

#[test]
fn random_numbers_have_the_same_bits() {
    let script = "local args = loadstring('return {' .. ARGV[1] .. '}')()
        local all = {}
        for _, name in ipairs({'tobit', 'bnot', 'bswap', 'tohex', 'band', 'bor', 'bxor', 'lshift',
            'rshift', 'arshift', 'rol', 'ror'}) do
          all[#all + 1] = try(bit[name], unpack(args))
        end
        return all";
    agree(150, script, &vec(numbers(), 0..4), |items| vec![items.join(",").into_bytes()]);
}
