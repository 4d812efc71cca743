//! What the libraries answered on a real server, without one; and what no server can be asked.

use mlua::{Lua, Value};

use super::open_all;
use crate::engine::script::raise;

fn lua() -> Lua {
    let lua = Lua::new();
    open_all(&lua).expect("the libraries open");
    lua
}

/// The text of what the code returns, or of its error.
fn run(lua: &Lua, code: &str) -> String {
    let shown = match lua.load(code).set_name("@user_script").eval::<Value>() {
        Ok(value) => value,
        Err(error) => raise::surface(lua, Value::Error(Box::new(error))).expect("it is shown").0,
    };
    shown.to_string().expect("it has a text")
}

#[track_caller]
fn answers(expected: &[(&str, &str)]) {
    let lua = lua();
    for (expression, text) in expected {
        assert_eq!(run(&lua, &format!("return {expression}")), *text, "{expression}");
    }
}

#[test]
fn json_is_that_of_a_real_server() {
    answers(&[
        (
            "cjson.encode({1, 2, {a = {}}, nil, 'x/\"\\n\\127'})",
            r#"[1,2,{"a":{}},null,"x\/\"\n\u007f"]"#,
        ),
        ("cjson.encode(-0.0) .. cjson.encode(1e15)", "-01e+15"),
        ("cjson.encode({[2^53] = 1, [3] = 1})", "[null,null,1]"),
        (
            "cjson.encode({[1000] = 1})",
            "user_script:1: Cannot serialise table: excessively sparse array",
        ),
        ("cjson.encode(0/0)", "user_script:1: Cannot serialise number: must not be NaN or Inf"),
        ("cjson.decode('[1,{\"a\":\"\\\\u00e9\"}]')[2].a", "é"),
        ("cjson.decode('+0x1F')", "31"),
        (
            "cjson.decode('[1,]')",
            "user_script:1: Expected value but found T_ARR_END at character 4",
        ),
        (
            "cjson.decode('\"abc')",
            "user_script:1: Expected value but found unexpected end of string at character 5",
        ),
        (
            "cjson.decode(('['):rep(1001))",
            "user_script:1: Found too many nested data structures (1001) at character 1001",
        ),
    ]);
}

#[test]
fn messagepack_is_that_of_a_real_server() {
    let hex = |packed: &str| {
        format!("({packed}):gsub('.', function(c) return bit.tohex(c:byte(), 2) end)")
    };
    answers(&[
        (
            &hex("cmsgpack.pack(1, -33, 300, 1.5, 0.1, 'a', {}, {a = true}, nil)"),
            "01d0dfcd012cca3fc00000cb3fb999999999999aa1619081a161c3c0",
        ),
        ("cmsgpack.unpack('\\207' .. ('\\255'):rep(8))", "-1"),
        ("cmsgpack.unpack('\\147\\1\\192\\2')[3]", "2"),
        ("cmsgpack.unpack('\\1\\204')", "user_script:1: Missing bytes in input."),
        ("cmsgpack.unpack('\\193')", "user_script:1: Bad data format in input."),
        ("cmsgpack.unpack('\\129\\192\\1')", "table index is nil"),
        (
            "cmsgpack.pack()",
            "user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)",
        ),
    ]);
}

#[test]
fn structures_and_bits_are_those_of_a_real_server() {
    answers(&[
        ("#struct.pack('!bhlidfT', 1, 2, 3, 4, 5, 6, 7)", "48"),
        ("struct.unpack('>i3', '\\255\\255\\254')", "-2"),
        ("struct.unpack('bc0', '\\3abcd')", "abc"),
        ("struct.size('!bd')", "16"),
        (
            "struct.pack('z')",
            "user_script:1: bad argument #1 to 'pack' (invalid format option 'z')",
        ),
        ("bit.tobit(2^32 + 2.5)", "2"),
        ("bit.tohex(255, -4)", "00FF"),
        ("bit.tobit(nil)", "user_script:1: bad argument #1 to 'tobit' (number expected, got nil)"),
    ]);
}

/// Debug builds have large frames: what recursed for each level would need megabytes.
#[test]
fn deep_values_need_no_deep_stack() {
    let deep = || {
        let lua = lua();
        for (code, expected) in [
            ("local t = {} for i = 1, 6000 do t = {t} end return #cjson.encode(t)", "12002"),
            ("local t = {} for i = 1, 3000 do t = {a = t} end return #cjson.encode(t)", "18002"),
            ("return #cjson.decode(('['):rep(6000) .. (']'):rep(6000))", "1"),
            ("return #cmsgpack.unpack(('\\145'):rep(3999) .. '\\1')", "1"),
            ("return type(cmsgpack.unpack(('\\129\\1'):rep(3999) .. '\\1'))", "table"),
        ] {
            let code = format!("cjson.encode_max_depth(9999) cjson.decode_max_depth(9999) {code}");
            assert_eq!(run(&lua, &code), expected, "{code}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(deep).expect("a thread");
    thread.join().expect("it holds");
}

/// As many strings at once would exhaust what the binding can hold, and it would panic.
#[test]
fn too_much_at_once_is_an_error_and_no_panic() {
    let lua = lua();
    let overflow = "user_script:1: stack overflow (too many results)";
    let nested = |depth: i32| {
        format!("Found too many nested data structures ({depth}) at character {depth}")
    };
    for (code, expected) in [
        ("return struct.unpack(('c'):rep(7900), ('x'):rep(9000))", overflow.to_string()),
        ("return select('#', struct.unpack(('c'):rep(6900), ('x'):rep(9000)))", "6901".to_string()),
        ("return select('#', cmsgpack.unpack(('\\161a'):rep(6900)))", "6900".to_string()),
        (
            "cjson.decode_max_depth(9999) return cjson.decode(('['):rep(9999))",
            format!("user_script:1: {}", nested(7000)),
        ),
        ("return cmsgpack.pack(string.byte(('x'):rep(3000), 1, -1)):len()", "3000".to_string()),
    ] {
        assert_eq!(run(&lua, code), expected, "{code}");
    }
    let many = "user_script:1: stack overflow (too many return values at once; \
                use unpack_one or unpack_limit instead.)";
    for input in ["('\\161a'):rep(7900)", "('\\129\\144'):rep(3999)", "('\\129'):rep(7990)"] {
        assert_eq!(run(&lua, &format!("return cmsgpack.unpack({input})")), many, "{input}");
    }
    let deep = "cjson.encode_max_depth(9999) local t = {} for i = 1, 9000 do t = {[i .. ''] = t} \
                end return cjson.encode(t)";
    assert!(run(&lua, deep).contains("Cannot serialise, excessive nesting (350"));
}

#[test]
fn what_would_not_fit_into_memory_is_refused() {
    let lua = lua();
    // One string, 20 times: only what is written would be large.
    let list = "local s = ('a'):rep(2^20) local t = {} for i = 1, 20 do t[i] = s end return ";
    for make in ["cjson.encode(t)", "cmsgpack.pack(t)", "struct.pack(('s'):rep(20), unpack(t))"] {
        assert_eq!(run(&lua, &format!("{list}{make}")), "not enough memory", "{make}");
    }
}
