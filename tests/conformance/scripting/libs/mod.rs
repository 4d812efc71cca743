//! The libraries of scripts: `cjson`, `cmsgpack`, `struct` and `bit`.

mod bit;
mod json;
mod msgpack;
mod pack;
mod random;

use super::same;
use crate::support::{Pair, argv, side_by_side};

/// Returns each expression, as its own script.
#[track_caller]
fn same_values(c: &Pair, expressions: &[&str]) {
    same_within(c, "return @", expressions);
}

/// Puts each expression at the `@` of a script.
#[track_caller]
fn same_within(c: &Pair, script: &str, expressions: &[&str]) {
    let scripts: Vec<String> = expressions.iter().map(|e| script.replace('@', e)).collect();
    same(c, &scripts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn libraries_have_the_functions_and_fields_of_a_real_server() {
    side_by_side(|c| {
        for library in ["cjson", "cjson.new()", "cmsgpack", "struct", "bit"] {
            let names = format!(
                "local t = {{}} for k, v in pairs({library}) do t[#t+1] = k .. ' ' .. type(v) .. \
                 (type(v) == 'string' and v or '') end table.sort(t) return t"
            );
            c.same(argv!["EVAL", &names, 0]);
        }
        same_values(
            c,
            &[
                "tostring(getmetatable(cjson))",
                "tostring(getmetatable(cjson.new()))",
                "tostring(cjson.null)",
                "cjson.null == cjson.new().null",
                "type(cjson.null)",
            ],
        );
    });
}

#[test]
fn libraries_are_protected_but_new_ones_are_not() {
    side_by_side(|c| {
        same(
            c,
            &[
                "cjson.x = 1",
                "cjson.encode = nil",
                "cmsgpack.pack = 1",
                "struct = nil",
                "bit.tobit = 1",
                "return bit.x",
                "local own = cjson.new() own.x = 1 own.encode = nil return {own.x, own.encode}",
            ],
        );
    });
}

#[test]
fn errors_have_the_place_and_the_name_of_the_call() {
    side_by_side(|c| {
        same(
            c,
            &[
                "return cjson.decode('x')",
                "\nlocal f = cjson.decode\nf('x')",
                "local function g(f) return f(1, 2) end return g(cjson.encode_max_depth)",
                "return {pcall(cjson.decode, 'x')}",
                "return {pcall(cjson.decode)}",
                "return {pcall(function() cjson.decode() end)}",
                "return {pcall(cmsgpack.unpack, '\\193')}",
                "return {pcall(bit.tobit)}",
                "return cjson:decode()",
                "return cjson:encode_max_depth()",
                "return cjson:encode_max_depth(1)",
                "return bit:band(1)",
                "return bit.band(1, {})",
                "return ({f = bit.band}):f(1)",
                "return cmsgpack.pack()",
                "return struct.pack('z')",
                "return struct.pack('\\200')",
            ],
        );
    });
}
