//! What counts as a protocol word in the source of a front.
//!
//! Shapes rather than copies of the core's tables: a method is a known family with a slash, a version is a date, a
//! member is a string in camel case or one of a few plain words. So a method that the core learns tomorrow is found
//! without a change here. Constants that the core exports are paths, not literals, and pass.

use crate::source::{Kind, Token};

/// One protocol word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) why: &'static str,
}

/// What stands before the slash of a method name.
const FAMILIES: &[&str] = &[
    "completion",
    "elicitation",
    "extensions",
    "logging",
    "notifications",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "skills",
    "subscriptions",
    "tasks",
    "tools",
    "ui",
];

/// Methods without a slash.
const BARE_METHODS: &[&str] = &["initialize", "initialized", "ping"];

/// Header names and media types, in small letters.
const HEADERS: &[&str] = &[
    "accept",
    "application/json",
    "authorization",
    "cache-control",
    "content-type",
    "last-event-id",
    "text/event-stream",
    "www-authenticate",
    "x-accel-buffering",
];

/// What header names of the protocol begin with, in small letters.
const HEADER_STARTS: &[&str] = &["mcp-method", "mcp-name", "mcp-param", "mcp-protocol", "mcp-session", "x-mcp-"];

/// Members that are one plain word. Words that a debug view or a log field may well use are not here (`id`, `name`).
const MEMBERS: &[&str] = &[
    "_meta",
    "arguments",
    "capabilities",
    "completions",
    "cursor",
    "elicitation",
    "jsonrpc",
    "params",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "tools",
];

/// Every protocol word in the code; comments are skipped here, tests by the caller.
pub(super) fn words(code: &[Token<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate() {
        let hit = match token.kind {
            Kind::Text => literal(token.text),
            Kind::Number => number(token.text).then_some("an error code of the protocol"),
            Kind::Ident => path(code, at),
            _ => None,
        };
        if let Some(why) = hit {
            found.push(Finding { line: token.line, what: token.text.to_owned(), why });
        }
    }
    found
}

/// A string literal: as a whole, the quoted pieces inside it, and word by word.
fn literal(text: &str) -> Option<&'static str> {
    if BARE_METHODS.contains(&text) {
        return Some("a method of the protocol");
    }
    if MEMBERS.contains(&text) || is_camel(text) {
        return Some("a member of the protocol");
    }
    if text.contains('"') && text.split(['"', '\\']).any(|piece| MEMBERS.contains(&piece) || is_camel(piece)) {
        return Some("a member of the protocol");
    }
    let word_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '`' | '\'' | '{' | '}' | '(' | ')' | ',' | ';');
    text.split(word_end).find_map(word)
}

fn word(word: &str) -> Option<&'static str> {
    let bare = word.trim_end_matches([':', '.', '?', '!']);
    let small = bare.to_ascii_lowercase();
    if bare.split_once('/').is_some_and(|(family, _)| FAMILIES.contains(&family)) {
        return Some("a method of the protocol");
    }
    if HEADERS.contains(&small.as_str()) && bare.contains(['-', '/'])
        || HEADER_STARTS.iter().any(|s| small.starts_with(s))
    {
        return Some("a header or media type");
    }
    if is_version(bare) {
        return Some("a version of the protocol");
    }
    if bare.contains("modelcontextprotocol") {
        return Some("a key of the protocol");
    }
    is_code(bare).then_some("an error code of the protocol")
}

/// One word in camel case, such as `progressToken`.
fn is_camel(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.contains(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `20YY-MM-DD`.
fn is_version(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && text.starts_with("20")
        && bytes.iter().enumerate().all(
            |(at, byte)| {
                if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() }
            },
        )
}

/// `-32…` written in a text.
fn is_code(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(number)
}

/// The range that JSON-RPC reserves, whatever the sign, the underscores and the suffix.
fn number(text: &str) -> bool {
    let digits: String = text.chars().filter(|c| *c != '_').take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().is_ok_and(|value| (32_000..32_768).contains(&value))
}

/// `StatusCode::NOT_FOUND`, `header::ACCEPT`: statuses and headers are the core's decisions.
fn path(code: &[Token<'_>], at: usize) -> Option<&'static str> {
    let constant = code[at].text.len() > 1 && code[at].text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    if !constant || at < 3 || !code[at - 1].is_punct(":") || !code[at - 2].is_punct(":") {
        return None;
    }
    match code[at - 3].text {
        "StatusCode" => Some("a status code"),
        "header" => Some("a header or media type"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{tokens, without_tests};

    fn found(source: &str) -> Vec<String> {
        words(&without_tests(&tokens(source))).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn methods_are_found_alone_and_in_sentences() {
        assert_eq!(found("f(\"tools/call\", \"initialize\", \"ping\")"), ["tools/call", "initialize", "ping"]);
        assert_eq!(found("format!(\"no answer to resources/read: {e}\")"), ["no answer to resources/read: {e}"]);
        assert_eq!(found("json!({\"a\": \"notifications/progress\"})"), ["notifications/progress"]);
    }

    #[test]
    fn members_versions_headers_and_codes_are_found() {
        assert_eq!(found("map.get(\"progressToken\")"), ["progressToken"]);
        assert_eq!(found("#[serde(rename_all = \"camelCase\")] struct S;"), ["camelCase"]);
        assert_eq!(found("r#\"{\"jsonrpc\":2}\"#; \"jsonrpc\""), ["{\"jsonrpc\":2}", "jsonrpc"]);
        assert_eq!(found(r#""{\"nextCursor\":1}""#), ["{\\\"nextCursor\\\":1}"]);
        assert_eq!(found("\"2025-06-18\"; b\"Mcp-Session-Id\""), ["2025-06-18", "Mcp-Session-Id"]);
        assert_eq!(found("error(-32_602, \"bad\"); \"code -32601\""), ["32_602", "code -32601"]);
        assert_eq!(found("StatusCode::NOT_FOUND; header::ACCEPT"), ["NOT_FOUND", "ACCEPT"]);
    }

    #[test]
    fn ordinary_words_pass() {
        let source = "\"could not start the server\"; \"failed to initialize the pool\"; \"accept failed\"; 32; 32768; \
                      \"id\"; \"and/or\"; \"mcp-sansio\"; StatusCode::from_u16(x); \"2025\"; Method::Ping; \"io-uring\"";
        assert_eq!(found(source), Vec::<String>::new());
    }

    #[test]
    fn comments_docs_and_tests_may_name_the_protocol() {
        let source = "/// Answers `tools/call` with -32602.\nfn f() {} // \"2025-06-18\"\n\
                      #[cfg(test)] mod tests { const M: &str = \"tools/call\"; }";
        assert_eq!(found(source), Vec::<String>::new());
    }
}
