//! The `stockroom` program as its users see it: output, exit codes, files.

#![cfg(feature = "cli")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn stockroom(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockroom"));
    command.args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    stockroom(args).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).display().to_string()
}

#[test]
fn usage_errors_exit_with_2_and_help_with_0() {
    for args in
        [&[][..], &["nonsense"], &["generate", "--seed", "x"], &["serve", "--port", "70000"]]
    {
        let out = run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(!out.stderr.is_empty() && out.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    for (args, range) in [
        (&["generate", "--seed", "-1"][..], "-1 is not in 0..=18446744073709551615"),
        (&["generate", "--seed", "x"], "x is not in 0..="),
        (&["generate", "--visitors", "-1"], "-1 is not in 0..=5000000"),
        (&["generate", "--items", "0"], "0 is not in 1..=5000000"),
        (&["generate", "--start", "-1"], "-1 is not in 0..="),
        (&["replay", "x", "--sessions-limit", "-1"], "-1 is not in 0..=18446744073709551615"),
        (&["serve", "--port", "-1"], "-1 is not in 0..=65535"),
    ] {
        let out = run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(text(&out.stderr).contains(range), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn generate_writes_the_example_and_other_days() {
    let out = run(&["generate"]);
    assert_eq!(out.status.code(), Some(0));
    let committed = std::fs::read(example("day.csv")).expect("examples/day.csv is there");
    assert!(out.stdout == committed, "examples/day.csv is not what generate writes");

    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("other.csv").display().to_string();
    let out = run(&["generate", "--seed", "8", "--visitors", "3", "--output", &path]);
    assert_eq!((out.status.code(), &out.stdout[..]), (Some(0), &b""[..]));
    let other = std::fs::read(&path).expect("the file was written");
    assert!(other.starts_with(b"timestamp,visitorid,event,itemid,transactionid\n"));
    assert_eq!(run(&["generate", "--seed", "8", "--visitors", "3"]).stdout, other);

    let out = run(&["generate", "--output", "/nonexistent/day.csv"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("/nonexistent/day.csv"), "{}", text(&out.stderr));
}

#[test]
fn output_that_nobody_reads_ends_the_program_quietly() {
    let mut child = stockroom(&["generate", "--visitors", "50000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("it ends");
    assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(0), ""));
}

/// A server that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_says_where_it_listens_answers_and_ends_when_told() {
    let child = stockroom(&["serve", "--port", "0"]).stdout(Stdio::piped()).spawn();
    let mut serving = Serving(child.expect("the program starts"));
    let mut line = String::new();
    let stdout = serving.0.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("it says where");
    let addr = line.trim().strip_prefix("listening on ").expect("the address").to_owned();
    assert!(addr.starts_with("127.0.0.1:"), "loopback unless told otherwise: {addr}");

    let mut client = TcpStream::connect(&addr).expect("it listens");
    client.write_all(b"SET k v\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n").expect("it reads");
    let mut reply = [0; 12];
    client.read_exact(&mut reply).expect("it answers");
    assert_eq!(&reply, b"+OK\r\n$1\r\nv\r\n");

    let taken = run(&["serve", "--port", addr.rsplit(':').next().expect("a port")]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(text(&taken.stderr).contains("cannot listen on"), "{}", text(&taken.stderr));

    let told = Command::new("kill").arg(serving.0.id().to_string()).status();
    assert!(told.is_ok_and(|s| s.success()));
    assert_eq!(serving.0.wait().expect("it ends").code(), Some(0));
}
