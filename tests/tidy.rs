//! What of the house rules a test can hold: the layer arrows, sizes, clocks and entropy only in
//! `env`, no leftovers, a module doc in every file, a conformance file for every family.
//!
//! Each rule is a function from a file to its complaints, and has a test of its own that it does
//! complain.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A source file, by its path from the top.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    /// The part before the unit tests, without comments of their own lines. Ends at a module that
    /// is compiled for tests only and stands in the file; one in a file of its own ends nothing.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let next = self.text.lines().skip(1).map(Some).chain([None]);
        let ends = |line: &str, next: Option<&str>| {
            line == "#[cfg(test)]"
                && next.is_some_and(|next| next.contains("mod ") && next.ends_with('{'))
        };
        let before = self.lines().zip(next).take_while(move |((_, line), next)| !ends(line, *next));
        before.map(|(line, _)| line).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// How many modules it lies below the crate: 0 for `lib.rs`.
    fn depth(&self) -> usize {
        let inner = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        let names = inner.split('/').filter(|name| !matches!(*name, "mod" | "lib" | "main"));
        names.count()
    }

    fn is_test(&self) -> bool {
        !self.path.starts_with("src/") || self.path.ends_with("/tests.rs")
    }

    fn layer(&self) -> Option<&str> {
        let inner = self.path.strip_prefix("src/")?;
        Some(inner.split(['/', '.']).next().unwrap_or(inner))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for top in ["src", "tests", "benches", "examples", "fuzz/fuzz_targets"] {
        collect(&root().join(top), &mut found);
    }
    assert!(found.len() > 20, "the sources were not found");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let relative = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let text = fs::read_to_string(&path).expect("a source file is text");
            found.push(Source { path: relative, text });
        }
    }
}

fn complain(rule: fn(&Source) -> Vec<String>) {
    let all: Vec<String> = sources().iter().flat_map(rule).collect();
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

/// The layers from the bottom up. A file may use its own layer and those below.
const LAYERS: &[&[&str]] = &[
    &["bytes", "env", "error", "resp"],
    &["types"],
    &["db"],
    &["commands"],
    &["engine"],
    &["backend"],
    &["shop"],
    &["server", "replay", "tour"],
    &["cli"],
];

fn level(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&layer))
}

/// What `lib.rs` offers at the top, with the layer it comes from: `Engine` from `engine`.
fn offered() -> &'static BTreeMap<String, String> {
    static OFFERED: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    OFFERED.get_or_init(|| {
        let lib = fs::read_to_string(root().join("src/lib.rs")).expect("there is a library");
        let uses = lib.split(';').filter_map(|part| part.trim().strip_prefix("pub use "));
        let mut offered = BTreeMap::new();
        for (layer, items) in uses.filter_map(|path| path.split_once("::")) {
            for name in items.split([',', '{', '}', ' ', '\n']).filter(|name| !name.is_empty()) {
                offered.insert(name.to_string(), layer.to_string());
            }
        }
        offered
    })
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The names that follow a path that ends in `::`: one, or those of a group in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let Some(group) = rest.strip_prefix('{') else { return vec![identifier(rest)] };
    let (mut depth, mut at_start, mut names) = (1, true, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' => at_start = depth == 1,
            _ if c.is_whitespace() => {}
            _ if at_start => {
                names.push(identifier(&group[at..]));
                at_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// The modules and items at the top of the crate that the code names, with their lines: by
/// `crate::`, or by as many `super::` as lead there.
fn named_from_the_top(source: &Source) -> Vec<(usize, String)> {
    let numbers: Vec<usize> = source.code().map(|(n, _)| n).collect();
    let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for top in ["crate::".to_string(), "super::".repeat(source.depth())] {
        for (at, _) in code.match_indices(&top).filter(|_| !top.is_empty()) {
            let (before, rest) = (&code[..at], &code[at + top.len()..]);
            if before.ends_with("super::") || rest.starts_with("super::") {
                continue;
            }
            let line = numbers[before.matches('\n').count()];
            found.extend(first_names(rest).into_iter().map(|name| (line, name.to_string())));
        }
    }
    found
}

fn arrows(source: &Source) -> Vec<String> {
    let Some(own) = source.layer().filter(|l| !matches!(*l, "lib" | "main")) else {
        return Vec::new();
    };
    let Some(level_of_own) = level(own) else {
        return vec![format!("{}: layer {own} is in no place of the picture", source.path)];
    };
    let is_above = |name: &str| {
        let layer = offered().get(name).map_or(name, String::as_str);
        level(layer).is_some_and(|level| level > level_of_own)
    };
    let named = named_from_the_top(source).into_iter().filter(|(_, name)| is_above(name));
    named.map(|(n, name)| format!("{}:{n}: {own} uses {name} above it", source.path)).collect()
}

#[test]
fn arrows_point_one_way() {
    complain(arrows);
}

fn sizes(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = source.text.lines().count();
    if lines > 700 {
        complaints.push(format!("{}: {lines} lines; split it at 600", source.path));
    }
    for (n, line) in source.lines() {
        if line.chars().count() > 100 && !line.contains("http") {
            complaints.push(format!("{}:{n}: a line of more than 100 columns", source.path));
        }
    }
    complaints.extend(long_functions(source));
    complaints
}

/// Functions of more than 70 lines, told by their indentation.
fn long_functions(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut open: Option<(usize, usize, &str)> = None;
    for (n, line) in source.lines() {
        let indent = line.len() - line.trim_start().len();
        match open {
            None if is_function(line) && !line.ends_with('}') && !line.ends_with(';') => {
                open = Some((n, indent, line.trim()));
            }
            Some((start, at, name)) if indent == at && line.trim_start().starts_with('}') => {
                if n - start > 70 {
                    complaints.push(format!(
                        "{}:{start}: {} lines: {name}",
                        source.path,
                        n - start
                    ));
                }
                open = None;
            }
            // The end of a declaration of several lines: it has no body.
            Some((_, at, _))
                if indent == at && line.trim_start().starts_with(')') && line.ends_with(';') =>
            {
                open = None;
            }
            _ => {}
        }
    }
    complaints
}

fn is_function(line: &str) -> bool {
    let words = line.split_whitespace().take(6);
    words.take_while(|w| !w.contains('(') || w.starts_with("pub(")).any(|w| w == "fn")
        || line.trim_start().starts_with("fn ")
}

#[test]
fn files_functions_and_lines_stay_readable() {
    complain(sizes);
}

fn banned(source: &Source) -> Vec<String> {
    // Split, so that this file does not hold what it forbids.
    let everywhere = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("db", "g!("),
        "#[ign\u{6f}re",
    ];
    let in_code = [
        "unreachable!(",
        ".expect(",
        "DashMap::new(",
        "DashSet::new(",
        "SystemTime::now",
        "Instant::now",
        "thread_rng",
        "getrandom::",
        "std::collections::HashMap",
        "std::collections::HashSet",
        "RandomState",
        ".unwrap()",
        "panic!(",
        "println!(",
        "eprintln!(",
    ];
    let prints = |path: &str| path.starts_with("src/cli/") || path == "src/main.rs";
    // Where a banned word is right.
    let allowed = [
        // A row that locks less than its handler changes: going on would break atomicity.
        ("src/db/view.rs", "unreachable!(\"a handler changed a key that its row does not lock"),
    ];
    let mut complaints = Vec::new();
    for (n, line) in source.lines() {
        for word in everywhere.iter().filter(|w| line.contains(**w)) {
            complaints.push(format!("{}:{n}: {word}", source.path));
        }
    }
    if source.is_test() || source.path == "src/env.rs" {
        return complaints;
    }
    for (n, line) in source.code() {
        if allowed.iter().any(|(path, text)| source.path == *path && line.contains(text)) {
            continue;
        }
        for word in in_code.iter().filter(|w| line.contains(**w)) {
            if !(word.ends_with("println!(") && prints(&source.path)) {
                complaints.push(format!("{}:{n}: {word}", source.path));
            }
        }
        // Without a hasher of its own it is seeded by the operating system.
        let unseeded = |map: &str| line.contains(map) && !line.contains("FixedState");
        if ["DashMap<", "DashSet<"].into_iter().any(unseeded) {
            complaints.push(format!("{}:{n}: a concurrent map without FixedState", source.path));
        }
    }
    complaints
}

#[test]
fn no_leftovers_no_clocks_no_panics() {
    complain(banned);
}

fn documented(source: &Source) -> Vec<String> {
    let first = source.text.lines().next().unwrap_or_default();
    if first.starts_with("//!") || first.starts_with("#![no_main]") {
        Vec::new()
    } else {
        vec![format!("{}: does not start with //!", source.path)]
    }
}

#[test]
fn every_file_says_what_it_is() {
    complain(documented);
}

#[test]
fn every_family_has_a_conformance_file() {
    let names = |folder: &str| -> Vec<String> {
        let mut files = Vec::new();
        for entry in fs::read_dir(root().join(folder)).expect("the folder exists").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push(name.trim_end_matches(".rs").to_string());
        }
        files
    };
    let plumbing =
        ["mod", "args", "cx", "docs", "flags", "introspect", "keys", "pick", "sample", "spec"];
    let tested = names("tests/conformance");
    let families = names("src/commands");
    assert!(families.len() > plumbing.len());
    for family in families.iter().filter(|f| !plumbing.contains(&f.as_str())) {
        assert!(tested.contains(family), "tests/conformance/{family}.rs is missing");
    }
}

#[test]
fn nothing_unplanned_lies_at_the_top() {
    let planned = [
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "tests",
        "benches",
        "fuzz",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "CHANGELOG.md",
        "docs",
        "examples",
        "target",
    ];
    for entry in fs::read_dir(root()).expect("the top exists").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || planned.contains(&name.as_str()), "{name} at the top");
    }
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

#[test]
fn arrows_are_seen_however_they_are_written() {
    let lines = |path: &str, text: &str| -> Vec<usize> {
        let complaints = arrows(&source(path, text));
        let line = |c: &String| c.split(':').nth(1).and_then(|n| n.parse().ok());
        complaints.iter().filter_map(line).collect()
    };
    assert_eq!(lines("src/db/x.rs", "use crate::engine::Engine;"), [1]);
    assert_eq!(lines("src/db/x.rs", "use crate::{types::Str, engine::{Calls, Engine}};"), [1]);
    assert_eq!(lines("src/db/x.rs", "\nuse crate::{\n    types::Str,\n    shop,\n};"), [2]);
    assert_eq!(lines("src/db/x.rs", "use crate::Engine;\nfn f(_: &crate::Session) {}"), [1, 2]);
    assert_eq!(lines("src/db/x.rs", "use crate::{Bytes, Session};"), [1]);
    assert_eq!(lines("src/db/x/y.rs", "use super::super::super::engine::Engine;"), [1]);
    assert_eq!(lines("src/env.rs", "use super::db;"), [1]);
    assert_eq!(lines("src/db/x.rs", "fn f() { $crate::cli::run() }"), [1]);
    let fine = "//! [`crate::Engine`]\nuse crate::{Bytes, env::Env, types::{Str, engine}};\n\
        use super::super::types;\n#[cfg(test)]\nmod tests {\n    use crate::Engine;\n}";
    assert_eq!(lines("src/db/x.rs", fine), [0; 0]);
    assert_eq!(lines("src/db/mod.rs", "use super::types;\nuse self::table::engine;"), [0; 0]);
    assert_eq!(arrows(&source("src/nowhere/x.rs", "")).len(), 1);
}

#[test]
fn code_ends_where_the_tests_begin_and_not_before() {
    let outside = "a\n#[cfg(test)]\nmod tests;\nb\n    #[cfg(test)]\n    fn f() {}\nc\n";
    let inside = "#[cfg(test)]\npub(crate) mod tests {\n    d\n}\n";
    let whole = source("src/db/x.rs", &[outside, "// e\n", inside].concat());
    let code: Vec<&str> = whole.code().map(|(_, line)| line).collect();
    assert_eq!(code, outside.lines().collect::<Vec<_>>());
    let all = sources();
    let hash = all.iter().find(|s| s.path == "src/types/hash.rs").expect("there are hashes");
    assert!(hash.code().count() > 100, "the code of {} ends too early", hash.path);
}

#[test]
fn each_rule_complains_about_what_it_forbids() {
    assert_eq!(sizes(&source("src/a.rs", &"x".repeat(101))).len(), 1);
    assert_eq!(sizes(&source("src/a.rs", &"x\n".repeat(701))).len(), 1);
    let long = format!("    pub fn f() {{\n{}    }}\n", "        x;\n".repeat(71));
    assert_eq!(long_functions(&source("src/a.rs", &long)).len(), 1);
    let declared = format!("    fn f(\n        a: A,\n    ) -> B;\n{}    }}\n", "\n".repeat(90));
    assert_eq!(long_functions(&source("src/a.rs", &declared)), Vec::<String>::new());
    assert_eq!(banned(&source("src/db/x.rs", "let t = SystemTime::now();")).len(), 1);
    assert_eq!(banned(&source("src/db/x.rs", "x.unwrap();")).len(), 1);
    assert_eq!(banned(&source("src/db/x.rs", "#[cfg(test)]\nmod tests {\nx.unwrap();")).len(), 0);
    assert_eq!(banned(&source("src/db/x.rs", "#[cfg(test)]\nmod tests;\nx.unwrap();")).len(), 1);
    for text in ["x.expect(\"y\")", "unreachable!()", "DashMap::new()", "DashMap<u8, u8>"] {
        assert_eq!(banned(&source("src/db/x.rs", text)).len(), 1, "{text}");
        assert_eq!(banned(&source("src/db/tests.rs", text)).len(), 0, "{text}");
    }
    assert_eq!(banned(&source("src/db/x.rs", "m: DashMap<u8, u8, FixedState>,")).len(), 0);
    assert_eq!(banned(&source("tests/x.rs", concat!("to", "do!()"))).len(), 1);
    assert_eq!(documented(&source("src/a.rs", "fn f() {}")).len(), 1);
}
