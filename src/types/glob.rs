//! Patterns as `KEYS`, `SCAN … MATCH` and `PSUBSCRIBE` take them.
//!
//! The answers are those of Redis's `stringmatchlen`, oddities included: an empty text matches the
//! empty pattern only, not even `*`; a class may lack its `]`; the bounds of a range are signed
//! bytes and in either order, but are put in order before case is folded. The way is another:
//! after a mismatch only the last `*` can give way, because what an earlier one could reach, the
//! last one can too. So the time is O(pattern × text) at worst, where naive recursion is
//! exponential in the number of stars.

/// Whether the whole of `text` matches `pattern`: `*` any bytes, `?` any byte, `[a-c]` and `[^a]`
/// classes, `\` before a byte that means itself. With `nocase`, ASCII letters match in either case.
///
/// ```
/// use stockroom::types::glob::glob_match;
/// assert!(glob_match(b"user:*:[cs]art", b"user:17:cart", false));
/// assert!(!glob_match(b"USER:?", b"user:17", true));
/// ```
pub fn glob_match(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None; // the pattern behind the last star, and the text it is tried on
    loop {
        match pattern.get(p) {
            None if t == text.len() => return true,
            // The only star that meets the end of a text is one of the last.
            Some(b'*') if t == text.len() && t > 0 => {
                p += 1;
                continue;
            }
            Some(b'*') if t < text.len() => {
                p += 1;
                if p == pattern.len() {
                    return true;
                }
                star = Some((p, t));
                continue;
            }
            Some(_) if t < text.len() => {
                if let Some(next) = one(pattern, p, text[t], nocase) {
                    (p, t) = (next, t + 1);
                    continue;
                }
            }
            _ => {}
        }
        match &mut star {
            Some((behind, from)) if *from + 1 < text.len() => {
                *from += 1;
                (p, t) = (*behind, *from);
            }
            _ => return false,
        }
    }
}

/// Where the pattern goes on, if what stands at `p`, which is no star, matches `byte`.
fn one(pattern: &[u8], p: usize, byte: u8, nocase: bool) -> Option<usize> {
    match pattern[p] {
        b'?' => Some(p + 1),
        b'[' => class(pattern, p + 1, byte, nocase),
        b'\\' if p + 1 < pattern.len() => same(pattern[p + 1], byte, nocase).then_some(p + 2),
        literal => same(literal, byte, nocase).then_some(p + 1),
    }
}

fn same(a: u8, b: u8, nocase: bool) -> bool {
    a == b || nocase && a.eq_ignore_ascii_case(&b)
}

/// As [`one`], for the class whose inside begins at `p`.
fn class(pattern: &[u8], mut p: usize, byte: u8, nocase: bool) -> Option<usize> {
    let negated = pattern.get(p) == Some(&b'^');
    p += usize::from(negated);
    let mut found = false;
    loop {
        match pattern.get(p..).unwrap_or_default() {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                p += 2;
            }
            [b']', ..] => {
                p += 1;
                break;
            }
            [low, b'-', high, ..] => {
                found |= in_range(*low, *high, byte, nocase);
                p += 3;
            }
            [literal, ..] => {
                found |= same(*literal, byte, nocase);
                p += 1;
            }
        }
    }
    (found != negated).then_some(p)
}

fn in_range(low: u8, high: u8, byte: u8, nocase: bool) -> bool {
    let [low, high, byte] = [low, high, byte].map(u8::cast_signed);
    let (low, high) = (low.min(high), low.max(high));
    let fold =
        |b: i8| if nocase { b.cast_unsigned().to_ascii_lowercase().cast_signed() } else { b };
    (fold(low)..=fold(high)).contains(&fold(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        for text in matching {
            assert!(glob_match(pattern.as_bytes(), text.as_bytes(), false), "{pattern} {text}");
        }
        for text in other {
            assert!(!glob_match(pattern.as_bytes(), text.as_bytes(), false), "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_match_as_on_the_server() {
        // Checked with KEYS on Redis 7.0.15.
        check("h?llo", &["hello", "h*llo"], &["hllo", "heello"]);
        check("h*llo", &["hllo", "heeello"], &["hell", "hllox"]);
        check("h[ae]llo", &["hello", "hallo"], &["hillo", "hllo"]);
        check("h[^e]llo", &["hallo"], &["hello"]);
        check("h[b-a]llo", &["hallo", "hbllo"], &["hcllo"]);
        check("a**", &["a", "ab"], &["", "b"]);
        check("*a*b*c", &["abc", "xaxbxc", "ababc"], &["acb", "abcx"]);
        check("\\*", &["*"], &["a", "\\*"]);
        check("a\\", &["a\\"], &["a"]);
        check("[\\]a]", &["]", "a"], &["\\", "[\\]a]"]);
        check("[abc", &["a", "c"], &["[", "abc"]);
        check("[", &[], &["[", "a"]);
        check("[^", &["a", "["], &["", "ab"]);
        check("[a-", &["a", "-"], &["b"]);
        check("[]", &[], &["]", "a"]);
        check("[a]*", &["a", "ab"], &["b"]);
    }

    #[test]
    fn an_empty_text_matches_only_the_empty_pattern() {
        check("", &[""], &["a"]);
        check("*", &["a"], &[""]);
        check("**", &["a"], &[""]);
    }

    #[test]
    fn ranges_are_of_signed_bytes() {
        assert!(glob_match(b"[\x80-a]", b"\xff", false));
        assert!(glob_match(b"[\x80-a]", b"A", false));
        assert!(!glob_match(b"[a-\x80]", b"z", false));
    }

    #[test]
    fn case_is_folded_after_a_range_is_put_in_order() {
        assert!(glob_match(b"GET*", b"getrange", true));
        assert!(glob_match(b"[A-C]x", b"bX", true));
        assert!(!glob_match(b"[a-Z]", b"b", true));
        assert!(!glob_match(b"[\\A]", b"a", true));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = b"a*".repeat(2_000);
        let mut text = vec![b'a'; 5_000];
        text.push(b'b');
        let timer = crate::env::Stopwatch::start();
        assert!(glob_match(&pattern, &text, false));
        assert!(!glob_match(&[&pattern[..], b"c"].concat(), &text, false));
        assert!(timer.elapsed().as_secs() < 5);
    }
}
