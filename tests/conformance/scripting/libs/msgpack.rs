//! `cmsgpack`.

use super::{same, same_values, same_within, side_by_side};

#[test]
fn scalars_are_packed_in_the_shortest_form() {
    side_by_side(|c| {
        let numbers = [
            "0",
            "1",
            "127",
            "128",
            "255",
            "256",
            "65535",
            "65536",
            "2^32 - 1",
            "2^32",
            "2^53",
            "2^62",
            "2^63",
            "2^64",
            "-1",
            "-32",
            "-33",
            "-128",
            "-129",
            "-32768",
            "-32769",
            "-2^31",
            "-2^31 - 1",
            "-2^63",
            "-2^64",
            "0.5",
            "1.5",
            "0.1",
            "1e300",
            "-1e-300",
            "1/0",
            "-1/0",
            "0/0",
            "-(0/0)",
            "-0.0",
            "16777217.5",
        ];
        same_within(c, "return cmsgpack.pack(@)", &numbers);
        let lengths = ["0", "31", "32", "255", "256", "65535", "65536"];
        let script = "local s = cmsgpack.pack(('a'):rep(@)) return {#s, s:sub(1, 6)}";
        same_within(c, script, &lengths);
        same_values(
            c,
            &["cmsgpack.pack(nil, true, false, tostring, cjson.null)", "cmsgpack.pack(1, 'a', {})"],
        );
    });
}

#[test]
fn tables_are_packed_as_arrays_or_maps() {
    side_by_side(|c| {
        let tables = [
            "{}",
            "{1, 2}",
            "{1, nil, 3}",
            "{[1] = 1, [3] = 3}",
            "{a = 1}",
            "{[2] = 1}",
            "{[2^31] = 1}",
            "{[1.5] = 1}",
            "{[0] = 1}",
            "{[-1] = 1}",
            "{1, 2, a = 3}",
            "{a = {b = {c = {1, {}, 'x'}}}}",
            "{[true] = false}",
            "{[{}] = {}}",
            "{a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, [1] = 8, [2.5] = 9}",
        ];
        same_within(c, "return cmsgpack.pack(@)", &tables);
        let script = "local t = {} for i = 1, @ do t[i] = i % 3 end return cmsgpack.pack(t)";
        same_within(c, script, &["15", "16", "255", "65535", "65536"]);
        let script = "local t = {} for i = 1, @ do t['k' .. i] = i end return cmsgpack.pack(t)";
        same_within(c, script, &["15", "16", "1000", "65536"]);
    });
}

#[test]
fn nil_is_packed_for_what_is_nested_deeper_than_16() {
    side_by_side(|c| {
        same(
            c,
            &[
                "local t = {} for i = 1, 20 do t = {t} end return cmsgpack.pack(t)",
                "local t = {} for i = 1, 20 do t = {a = t} end return cmsgpack.pack(t)",
                "local t = {} for i = 1, 20 do t = {[t] = t} end return #cmsgpack.pack(t)",
                "local t = {} t[1] = t return cmsgpack.pack(t)",
            ],
        );
    });
}

#[test]
fn every_type_byte_is_unpacked() {
    side_by_side(|c| {
        // Enough bytes for each, and too few for most.
        let script = "local all = {} for tag = 0, 255 do \
                      local r = {pcall(cmsgpack.unpack, string.char(tag) .. @)} \
                      all[tag + 1] = cjson.encode({#r, tostring(r[1]), tostring(r[2]):sub(1, 9), \
                      tostring(r[3]):sub(1, 9)}) end return all";
        same_within(
            c,
            script,
            &["('\\1'):rep(40)", "('\\0'):rep(16)", "'\\255'", "''", "('\\200\\1'):rep(8)"],
        );
        let bytes = [
            "\\207\\255\\255\\255\\255\\255\\255\\255\\255",
            "\\211\\255\\255\\255\\255\\255\\255\\255\\255",
            "\\206\\255\\255\\255\\255",
            "\\210\\255\\255\\255\\255",
            "\\209\\255\\254",
            "\\208\\254",
            "\\217\\2ab",
            "\\218\\0\\2ab",
            "\\219\\0\\0\\0\\2ab",
            "\\203\\63\\185\\153\\153\\153\\153\\153\\154",
            "\\202\\63\\192\\0\\0",
        ];
        same_within(c, "return tostring(cmsgpack.unpack('@'))", &bytes);
        same_values(
            c,
            &[
                "cmsgpack.pack(cmsgpack.unpack('\\202\\127\\160\\0\\1'))",
                "cmsgpack.unpack('\\147\\1\\192\\2')",
                "#cmsgpack.unpack('\\147\\1\\192\\2')",
                "{cmsgpack.unpack('\\129\\1\\192')}",
            ],
        );
    });
}

#[test]
fn malformed_input_is_refused() {
    side_by_side(|c| {
        let bytes = [
            "\\193",
            "\\196\\2ab",
            "\\1\\204",
            "\\129\\192\\1",
            "\\129\\203\\127\\248\\0\\0\\0\\0\\0\\0\\1",
            "\\219\\255\\255\\255\\255ab",
            "\\221\\255\\255\\255\\255ab",
            "\\223\\255\\255\\255\\255ab",
            "\\220\\1",
            "\\145",
            "\\129",
            "\\129\\1",
            "\\163ab",
        ];
        same_within(c, "return {cmsgpack.unpack('@')}", &bytes);
        same_within(c, "return {pcall(cmsgpack.unpack, '@')}", &bytes);
    });
}

#[test]
fn several_values_are_unpacked_all_or_some() {
    side_by_side(|c| {
        same_values(
            c,
            &[
                "{cmsgpack.unpack('\\1\\2\\3')}",
                "{cmsgpack.unpack('\\1\\2\\3', 'x', 'y')}",
                "select('#', cmsgpack.unpack(''))",
                "{cmsgpack.unpack(12)}",
            ],
        );
        let one = ["", ", 2", ", 3", ", 4", ", -1", ", 'x'", ", '1'", ", nil", ", 1.9", ", 1, 2"];
        same_within(c, "return {cmsgpack.unpack_one('\\1\\2\\3'@)}", &one);
        let limit = [
            "",
            ", 2",
            ", 2, 1",
            ", 9",
            ", 0",
            ", 0, 1",
            ", -1",
            ", 1, -5",
            ", 2^32 + 1",
            ", 1, 2^32 + 1",
            ", 'x'",
            ", 1, 'x'",
            ", nil",
            ", 1, 3",
            ", 1, 4",
        ];
        same_within(c, "return {cmsgpack.unpack_limit('\\1\\2\\3'@)}", &limit);
        same_values(
            c,
            &[
                "cmsgpack.unpack()",
                "cmsgpack.unpack(nil)",
                "cmsgpack.unpack({})",
                "cmsgpack.unpack_one()",
                "{cmsgpack.unpack_one('')}",
                "cmsgpack.unpack_limit()",
                "cmsgpack.unpack_limit(nil, 1)",
                "{cmsgpack.unpack_limit('', 0)}",
                "{cmsgpack.unpack_one('\\193', 0)}",
            ],
        );
    });
}

#[test]
fn what_lies_too_deep_or_is_too_much_fails_with_the_words_of_a_real_server() {
    side_by_side(|c| {
        let script = "local ok, e = pcall(cmsgpack.unpack, @) return ok and 1 or e";
        let inputs = [
            "('\\145'):rep(3999) .. '\\1'",
            "('\\145'):rep(4000) .. '\\1'",
            "('\\145'):rep(4000)",
            "('\\145'):rep(100000)",
            "('\\129\\1'):rep(3999) .. '\\1'",
            "('\\129\\1'):rep(4000) .. '\\1'",
            "('\\129\\1'):rep(3999) .. '\\1', 2",
            "('\\129\\1'):rep(3998) .. '\\1', 2, 3",
            "('\\129'):rep(6900)",
            "('\\129'):rep(8001)",
            "('\\1'):rep(8000)",
        ];
        same_within(c, script, &inputs);
        let packs = [
            "unpack({}, 1, 4000)",
            "unpack({}, 1, 4001)",
            "{}, unpack({}, 1, 3999)",
            "{a = {b = 1}}, unpack({}, 1, 3998)",
            "unpack({[3999] = {a = {b = 1}}}, 1, 3999)",
            "unpack({[3998] = {a = {b = 1}}}, 1, 3998)",
            "unpack({[3997] = {a = {b = 1}}}, 1, 3997)",
            "unpack({[3999] = {}}, 1, 3999)",
            "unpack({[3999] = {1}}, 1, 3999)",
            "unpack({[3999] = {{}}}, 1, 3999)",
            "unpack({[4000] = {}}, 1, 4000)",
        ];
        same_within(c, "return #cmsgpack.pack(@)", &packs);
        let counts = ["7900", "5000, 2, 3"];
        same_within(c, "return select('#', cmsgpack.unpack(('\\1'):rep(@)))", &counts);
    });
}
