//! Case folding: names with the same letters in another case become the same.
//!
//! Each letter goes to lower case, from there to upper and to lower case again, each time by the
//! full mappings of Unicode. That joins what single mappings keep apart: `ẞ`, `ß`, `SS` and `ss`;
//! `ς`, `σ` and `Σ`; `ﬁ` and `FI`; `K` (Kelvin) and `k`. Languages are not asked: `İ`, `I`, `ı` and
//! `i` are one letter, so that nobody has to know which of them a name is written with.
//!
//! Not done: normalisation (`é` as one character and as `e` with an accent stay apart), and leaving
//! accents out. Bytes that are no UTF-8 stand for themselves.

/// A letter of a folded name, or a byte that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folded {
    Letter(char),
    Byte(u8),
}

/// The dot of `İ`, which is `i` with a dot above.
const DOT: Folded = Folded::Letter('\u{307}');

/// What is left of a name when the case of its letters does not matter.
pub(super) fn fold(name: &[u8]) -> impl Iterator<Item = Folded> {
    let pieces = name.utf8_chunks().flat_map(|chunk| {
        let letters = chunk.valid().chars().flat_map(fold_letter).map(Folded::Letter);
        letters.chain(chunk.invalid().iter().copied().map(Folded::Byte))
    });
    let mut after_i = false;
    pieces.filter(move |&piece| {
        let drop = after_i && piece == DOT;
        after_i = piece == Folded::Letter('i') || drop;
        !drop
    })
}

/// Whether a name starts with a prefix, when the case of their letters does not matter.
pub(super) fn starts_with(name: &[u8], prefix: &[u8]) -> bool {
    let mut name = fold(name);
    fold(prefix).all(|piece| name.next() == Some(piece))
}

fn fold_letter(letter: char) -> impl Iterator<Item = char> {
    letter.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(name: &str) -> String {
        let letter = |piece| match piece {
            Folded::Letter(letter) => letter,
            Folded::Byte(byte) => panic!("{byte} in {name}"),
        };
        fold(name.as_bytes()).map(letter).collect()
    }

    #[test]
    fn case_of_any_script_does_not_matter() {
        for (name, prefix) in [
            ("Straße", "STRASSE"),
            ("STRASSE", "straß"),
            ("GROẞ", "groß"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
            ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"),
            ("Ёлка", "ёЛК"),
            ("İstanbul", "istan"),
            ("İstanbul", "ISTAN"),
            ("istanbul", "İST"),
            ("Ilgaz", "ılga"),
            ("ﬁsh", "FI"),
            ("\u{212a}elvin", "KELVIN"),
            ("Աննա", "աՆՆ"),
            ("ＡＢＣ", "ａｂ"),
            ("ꭰ", "Ꭰ"),
            ("日本", "日"),
            ("Ada", ""),
        ] {
            assert!(starts_with(name.as_bytes(), prefix.as_bytes()), "{name} {prefix}");
        }
        for (name, prefix) in [("Ada", "Adab"), ("é", "e\u{301}"), ("Zoë", "zoe"), ("", "a")] {
            assert!(!starts_with(name.as_bytes(), prefix.as_bytes()), "{name} {prefix}");
        }
    }

    #[test]
    fn every_character_folds_like_its_upper_and_lower_case_and_no_further() {
        let has_case = |c: &char| !c.to_uppercase().eq([*c]) || !c.to_lowercase().eq([*c]);
        for letter in ('\0'..=char::MAX).filter(has_case) {
            let one = folded(&letter.to_string());
            let upper: String = letter.to_uppercase().collect();
            let lower: String = letter.to_lowercase().collect();
            assert_eq!(one, folded(&upper), "{letter} {upper}");
            assert_eq!(one, folded(&lower), "{letter} {lower}");
            assert_eq!(one, folded(&one), "{letter}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stand_for_themselves() {
        assert!(starts_with(b"\xff\x00Ada", b"\xff\x00aD"));
        assert!(!starts_with(b"\xff", b"\xfe"));
        // Half of a letter is not its beginning.
        assert!(!starts_with("é".as_bytes(), b"\xc3"));
        assert!(starts_with(b"\xc3(", b"\xc3"));
    }

    proptest! {
        #[test]
        fn names_start_with_their_beginnings_in_any_case(name in "\\PC{0,12}", at in 0..12_usize) {
            let begin: String = name.chars().take(at).collect();
            for prefix in [begin.to_uppercase(), begin.to_lowercase(), begin] {
                prop_assert!(starts_with(name.as_bytes(), prefix.as_bytes()), "{}", prefix);
            }
        }

        #[test]
        fn any_bytes_fold(name: Vec<u8>, prefix: Vec<u8>) {
            prop_assert!(starts_with(&name, &name));
            let _ = starts_with(&name, &prefix);
        }
    }
}
