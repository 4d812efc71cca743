//! `struct`.

use super::{same, same_values, same_within, side_by_side};

#[test]
fn values_are_packed_by_the_format() {
    side_by_side(|c| {
        same_values(
            c,
            &[
                "struct.pack('>i<i!i', 1, 2, 3)",
                "struct.pack('bBhHlLTiI', -1, 255, -2, 65535, -3, 3, 4, -5, 5)",
                "struct.pack('>bBhHlLTiI', -1, 255, -2, 65535, -3, 3, 4, -5, 5)",
                "struct.pack('i1i2i3i4i5i8', 1, 2, 3, 4, 5, -6)",
                "struct.pack('i32', -1)",
                "struct.pack('>i16', -2)",
                "struct.pack('i0', 1)",
                "struct.pack('b', '300')",
                "struct.pack('f', 0.1) .. struct.pack('>d', 0.1)",
                "struct.pack('>f', 1e300)",
                "struct.pack('fd', 0/0, 1/0)",
                "struct.pack('d', -(0/0))",
                "struct.pack('c0', 'abc')",
                "struct.pack('c', 'abc') .. struct.pack('c2', 'abc')",
                "struct.pack('s', 'a\\0b')",
                "struct.pack('s', 12)",
                "struct.pack('x x')",
                "struct.pack('b\\0b', 1)",
                "struct.pack('')",
                "struct.pack('b', 1, 2, 3)",
            ],
        );
        let numbers = [
            "2^53", "2^63", "2^64", "-1", "-2^63", "-2^64", "1e300", "0/0", "-(0/0)", "1/0",
            "-1/0", "1.9", "-1.9",
        ];
        same_within(c, "return struct.pack('LlTi2', @, @, @, @)", &numbers);
    });
}

#[test]
fn values_are_aligned() {
    side_by_side(|c| {
        same_values(
            c,
            &[
                "struct.pack('!16bd', 1, 2)",
                "struct.pack('!bhlidfT', 1, 2, 3, 4, 5, 6, 7)",
                "struct.pack('!4bl', 1, 2)",
                "struct.pack('!1bl', 1, 2)",
                "struct.pack('!8bi3i5i6', 1, 2, 3, 4)",
                "struct.pack('!1073741824bi32', 5, 6)",
                "struct.pack('!bc3xsi', 1, 'abc', 'de', 5)",
                "{struct.unpack('!8bd', struct.pack('!8bd', 1, 2))}",
                "{struct.unpack('!8bi3i5', '0123456789abcdefghijkl', 2)}",
                "struct.size('!bd')",
                "struct.size('i6!4i6')",
                "struct.size('!32bi32')",
                "struct.size('!64bi32')",
            ],
        );
    });
}

#[test]
fn values_are_unpacked_by_the_format() {
    side_by_side(|c| {
        same_values(
            c,
            &[
                "{struct.unpack('bBhH', '\\200\\200\\1\\200\\1\\200')}",
                "{struct.unpack('>bBhH', '\\200\\200\\200\\1\\200\\1')}",
                "{struct.unpack('i3I3', '\\255\\255\\255\\255\\255\\255')}",
                "{tostring(struct.unpack('L', ('\\255'):rep(8)))}",
                "{tostring(struct.unpack('I16', ('\\255'):rep(16)))}",
                "{struct.unpack('i0I0', '')}",
                "{tostring(struct.unpack('f', '\\0\\0\\192\\127'))}",
                "{tostring(struct.unpack('>f', '\\127\\128\\0\\0'))}",
                "struct.pack('d', struct.unpack('f', '\\1\\0\\160\\127'))",
                "{struct.unpack('bc0', '\\3abcd')}",
                "{struct.unpack('sc0', '2\\0abcd')}",
                "{struct.unpack('bxc0', '\\1\\2\\3')}",
                "{struct.unpack('c2c0', '02ab')}",
                "{struct.unpack('dc0', struct.pack('d', 2.7) .. 'abcd')}",
                "{struct.unpack('dc0', struct.pack('d', 1e300) .. 'abcd')}",
                "{struct.unpack('s', 'abc\\0d')}",
                "{struct.unpack('ss', 'ab\\0\\0')}",
                "{struct.unpack('b', 'abc', 2)}",
                "{struct.unpack('b', 'abc', '2.9')}",
                "{struct.unpack('b', 'abc', nil)}",
                "{struct.unpack('', 'a', 9)}",
                "{struct.unpack('', 'a', -1)}",
            ],
        );
        // Where the sign of an integer is sought that is wider than eight bytes.
        for byte in ["\\1", "\\129", "\\255"] {
            let script = format!(
                "local t = {{}} for i = 1, 32 do t[i] = tostring(struct.unpack('@' .. i, \
                 ('{byte}'):rep(i))) end return t"
            );
            same_within(c, &script, &["i", ">i", "I", ">I"]);
        }
    });
}

#[test]
fn bad_formats_are_refused() {
    side_by_side(|c| {
        let formats = [
            "z",
            "%",
            "5",
            "3b",
            "b\\128",
            "i33",
            "i4294967297",
            "i2147483648",
            "i-1",
            "!3i",
            "!0i",
            "!4294967297i",
            "!2147483647i",
            "!2147483648",
            "c10000000000",
            "c2147483647",
            "c2147483648",
            "s",
            "c0",
            "c",
            "",
            " ",
            "!",
            "!4",
            "i",
            "bb",
            "x",
            "T5",
        ];
        for call in ["pack('@', 5)", "unpack('@', 'abcdefgh')", "size('@')"] {
            same_within(c, &format!("return {{struct.{call}}}"), &formats);
        }
        same_values(
            c,
            &[
                "struct.pack()",
                "struct.pack({})",
                "struct.pack(5)",
                "struct.size()",
                "struct.size({})",
                "struct.size(('c2147483647'):rep(5))",
                "struct.unpack()",
                "struct.unpack('b')",
                "struct.unpack(nil, 'a')",
                "struct.unpack('b', {})",
            ],
        );
    });
}

#[test]
fn bad_arguments_and_short_data_are_refused() {
    side_by_side(|c| {
        same_values(
            c,
            &[
                "struct.pack('i')",
                "struct.pack('ii', 1)",
                "struct.pack('i', {})",
                "struct.pack('i', 'x')",
                "struct.pack('s')",
                "struct.pack('s', {})",
                "struct.pack('c4', 'abc')",
                "struct.pack('bc4', 1, 'abc')",
                "struct.unpack('b', '')",
                "struct.unpack('b', 'a', 2)",
                "struct.unpack('b', 'a', 0)",
                "struct.unpack('', 'a', 0.5)",
                "struct.unpack('b', 'a', -1)",
                "struct.unpack(' ', 'a', -1)",
                "struct.unpack('s', 'a', -1)",
                "struct.unpack('x', 'a', 2^40)",
                "struct.unpack('x', 'a', 'x')",
                "struct.unpack('c0', 'a')",
                "struct.unpack('c0', '5')",
                "struct.unpack('bc0', '\\5abc')",
                "struct.unpack('bc0', '\\255abcd')",
                "struct.unpack('bc0c0', '\\1\\2\\3')",
                "struct.unpack('dc0', struct.pack('d', 0/0) .. 'abcd')",
                "struct.unpack('dc0', struct.pack('d', -5) .. 'abcd')",
                "struct.unpack('dc0', struct.pack('d', 2^63) .. 'abcd')",
                "struct.unpack('s', 'abc')",
                "struct.unpack('sx', 'abc\\0')",
                "struct.unpack('!8bd', 'abcd')",
            ],
        );
    });
}

#[test]
fn thousands_of_values_are_unpacked_but_not_any_number() {
    side_by_side(|c| {
        let script = "return select('#', struct.unpack(@, ('b'):rep(9000)))";
        same_within(
            c,
            script,
            &["('b'):rep(7900)", "('b'):rep(7998)", "('x'):rep(9000)", "('c'):rep(6900)"],
        );
        same(c, &["return #struct.pack(('x'):rep(100000))"]);
    });
}
