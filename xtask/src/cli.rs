//! Options of a subcommand, and the two ways in which a command ends badly.

use std::str::FromStr;

/// Why a command did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Error {
    /// A check did not hold or a tool is missing; exit code 1.
    Failed(String),
    /// As [`Error::Failed`], and all has been said already.
    Told,
    /// The command line makes no sense; exit code 2.
    Usage(String),
}

impl Error {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// The words after the subcommand. Options are taken out one by one; [`Args::finish`] refuses what is left.
pub(crate) struct Args {
    words: Vec<String>,
}

impl Args {
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// `--help` counts only before a `--`: what follows belongs to another program.
    pub(crate) fn asks_for_help(&self) -> bool {
        self.words.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h")
    }

    /// Takes a switch such as `--list`.
    pub(crate) fn switch(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// Takes an option with a value: `--only tests` or `--only=tests`.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>, Error> {
        let assigned = format!("{name}=");
        let Some(at) = self.words.iter().position(|word| word == name || word.starts_with(&assigned)) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        if let Some(value) = word.strip_prefix(&assigned) {
            return Ok(Some(value.to_owned()));
        }
        if at < self.words.len() {
            return Ok(Some(self.words.remove(at)));
        }
        Err(Error::Usage(format!("`{name}` needs a value")))
    }

    /// As [`Args::value`], read as a number.
    pub(crate) fn number<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Error> {
        self.value(name)?
            .map(|value| value.parse().map_err(|_| Error::Usage(format!("`{name}` needs a number, not `{value}`"))))
            .transpose()
    }

    /// All that is left, for a program that we start.
    pub(crate) fn rest(self) -> Vec<String> {
        self.words
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Error::Usage(format!("`{word}` is not understood"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_taken_in_both_spellings() {
        let mut given = args("--seconds 5 --target=lines --list");
        assert_eq!(given.number::<u64>("--seconds"), Ok(Some(5)));
        assert_eq!(given.value("--target"), Ok(Some("lines".to_owned())));
        assert!(given.switch("--list"));
        assert!(!given.switch("--list"));
        assert_eq!(given.finish(), Ok(()));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(matches!(args("--lsit").finish(), Err(Error::Usage(_))));
        assert!(matches!(args("--only").value("--only"), Err(Error::Usage(_))));
        assert!(matches!(args("--seconds soon").number::<u64>("--seconds"), Err(Error::Usage(_))));
    }

    #[test]
    fn help_after_the_double_dash_is_not_ours() {
        assert!(args("--list -h").asks_for_help());
        assert!(!args("-- --help").asks_for_help());
    }
}
