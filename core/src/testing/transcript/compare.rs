//! Expected values, compared as JSON values, with a few words that stand for what a file cannot know.
//!
//! | in an expected value | stands for |
//! |---|---|
//! | `"$any"`, `"$string"`, `"$integer"` | any value, any string, any integer |
//! | `"$keep:NAME"` | any value, which `"$use:NAME"` in a later step stands for |
//! | member `"$more": true` | further members of its object |
//! | an `error` without `message` | an error with any message |

use std::collections::BTreeMap;

use super::play::Problem;
use crate::json::Json;
use crate::testing::tree::Tree;

/// Values of earlier frames, by the names that the file gives them.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<String, String>);

impl Kept {
    /// A text with the kept values in their places.
    pub(super) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("\"$use:{name}\""), value))
    }

    /// A name that a value uses and nothing is kept as.
    pub(super) fn unknown(&self, value: &Json) -> Option<String> {
        let text = self.fill(value.get());
        let (_, rest) = text.split_once("\"$use:")?;
        Some(rest.split('"').next().unwrap_or_default().to_owned())
    }

    /// Keeps a value.
    pub(super) fn keep(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn filled(&self, json: &Json) -> Json {
        // A kept value is JSON, and so is what it is filled into.
        Json::from_text(self.fill(json.get())).unwrap_or_else(|_| json.clone())
    }

    /// Compares a value with what was expected, and keeps what that says.
    pub(super) fn compare(&mut self, expected: &Json, got: &str) -> Result<(), Problem> {
        let tree = Tree::read(got).ok_or_else(|| format!("no JSON value: {got}"))?;
        let expected = Tree::read(&self.fill(expected.get())).ok_or("the expected value is none")?;
        self.same(&expected, &tree, "").map_err(|place| format!("at {place:?}: {got}"))
    }

    /// Whether a value is as expected; else the place where it is not.
    fn same(&mut self, expected: &Tree, got: &Tree, place: &str) -> Result<(), String> {
        let wrong = || Err(place.to_owned());
        match (expected, got) {
            (Tree::Text(word), _) if word == "$any" => Ok(()),
            (Tree::Text(word), Tree::Text(_)) if word == "$string" => Ok(()),
            (Tree::Text(word), Tree::Number(digits)) if word == "$integer" && !digits.contains(['.', 'e']) => Ok(()),
            (Tree::Text(word), got) if word.starts_with("$keep:") => {
                self.0.insert(word["$keep:".len()..].to_owned(), got.to_string());
                Ok(())
            }
            (Tree::Object(members), Tree::Object(came)) => {
                let open = members.contains_key("$more");
                let free_message = place.ends_with("/error") && !members.contains_key("message");
                for (name, value) in members.iter().filter(|(name, _)| *name != "$more") {
                    let below = format!("{place}/{name}");
                    let Some(came) = came.get(name) else { return Err(below) };
                    self.same(value, came, &below)?;
                }
                match came.keys().find(|name| !members.contains_key(*name)) {
                    Some(more) if !(open || free_message && more == "message") => Err(format!("{place}/{more}")),
                    _ => Ok(()),
                }
            }
            (Tree::Array(items), Tree::Array(came)) if items.len() == came.len() => items
                .iter()
                .zip(came)
                .enumerate()
                .try_for_each(|(index, (item, came))| self.same(item, came, &format!("{place}/{index}"))),
            (expected, got) if expected == got => Ok(()),
            _ => wrong(),
        }
    }
}
