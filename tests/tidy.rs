//! What of the house rules a test can hold: the layer arrows, sizes, clocks and entropy only in
//! `env`, no leftovers, a module doc in every file, a conformance file for every family.
//!
//! Each rule is a function from a file to its complaints, and has a test of its own that it does
//! complain.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file, by its path from the top.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    /// The part before the unit tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().take_while(|(_, line)| *line != "#[cfg(test)]")
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
    &["server", "replay"],
    &["cli"],
];

fn level(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&layer))
}

fn arrows(source: &Source) -> Vec<String> {
    let Some(own) = source.layer().filter(|l| !matches!(*l, "lib" | "main")) else {
        return Vec::new();
    };
    let Some(level_of_own) = level(own) else {
        return vec![format!("{}: layer {own} is in no place of the picture", source.path)];
    };
    let upward = |line: &str| {
        line.match_indices("crate::").find_map(|(at, prefix)| {
            let rest = &line[at + prefix.len()..];
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
            level(name).filter(|l| *l > level_of_own).map(|_| name.to_string())
        })
    };
    let in_doc = |line: &str| line.trim_start().starts_with("//");
    source
        .code()
        .filter(|(_, line)| !in_doc(line))
        .filter_map(|(n, line)| {
            upward(line).map(|name| format!("{}:{n}: {own} uses {name} above it", source.path))
        })
        .collect()
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
    let mut complaints = Vec::new();
    for (n, line) in source.lines() {
        for word in everywhere.iter().filter(|w| line.contains(**w)) {
            complaints.push(format!("{}:{n}: {word}", source.path));
        }
    }
    if source.is_test() || source.path == "src/env.rs" {
        return complaints;
    }
    for (n, line) in source.code().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for word in in_code.iter().filter(|w| line.contains(**w)) {
            if !(word.ends_with("println!(") && prints(&source.path)) {
                complaints.push(format!("{}:{n}: {word}", source.path));
            }
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

#[test]
fn each_rule_complains_about_what_it_forbids() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    assert_eq!(arrows(&source("src/db/x.rs", "use crate::engine::Engine;")).len(), 1);
    assert_eq!(arrows(&source("src/db/x.rs", "use crate::types::Str;")).len(), 0);
    assert_eq!(arrows(&source("src/nowhere/x.rs", "")).len(), 1);
    assert_eq!(sizes(&source("src/a.rs", &"x".repeat(101))).len(), 1);
    assert_eq!(sizes(&source("src/a.rs", &"x\n".repeat(701))).len(), 1);
    let long = format!("    pub fn f() {{\n{}    }}\n", "        x;\n".repeat(71));
    assert_eq!(long_functions(&source("src/a.rs", &long)).len(), 1);
    assert_eq!(banned(&source("src/db/x.rs", "let t = SystemTime::now();")).len(), 1);
    assert_eq!(banned(&source("src/db/x.rs", "x.unwrap();")).len(), 1);
    assert_eq!(banned(&source("src/db/x.rs", "#[cfg(test)]\nx.unwrap();")).len(), 0);
    assert_eq!(banned(&source("tests/x.rs", concat!("to", "do!()"))).len(), 1);
    assert_eq!(documented(&source("src/a.rs", "fn f() {}")).len(), 1);
}
