//! Items found in a token list: what is only compiled for tests, and where functions start and end.

use super::lex::{Kind, Token};

/// A function with a body, wherever it stands: in a module, an impl, a macro call or another function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of its first attribute or doc comment.
    pub(crate) docs_line: usize,
    /// The line of `fn`.
    pub(crate) line: usize,
    /// The line of its closing brace.
    pub(crate) end_line: usize,
    /// It carries `#[test]`, `#[tokio::test]` or another attribute path that ends in `test`.
    pub(crate) is_test: bool,
    /// It carries `#[ignore]`: it proves nothing.
    pub(crate) is_ignored: bool,
}

impl Function {
    /// Lines from `fn` to the closing brace, both counted.
    pub(crate) fn lines(&self) -> usize {
        self.end_line - self.line + 1
    }
}

/// The tokens that a build without tests compiles: items under `#[cfg(test)]` and test functions are left out, with
/// their attributes. A file that opens with `#![cfg(test)]` has none.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept: Vec<Token<'a>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(attribute) = Attribute::at(tokens, at) else {
            kept.push(tokens[at]);
            at += 1;
            continue;
        };
        if !attribute.only_for_tests() {
            kept.extend_from_slice(&tokens[at..attribute.end]);
            at = attribute.end;
        } else if attribute.inner {
            return Vec::new();
        } else {
            at = item_end(tokens, attribute.end);
        }
    }
    kept
}

/// Every function with a body.
pub(crate) fn functions(tokens: &[Token<'_>]) -> Vec<Function> {
    let mut found = Vec::new();
    let mut head = Head::default();
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        if token.kind == Kind::Comment {
            head.starts(token.line);
            at += 1;
        } else if let Some(attribute) = Attribute::at(tokens, at) {
            head.starts(token.line);
            head.is_test |= attribute.names_test();
            head.is_ignored |= attribute.path().first() == Some(&"ignore");
            at = attribute.end;
        } else {
            if token.is_ident("fn") {
                found.extend(function(tokens, at, &head));
            }
            if !is_modifier(&token) {
                head = Head::default();
            }
            at += 1;
        }
    }
    found
}

/// What stands before a `fn`: its comments and attributes.
#[derive(Default)]
struct Head {
    docs_line: Option<usize>,
    is_test: bool,
    is_ignored: bool,
}

impl Head {
    fn starts(&mut self, line: usize) {
        self.docs_line.get_or_insert(line);
    }
}

/// Words that may stand between the attributes of a function and its `fn`.
fn is_modifier(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Ident => {
            matches!(token.text, "pub" | "crate" | "super" | "in" | "const" | "async" | "unsafe" | "extern")
        }
        Kind::Punct => matches!(token.text, "(" | ")"),
        Kind::Text => true,
        _ => false,
    }
}

fn function(tokens: &[Token<'_>], at: usize, head: &Head) -> Option<Function> {
    let name = tokens.get(at + 1).filter(|token| token.kind == Kind::Ident)?;
    let mut depth = 0_usize;
    for (offset, token) in tokens[at..].iter().enumerate() {
        if token.kind != Kind::Punct {
            continue;
        }
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return None,
            "{" if depth == 0 => {
                let close = matching(tokens, at + offset);
                return Some(Function {
                    name: name.text.to_owned(),
                    docs_line: head.docs_line.unwrap_or(tokens[at].line),
                    line: tokens[at].line,
                    end_line: tokens.get(close).or_else(|| tokens.last())?.end_line,
                    is_test: head.is_test,
                    is_ignored: head.is_ignored,
                });
            }
            _ => {}
        }
    }
    None
}

/// The index of the bracket that closes the one at `open`, or the end of the file.
fn matching(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != Kind::Punct {
            continue;
        }
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// One past the item that starts at `at`: past its closing brace or its semicolon, further attributes included.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while at < tokens.len() {
        let token = tokens[at];
        if let Some(attribute) = Attribute::at(tokens, at) {
            at = attribute.end;
        } else if token.is_punct("(") || token.is_punct("[") {
            at = matching(tokens, at) + 1;
        } else if token.is_punct("{") {
            let end = matching(tokens, at) + 1;
            // `use a::{b, c};` and `static A: T = T { … };` go on to their semicolon.
            let trailing = tokens.get(end).is_some_and(|next| next.is_punct(";"));
            return if trailing { end + 1 } else { end };
        } else if token.is_punct(";") {
            return at + 1;
        } else if token.is_punct("}") {
            return at;
        } else {
            at += 1;
        }
    }
    tokens.len()
}

/// `#[…]` or `#![…]` in a token list.
struct Attribute<'t, 'a> {
    body: &'t [Token<'a>],
    end: usize,
    inner: bool,
}

impl<'t, 'a> Attribute<'t, 'a> {
    fn at(tokens: &'t [Token<'a>], at: usize) -> Option<Self> {
        if !tokens.get(at)?.is_punct("#") {
            return None;
        }
        let inner = tokens.get(at + 1)?.is_punct("!");
        let open = at + 1 + usize::from(inner);
        if !tokens.get(open)?.is_punct("[") {
            return None;
        }
        let close = matching(tokens, open).min(tokens.len());
        Some(Self { body: &tokens[open + 1..close], end: (close + 1).min(tokens.len()), inner })
    }

    /// The identifiers of the attribute's path: `tokio`, `test` for `#[tokio::test(flavor = "…")]`.
    fn path(&self) -> Vec<&'a str> {
        self.body
            .iter()
            .take_while(|token| token.kind == Kind::Ident || token.is_punct(":"))
            .filter(|token| token.kind == Kind::Ident)
            .map(|token| token.text)
            .collect()
    }

    fn names_test(&self) -> bool {
        self.path().last() == Some(&"test")
    }

    /// `cfg(test)` and `cfg(all(test, …))`; `any` and `not` say something else. Test functions too.
    fn only_for_tests(&self) -> bool {
        if self.path().first() != Some(&"cfg") {
            return self.names_test();
        }
        let words: Vec<&str> = self.body.iter().filter(|token| token.kind == Kind::Ident).map(|t| t.text).collect();
        words.contains(&"test") && !words.contains(&"any") && !words.contains(&"not")
    }
}
