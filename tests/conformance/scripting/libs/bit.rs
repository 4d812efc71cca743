//! `bit`.

use super::{same_values, side_by_side};

#[test]
fn numbers_become_32_bits_as_by_rounding_and_wrapping() {
    side_by_side(|c| {
        for x in [
            "0", "1", "-1", "0.5", "-0.5", "1.5", "2.5", "-1.5", "2^31", "2^31 - 1", "-2^31",
            "2^32 + 5", "2^51", "2^52 + 1", "2^53 + 1", "-2^53", "1e300", "1/0", "-1/0", "0/0",
            "'12'", "'0x1F'", "' 7 '",
        ] {
            let list = format!(
                "{{bit.tobit({x}), bit.bnot({x}), bit.bswap({x}), bit.tohex({x}), bit.band({x})}}"
            );
            same_values(c, &[&list]);
        }
    });
}

#[test]
fn bits_are_combined_shifted_and_rotated() {
    side_by_side(|c| {
        let a = "0x12345678";
        for n in ["0", "1", "12", "31", "32", "33", "-1", "2.5", "'4'"] {
            same_values(
                c,
                &[
                    &format!("{{bit.lshift({a}, {n}), bit.rshift({a}, {n}), bit.rol({a}, {n})}}"),
                    &format!("{{bit.lshift(-8, {n}), bit.rshift(-8, {n}), bit.ror(-8, {n})}}"),
                    &format!("{{bit.arshift({a}, {n}), bit.arshift(-8, {n}), bit.rol(-8, {n})}}"),
                    &format!("{{bit.band({a}, -1, {n}), bit.bor({n}, 1, 2), bit.bxor({a}, {n})}}"),
                    &format!("bit.tohex({a}, {n})"),
                ],
            );
        }
        same_values(
            c,
            &[
                "bit.tohex(255, -4)",
                "bit.tohex(0xABCDEF, -100)",
                "bit.tohex(255, 100)",
                "bit.tohex(255, 0)",
                "bit.tohex(255, -2^31)",
                "bit.tohex(1, 2, 3)",
                "bit.lshift(1, 2, 3)",
            ],
        );
    });
}

#[test]
fn what_is_no_number_is_refused() {
    side_by_side(|c| {
        for name in [
            "tobit", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror",
            "bswap", "tohex",
        ] {
            for arguments in ["", "nil", "'x'", "{}", "true", "1, nil", "1, 'x', {}", "'', 1"] {
                same_values(c, &[&format!("bit.{name}({arguments})")]);
            }
        }
    });
}
