//! What a script can tell from Redis 7.0.15: a test for each row of `docs/DIFFERENCES.md` about
//! scripts.

use stockroom::WireError;
use stockroom::resp::Value;

use crate::support::{argv, side_by_side};

#[test]
fn replies_are_nested_127_deep_at_most() {
    side_by_side(|c| {
        let script =
            |deep: usize| format!("local t = 7 for i = 1, {deep} do t = {{t}} end return t");
        c.same(argv!["EVAL", script(127), 0]);
        if !c.is_compared() {
            // The client that reads the real server's replies reads no deeper.
            let mut reply = c.run(argv!["EVAL", script(128), 0]);
            let mut depth = 0;
            while let Value::Array(mut items) = reply {
                (reply, depth) = (items.remove(0), depth + 1);
            }
            let limit = WireError::fixed("ERR reached lua stack limit");
            assert_eq!((reply, depth), (Value::Error(limit), 127));
        }
    });
}

#[test]
fn unpack_gives_7500_results_at_most() {
    side_by_side(|c| {
        let script = |n: usize| {
            format!("local t = {{}} for i = 1, {n} do t[i] = i end return select('#', unpack(t))")
        };
        c.same(argv!["EVAL", script(7_500), 0]);
        let (ours, real) = c.both(argv!["EVAL", script(7_501), 0]);
        let text = b"-ERR user_script:1: too many results to unpack script: ";
        assert!(ours.bytes.starts_with(text), "{}", ours.bytes.escape_ascii());
        assert!(real.is_none_or(|real| real.bytes == b":7501\r\n"));
    });
}

#[test]
fn a_protected_table_forgets_what_table_insert_puts_into_it() {
    side_by_side(|c| {
        let (ours, real) = c.both(argv!["EVAL", "table.insert(redis, 'x') return redis[1]", 0]);
        assert_eq!(ours.bytes, b"$1\r\nx\r\n");
        assert!(real.is_none_or(|real| real.value.is_error()));
        c.same(argv!["EVAL", "return redis[1]", 0]);
        // What walks such a table in C finds it empty.
        let script = "local n = 0 table.foreach(redis, function() n = n + 1 end) return n";
        c.differs(argv!["EVAL", script, 0], b":0\r\n", b":23\r\n");
    });
}

#[test]
fn an_error_in_a_tail_call_to_a_guarded_function_has_no_place() {
    side_by_side(|c| {
        let (ours, real) = c.both(argv!["EVAL", "return pairs(nil)", 0]);
        let text = b"-ERR bad argument #1 to 'pairs' (table expected, got nil)\r\n";
        assert_eq!(ours.bytes, text);
        let place = b"-ERR user_script:1: bad argument #1 to 'pairs'";
        assert!(real.is_none_or(|real| real.bytes.starts_with(place)));
        c.same(argv!["EVAL", "local x = pairs(nil)", 0]);
        // Between `pcall` and what it calls there is one level more, for who counts further.
        let script = "local function f() error('x', 3) end local r = {pcall(f)} return r";
        let real = b"*2\r\n$-1\r\n$16\r\nuser_script:1: x\r\n";
        c.differs(argv!["EVAL", script, 0], b"*2\r\n$-1\r\n$1\r\nx\r\n", real);
    });
}

#[test]
fn a_status_is_text() {
    side_by_side(|c| {
        let replaced = "+\u{fffd}\r\n".as_bytes();
        c.differs(argv!["EVAL", "return {ok = '\\255'}", 0], replaced, b"+\xff\r\n");
    });
}

#[test]
fn an_error_that_says_nothing_is_answered() {
    side_by_side(|c| {
        // A real server ends at each of these, so it is not asked.
        if c.is_compared() {
            return;
        }
        for error in ["{}", "{1, 2}", "{err = {}}", "{err = true}"] {
            let reply = c.run(argv!["EVAL", format!("error({error})"), 0]);
            let Value::Error(text) = reply else { panic!("{reply:?}") };
            let text = text.to_string();
            assert!(text.starts_with("ERR Error running script "), "{text}");
            assert!(text.ends_with(", execution failure"), "{text}");
        }
    });
}

#[test]
fn there_is_no_debugger() {
    side_by_side(|c| {
        let refused = b"-ERR there is no debugger for scripts\r\n";
        c.differs("SCRIPT DEBUG YES", refused, b"+OK\r\n");
        c.disconnect();
        c.differs("SCRIPT DEBUG SYNC", refused, b"+OK\r\n");
        c.disconnect();
        c.same("SCRIPT DEBUG NO");
    });
}

#[test]
fn libraries_hold_7000_things_at_once() {
    side_by_side(|c| {
        for (script, our_limit) in [
            ("return select('#', struct.unpack(('b'):rep(%), ('x'):rep(8000)))", 7_950),
            ("return select('#', struct.unpack(('c'):rep(%), ('x'):rep(8000)))", 6_999),
            ("return select('#', cmsgpack.unpack(('\\1'):rep(%)))", 7_950),
            ("return select('#', cmsgpack.unpack(('\\161x'):rep(%)))", 7_000),
            (
                "cjson.decode_max_depth(9999) local t = cjson.decode(('['):rep(%) .. (']'):rep(%))",
                6_999,
            ),
            (
                "cjson.encode_max_depth(9999) local t for _ = 1, % do t = {t} end cjson.encode(t)",
                6_999,
            ),
            (
                "cjson.encode_max_depth(9999) local t for _ = 1, % do t={a=t} end cjson.encode(t)",
                3_500,
            ),
        ] {
            c.same(argv!["EVAL", script.replace('%', &our_limit.to_string()), 0]);
            let more = script.replace('%', &(our_limit + 1).to_string());
            let (ours, real) = c.both(argv!["EVAL", more, 0]);
            assert!(ours.value.is_error(), "{script}");
            assert!(real.is_none_or(|real| !real.value.is_error()), "{script}");
        }
    });
}

#[test]
fn tables_with_long_keys_are_walked_in_another_order() {
    side_by_side(|c| {
        let script = |length: usize| {
            format!(
                "local t = {{}} for i = 1, 60 do t[('%0{length}d'):format(i * 7)] = 1 end \
                 return cjson.encode(t)"
            )
        };
        c.same(argv!["EVAL", script(31), 0]);
        let (ours, real) = c.both(argv!["EVAL", script(32), 0]);
        assert!(real.is_none_or(|real| {
            let sorted = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes.sort_unstable();
                bytes
            };
            real.bytes != ours.bytes && sorted(&real.bytes) == sorted(&ours.bytes)
        }));
    });
}

#[test]
fn libraries_find_a_protected_table_empty() {
    side_by_side(|c| {
        c.differs(argv!["EVAL", "return cmsgpack.pack(coroutine):len()", 0], b":1\r\n", b":47\r\n");
        let (ours, real) = c.both(argv!["EVAL", "return cjson.encode(redis)", 0]);
        assert_eq!(ours.bytes, b"$2\r\n{}\r\n");
        assert!(real.is_none_or(|real| real.value.is_error()));
    });
}

#[test]
fn a_nan_is_decoded_without_its_payload() {
    side_by_side(|c| {
        let script = "return struct.pack('>d', cjson.decode('nan(7)'))";
        let (ours, real) = (b"$8\r\n\x7f\xf8\0\0\0\0\0\0\r\n", b"$8\r\n\x7f\xf8\0\0\0\0\0\x07\r\n");
        c.differs(argv!["EVAL", script, 0], ours, real);
        c.same(argv!["EVAL", "return struct.pack('>d', cjson.decode('-nan'))", 0]);
    });
}
