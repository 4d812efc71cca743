//! The `stockroom` program; see [`stockroom::cli`].

fn main() -> std::process::ExitCode {
    stockroom::cli::main()
}
