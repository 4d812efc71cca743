//! What may be shown of a text that is no Redis URL: not a password.

/// Text that is no Redis URL, unless it may hold a password: where that would begin and end, a
/// malformed one does not say.
pub(super) fn unless_secret(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let named = rest.rfind('@').is_some_and(|at| rest[..at].contains([':', '/']));
    let path = rest.starts_with('/') && text.starts_with("unix:");
    if (named && !path) || rest.contains("pass=") { "(hidden)" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_hold_a_password_is_hidden() {
        for text in ["http://x", "rediss://user@h", "redis://a@h:x", "unix:///a@b:c", "a@b", ""] {
            assert_eq!(unless_secret(text), text);
        }
        for text in [
            "rediss://u:secret@h",
            "http://:secret@h",
            "u:secret@h",
            "redis//secret@h",
            "redis://u:sec/ret@h",
            "redis://u:sec://ret@h",
            "unix://r.sock?pass=secret",
        ] {
            assert_eq!(unless_secret(text), "(hidden)", "{text}");
        }
    }
}
