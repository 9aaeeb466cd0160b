//! Expansion by the examples of the RFC, matching by the rules of the module.

use super::{Bindings, UriTemplate, Value};

mod matching;
mod parsing;
mod properties;
mod rfc6570;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn list(items: &[&str]) -> Value {
    Value::List(items.iter().map(|&item| item.to_owned()).collect())
}

fn map(members: &[(&str, &str)]) -> Value {
    Value::Map(members.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect())
}

fn bindings<const N: usize>(values: [(&str, Value); N]) -> Bindings {
    values.into_iter().collect()
}
