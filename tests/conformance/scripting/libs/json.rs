//! `cjson`.

use super::{same, same_values, same_within, side_by_side};

#[test]
fn values_are_encoded() {
    side_by_side(|c| {
        let values = [
            "nil",
            "true",
            "false",
            "cjson.null",
            "0",
            "-0.0",
            "1e14",
            "1e15",
            "99999999999999",
            "123456789012345678",
            "0.1",
            "0.1 + 0.2",
            "1/3",
            "1e100",
            "-1.5e-7",
            "1e-5",
            "12345.678",
            "2^53",
            "2^-1074",
            "'12'",
            "''",
            "'\\0\\1\\8\\9\\10\\12\\13\\31 /\\\\\"\\127\\128\\255'",
            "'é€😀'",
            "{}",
            "{{}, {{}}}",
            "{1, 2, 3}",
            "{1, nil, 3}",
            "{nil, nil, 3}",
            "{[1.5] = 1}",
            "{[0] = 1}",
            "{[-1] = 1}",
            "{a = 1}",
            "{1, 2, a = 3}",
            "{a = {b = {c = {1, {}, 'x'}}}, d = {{{}}}}",
            "{['a\"/\\n'] = 'x'}",
            "{[2^40] = 1}",
            "{[2^53] = 1, [3] = 1}",
            "{[2^31] = 1, [1] = 2}",
            "{[1] = 2, [2^31] = 1}",
        ];
        same_within(c, "return cjson.encode(@)", &values);
        same(
            c,
            &[
                "local t = {} for i = 1, 300 do t['k' .. i] = i end return cjson.encode(t)",
                "local t = {} for i = 1, 300 do t['k' .. i] = {i} end return cjson.encode(t)",
                "local t = {} for i = 1, 99 do t[i] = {[i .. ''] = {i}} end return cjson.encode(t)",
                "return cjson.encode(setmetatable({1}, {__index = function() return 5 end}))",
                "local s = '' for i = 0, 255 do s = s .. string.char(i) end return cjson.encode(s)",
            ],
        );
    });
}

#[test]
fn what_cannot_be_encoded_is_refused() {
    side_by_side(|c| {
        let values = [
            "",
            "1, 2",
            "nil, nil",
            "tostring",
            "{tostring}",
            "coroutine.create(tostring)",
            "{[true] = 1}",
            "{[{}] = 1}",
            "{a = 1, [true] = 1}",
            "0/0",
            "1/0",
            "{[1/0] = 1}",
            "{[1000] = 1}",
            "{1, [23] = 1}",
            "{[11] = 1}",
            "{[10] = 1}",
            "{1, 2, 3, 4, 5, [13] = 1}",
        ];
        same_within(c, "return cjson.encode(@)", &values);
    });
}

#[test]
fn texts_are_decoded() {
    side_by_side(|c| {
        let texts = [
            "null",
            "true",
            "false",
            "12",
            " [ 1 , 2 ] ",
            "\\t\\n\\r1",
            "{}",
            "[]",
            "[[],[[]],{}]",
            "\"\"",
            "\"a\\tb\"",
            "\"\\\\\"\\\\\\\\\\\\/\\\\b\\\\f\\\\n\\\\r\\\\t\"",
            "\"\\\\u00e9\\\\u20AC\\\\u0000x\\\\ud83d\\\\ude00\"",
            "\"\\255\\128\"",
            "1 \\0x",
            "[1,\"a\",null,{\"b\":[2]}]",
        ];
        same_within(c, "return {cjson.decode('@')}", &texts);
        same_within(c, "return cjson.encode(cjson.decode('@'))", &texts);
        same_values(c, &["cjson.decode(12)", "cjson.encode(cjson.decode('{\"a\":1,\"a\":2}'))"]);
        same(
            c,
            &["local s, all = '{', {} for i = 1, 40 do s = s .. '\"k' .. i .. '\":1,' end \
                 for k in pairs(cjson.decode(s .. '\"z\":[2]}')) do all[#all+1] = k end \
                 return all"],
        );
    });
}

const NUMBERS: [&str; 49] = [
    "0",
    "-0",
    "00",
    "012",
    "-012",
    "1.",
    "1.5",
    ".5",
    "-.5",
    "-",
    "-a",
    "--1",
    "+1",
    "+",
    "+a",
    "+-1",
    "1e5",
    "1E+5",
    "1e",
    "1e+",
    "1e999",
    "-1e999",
    "1e-999",
    "0x1F",
    "0x",
    "0xg",
    "-0x.8p1",
    "0X1p",
    "inf",
    "INF",
    "-Inf",
    "infinity",
    "Infinityx",
    "+inf",
    "nan",
    "NaN",
    "-nan",
    "nan(1_a)",
    "nan(",
    "nanx",
    "in",
    "i",
    "n",
    "nul",
    "1 2",
    "1x",
    "4.9406564584124654e-324",
    "2.2250738585072011e-308",
    "179769313486231580793728971405301e276",
];

#[test]
fn numbers_are_read_as_by_strtod_unless_that_is_forbidden() {
    side_by_side(|c| {
        let script = "local v = cjson.decode('@') return type(v) == 'number' and \
                      string.format('%.17g', v) or tostring(v)";
        same_within(c, script, &NUMBERS);
        same_within(c, "local v = cjson.decode('[@]') return #v", &NUMBERS);
        same(c, &["return cjson.decode_invalid_numbers(false)"]);
        same_within(c, script, &NUMBERS);
    });
}

#[test]
fn malformed_texts_are_refused_with_what_was_found_and_where() {
    side_by_side(|c| {
        let texts = [
            "",
            " ",
            "x",
            " x",
            "tru",
            "truex",
            "nullnull",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1}",
            "[1:2]",
            "]",
            "}",
            ",",
            ":",
            "{",
            "{1:2}",
            "{,}",
            "{\"a\"",
            "{\"a\" 2}",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\":2",
            "{\"a\":2 3}",
            "{\"a\":2,}",
            "{\"a\":2,3}",
            "{\"a\":2]",
            "{\"a\",\"b\"}",
            "{null:1}",
            "[1]]",
            "{}{}",
            "\"abc",
            "\"abc\\\\q\"",
            "\"abc\\\\",
            "\"\\\\u12\"",
            "\"\\\\u12g4\"",
            "\"\\\\ud800\"",
            "\"\\\\ud800x\"",
            "\"\\\\ud800\\\\n\"",
            "\"\\\\ud800\\\\u0041\"",
            "\"\\\\udc00\\\\ud800\"",
            "\"\\\\ud800\\\\ud800\"",
            "\\0",
            "\\0a",
            "a\\0",
            "[1\\0]",
            "\"a\\0b\"",
            "[\\255]",
            "[true,falsy]",
            "'a'",
            "[1]/**/",
            "{a:1}",
        ];
        same_within(
            c,
            "return cjson.decode('@')",
            &texts.map(|t| t.replace('\'', "\\'")).each_ref().map(String::as_str),
        );
        same_values(
            c,
            &["cjson.decode()", "cjson.decode(1, 2)", "cjson.decode({})", "cjson.decode(nil)"],
        );
    });
}

#[test]
fn nesting_is_limited() {
    side_by_side(|c| {
        same(
            c,
            &[
                "local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t)",
                "local t = {} for i = 1, 999 do t = {t} end return #cjson.encode(t)",
                "local t = {} for i = 1, 999 do t = {a = t, b = 1} end return #cjson.encode(t)",
                "local t = {} t.t = t return cjson.encode(t)",
                "return cjson.decode(('['):rep(1001))",
                "return #cjson.decode(('['):rep(1000) .. (']'):rep(1000))",
                "return cjson.decode(('{\"a\":'):rep(1001))",
                "return cjson.encode(cjson.decode(('{\"a\":[ '):rep(500) .. (']}'):rep(500)))",
                "cjson.encode_max_depth(2) return cjson.encode({{{}}})",
                "return cjson.encode({{}})",
                "cjson.decode_max_depth(2) return cjson.decode('[[]]')",
                "return cjson.decode(' [ {\"a\": [] } ]')",
                "cjson.encode_max_depth(9999) local t = {} for i = 1, 6900 do t = {t} end \
                 return #cjson.encode(t)",
                "cjson.decode_max_depth(9999) \
                 return #cjson.decode(('['):rep(6900) .. (']'):rep(6900))",
                "return cjson.decode(('{\"a\":'):rep(9000))",
            ],
        );
    });
}

#[test]
fn settings_are_read_and_changed_and_stay() {
    side_by_side(|c| {
        let arguments = [
            "", "nil", "7", "'7.9'", "0", "-1", "2^31", "2^31 - 1", "2^32 + 9", "'x'", "{}",
            "false", "1, 2", "15", "14",
        ];
        for name in ["encode_max_depth", "decode_max_depth", "encode_number_precision"] {
            same_within(c, &format!("return {{cjson.{name}(@), cjson.{name}()}}"), &arguments);
        }
        let arguments = [
            "", "nil", "true", "false", "'on'", "'off'", "'null'", "'x'", "3", "{}", "'on\\0x'",
            "'o\\0x'", "true, 1",
        ];
        for name in ["encode_keep_buffer", "encode_invalid_numbers", "decode_invalid_numbers"] {
            let script = format!("return {{tostring(cjson.{name}(@)), tostring(cjson.{name}())}}");
            same_within(c, &script, &arguments);
        }
        let arguments = [
            "",
            "3",
            "'x', -1",
            "'on', -1",
            "false, 2, '10'",
            "nil, nil, 5",
            "true, -1, 7",
            "true, 1, -7",
            "true, 0.9, 1e10",
            "1, 2, 3, 4",
        ];
        let script = "local function list(a, b, c) return {tostring(a), b, c} end \
                      return list(cjson.encode_sparse_array(@))";
        same_within(c, script, &arguments);
        same(c, &["return {tostring(cjson.encode_sparse_array()), cjson.encode_max_depth()}"]);
    });
}

#[test]
fn sparse_arrays_and_invalid_numbers_are_encoded_as_the_settings_say() {
    side_by_side(|c| {
        let invalid = "return cjson.encode({0/0, -(0/0), 1/0, -1/0}) .. cjson.encode({[1/0] = 1})";
        let sparse = "return cjson.encode({{[100] = 1}, {1, 2, [5] = 1}, {[11] = 1}, {[10] = 1}})";
        same(
            c,
            &[
                "cjson.encode_invalid_numbers(true)",
                invalid,
                "cjson.encode_invalid_numbers('null')",
                invalid,
                "cjson.encode_invalid_numbers('off')",
                invalid,
                "cjson.encode_sparse_array(true)",
                sparse,
                "cjson.encode_sparse_array(false, 0)",
                sparse,
                "cjson.encode_sparse_array(false, 1, 0)",
                sparse,
                "return cjson.encode({1, 2, 3})",
                "return cjson.encode({1, nil, 3})",
                "cjson.encode_sparse_array(false, 2^31 - 1, 0)",
                sparse,
            ],
        );
        for precision in 1..=14 {
            same(
                c,
                &[
                    &format!("return cjson.encode_number_precision({precision})"),
                    "return cjson.encode({1234, 123.456, 0.00012345, 1e-5, -1.5e10, 999.5, 9.5, \
                     0.5, 10, 0, -0.0, 1/3, 2/3, 1e14, 1e15, 123456789.987654321})",
                ],
            );
        }
    });
}

#[test]
fn instances_have_their_own_settings() {
    side_by_side(|c| {
        same(
            c,
            &[
                "local own = cjson.new() own.encode_max_depth(2) \
                 return {own.encode_max_depth(), cjson.encode_max_depth(), \
                 pcall(own.encode, {{{}}})}",
                "cjson.encode_max_depth(3) return cjson.new().encode_max_depth()",
                "return cjson.new(1).new({}, 2).encode({1})",
            ],
        );
    });
}
