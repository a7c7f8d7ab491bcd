//! Questions to whoever sits at the terminal. They go to standard error, so that standard output stays for answers.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// Whether there is somebody who could answer.
pub fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A line of text.
pub fn line(question: &str) -> Result<String, Failure> {
    say(&format!("{question}: "))?;
    read()
}

/// A line that is not shown while it is typed.
pub fn secret(question: &str) -> Result<String, Failure> {
    say(&format!("{question} (not shown): "))?;
    let _quiet = Quiet::begin()?;
    let answer = read();
    say("\n")?;
    answer
}

/// The first line of standard input, where nobody is there to be asked.
pub fn secret_from_a_pipe() -> Result<String, Failure> {
    read()
}

/// Before something that cannot be undone. Nobody there, and no `--yes`: it is not done.
pub fn confirm(what: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !somebody_is_there() {
        return Err(Failure::usage(format!("not done without being asked: {what}")).advise("add --yes to do it"));
    }
    let mut letters = what.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter();
    let answer = line(&format!("{}? [y/N]", first.chain(letters).collect::<String>()))?;
    match matches!(answer.to_lowercase().as_str(), "y" | "yes") {
        true => Ok(()),
        false => Err(Failure::failed("nothing was done")),
    }
}

fn say(text: &str) -> Result<(), Failure> {
    let mut stderr = io::stderr();
    stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).map_err(Failure::failed)
}

fn read() -> Result<String, Failure> {
    let mut text = String::new();
    let length = io::stdin().lock().read_line(&mut text).map_err(Failure::failed)?;
    if length == 0 {
        return Err(Failure::usage("there was no answer on standard input"));
    }
    Ok(text.trim().to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Quiet {
    before: Termios,
}

impl Quiet {
    fn begin() -> Result<Self, Failure> {
        let before = tcgetattr(io::stdin()).map_err(Failure::failed)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet).map_err(Failure::failed)?;
        Ok(Self { before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Nothing else can be done where the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
