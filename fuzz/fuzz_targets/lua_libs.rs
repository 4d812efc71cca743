//! Arbitrary bytes through what decodes in the libraries of scripts: `cjson.decode`, the unpacking
//! of `cmsgpack`, and `struct` by a format that is part of the input.
//!
//! Checked: no panic; whatever is decoded and can be encoded again is decoded as the same, as far
//! as its size shows that.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stockroom::resp::Value;
use stockroom::{Engine, Session};

/// What cannot be encoded again: numbers that are infinite or none, and too sparse arrays.
const JSON: &str = "
local ok, value = pcall(cjson.decode, ARGV[1])
if not ok then return 1 end
local ok, first = pcall(cjson.encode, value)
if not ok then return 1 end
local second = cjson.encode(cjson.decode(first))
return #first == #second and 1 or {first, second}";

/// Twice through both: before, tables may lie deeper than is packed, and then their places are nil.
const MSGPACK: &str = "
pcall(cmsgpack.unpack, ARGV[1])
pcall(cmsgpack.unpack_limit, ARGV[1], 3, 1)
local ok, rest, value = pcall(cmsgpack.unpack_one, ARGV[1])
if not ok then return 1 end
for i = 1, 2 do
  ok, value = pcall(cmsgpack.unpack, cmsgpack.pack(value))
  if not ok then return 1 end
end
local first = cmsgpack.pack(value)
local second = cmsgpack.pack(cmsgpack.unpack(first))
return #first == #second and 1 or {first, second}";

const STRUCT: &str = "
local format, data = ARGV[1], ARGV[2]
pcall(struct.size, format)
pcall(struct.unpack, format, data, -3)
local all = {pcall(struct.unpack, format, data)}
if not all[1] or #all > 1000 then return 1 end
pcall(struct.pack, format, unpack(all, 2, #all))
return 1";

thread_local! {
    static SESSION: std::cell::RefCell<Session> = std::cell::RefCell::new(Engine::new().session());
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let (script, arguments) = match choice % 3 {
        0 => (JSON, vec![rest]),
        1 => (MSGPACK, vec![rest]),
        _ => {
            let (format, data) = rest.split_at(rest.len().min(usize::from(choice) / 3));
            (STRUCT, vec![format, data])
        }
    };
    let mut call = vec![&b"EVAL"[..], script.as_bytes(), b"0"];
    call.extend(arguments);
    let reply = SESSION.with_borrow_mut(|session| session.call(&call));
    assert_eq!(reply, Value::Int(1));
});
