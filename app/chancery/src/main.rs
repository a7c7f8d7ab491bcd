//! The `chancery` binary, all of which is in the library.

fn main() -> std::process::ExitCode {
    chancery::main()
}
