//! What a validation found, in words that may be shown to the peer.
//!
//! A problem names a place, a keyword and what the schema expects there. It never contains a value of the
//! instance: arguments can be secrets, and the peer has them anyway. Names of properties are shown (shortened),
//! because without them nobody could tell what to change.

use std::fmt;

/// Bytes of a property name that a path or a message keeps.
const NAME_BYTES: usize = 64;
/// Bytes of a whole path.
const PATH_BYTES: usize = 512;

/// An instance that does not match its schema: the first problems that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    problems: Vec<Problem>,
    complete: bool,
}

impl Invalid {
    pub(crate) fn new(problems: Vec<Problem>, complete: bool) -> Self {
        Self { problems, complete }
    }

    /// The problems, in the order of the schema's checks: at least one, at most as many as the limits allow.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether these are all problems. False when the bound on their number or on the work was reached.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        if !self.complete {
            f.write_str("; and possibly more")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// One way in which an instance does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    path: String,
    keyword: &'static str,
    message: String,
}

impl Problem {
    pub(crate) fn new(path: &Path, keyword: &'static str, message: String) -> Self {
        Self { path: path.to_string(), keyword, message }
    }

    /// Where in the instance: names and indices as they are written in code (`user.tags[2]`), empty for the whole
    /// instance. Names that are no identifiers are quoted (`["a b"]`), long ones shortened.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The keyword of JSON Schema that was not met, such as `required` or `maxLength`.
    #[must_use]
    pub fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// What was expected, without any value of the instance.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "value" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// A place in an instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path(Vec<Segment>);

#[derive(Debug, Clone)]
enum Segment {
    Name(String),
    Index(usize),
}

impl Path {
    pub(crate) fn push_name(&mut self, name: &str) {
        self.0.push(Segment::Name(shortened(name, NAME_BYTES)));
    }

    pub(crate) fn push_index(&mut self, index: usize) {
        self.0.push(Segment::Index(index));
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Index(index) => text.push_str(&format!("[{index}]")),
                Segment::Name(name) if is_plain(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                // Debug formatting escapes quotes and control characters.
                Segment::Name(name) => text.push_str(&format!("[{name:?}]")),
            }
            if text.len() > PATH_BYTES {
                break;
            }
        }
        f.write_str(&shortened(&text, PATH_BYTES))
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '…'))
}

/// `text` cut to about `limit` bytes, with a mark where it was cut.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_code() {
        let mut path = Path::default();
        assert_eq!(path.to_string(), "");
        path.push_name("user");
        path.push_name("tags");
        path.push_index(2);
        path.push_name("a b\n");
        path.push_name("x");
        assert_eq!(path.to_string(), "user.tags[2][\"a b\\n\"].x");
        path.pop();
        path.pop();
        assert_eq!(path.to_string(), "user.tags[2]");
    }

    #[test]
    fn long_names_and_paths_are_cut() {
        let mut path = Path::default();
        path.push_name(&"é".repeat(1_000));
        assert!(path.to_string().len() <= NAME_BYTES + 3);
        for _ in 0..1_000 {
            path.push_name("name");
        }
        assert!(path.to_string().len() <= PATH_BYTES + 3);
    }
}
