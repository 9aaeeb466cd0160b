//! The lexer: one pass over the bytes, splitting only at ASCII, so that every slice is whole UTF-8.

/// What a token is. Comments are kept, since doc comments of tests name the requirements that they prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A character or byte literal.
    Char,
    /// A line or block comment, documentation included.
    Comment,
    /// An identifier or keyword; a raw one without its `r#`.
    Ident,
    /// A lifetime or loop label, with its quote.
    Lifetime,
    /// A number with its suffix, without its sign.
    Number,
    /// One character of punctuation.
    Punct,
    /// A string literal of any kind; the text is what stands between the quotes, escapes as written.
    Text,
}

/// A piece of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line on which the token starts, from 1.
    pub(crate) line: usize,
    /// The line on which it ends.
    pub(crate) end_line: usize,
}

impl Token<'_> {
    pub(crate) fn is_ident(&self, name: &str) -> bool {
        self.kind == Kind::Ident && self.text == name
    }

    pub(crate) fn is_punct(&self, mark: &str) -> bool {
        self.kind == Kind::Punct && self.text == mark
    }
}

/// All tokens of a file. Unterminated literals and comments end with the file.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, line: 1 };
    let mut found = Vec::new();
    while let Some(token) = lexer.next() {
        found.push(token);
    }
    found
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.bump();
        }
        let byte = self.peek(0)?;
        let line = self.line;
        let start = self.at;
        let (kind, from, to) = match byte {
            b'/' if self.peek(1) == Some(b'/') => (Kind::Comment, start, self.line_comment()),
            b'/' if self.peek(1) == Some(b'*') => (Kind::Comment, start, self.block_comment()),
            b'"' => self.string(0),
            b'\'' => self.quote(),
            b'0'..=b'9' => (Kind::Number, start, self.number()),
            _ if is_word(byte) => self.word(),
            _ => {
                self.bump();
                (Kind::Punct, start, self.at)
            }
        };
        Some(Token { kind, text: &self.source[from..to], line, end_line: self.line })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn bump(&mut self) {
        if self.peek(0) == Some(b'\n') {
            self.line += 1;
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    fn bump_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&accept) {
            self.bump();
        }
    }

    fn line_comment(&mut self) -> usize {
        self.bump_while(|byte| byte != b'\n');
        self.at
    }

    fn block_comment(&mut self) -> usize {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            let step = match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    2
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    2
                }
                _ => 1,
            };
            for _ in 0..step {
                self.bump();
            }
            if depth == 0 {
                break;
            }
        }
        self.at
    }

    /// A string that starts at the quote, closed by a quote and as many `#` as its opening had.
    fn raw_string(&mut self, hashes: usize) -> (Kind, usize, usize) {
        self.bump();
        let from = self.at;
        while self.peek(0).is_some() {
            if self.peek(0) == Some(b'"') && (1..=hashes).all(|ahead| self.peek(ahead) == Some(b'#')) {
                let to = self.at;
                for _ in 0..=hashes {
                    self.bump();
                }
                return (Kind::Text, from, to);
            }
            self.bump();
        }
        (Kind::Text, from, self.at)
    }

    /// A string with escapes, whose opening quote is `ahead` bytes away.
    fn string(&mut self, ahead: usize) -> (Kind, usize, usize) {
        for _ in 0..=ahead {
            self.bump();
        }
        let from = self.at;
        loop {
            match self.peek(0) {
                None => return (Kind::Text, from, self.at),
                Some(b'"') => {
                    let to = self.at;
                    self.bump();
                    return (Kind::Text, from, to);
                }
                Some(b'\\') => {
                    self.bump();
                    self.bump();
                }
                Some(_) => self.bump(),
            }
        }
    }

    /// A quote opens a character, a lifetime or a label.
    fn quote(&mut self) -> (Kind, usize, usize) {
        let start = self.at;
        self.bump();
        if self.peek(0) == Some(b'\\') {
            self.bump();
            self.bump();
            self.bump_while(|byte| byte != b'\'' && byte != b'\n');
            self.bump();
            return (Kind::Char, start, self.at);
        }
        let width = self.source[self.at..].chars().next().map_or(1, char::len_utf8);
        if self.peek(width) == Some(b'\'') {
            for _ in 0..=width {
                self.bump();
            }
            return (Kind::Char, start, self.at);
        }
        self.bump_while(is_word);
        (Kind::Lifetime, start, self.at)
    }

    fn number(&mut self) -> usize {
        self.bump_while(is_word);
        if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
            self.bump();
            self.bump_while(is_word);
        }
        self.at
    }

    /// An identifier, or the prefix of a literal (`b"…"`, `r#"…"#`, `b'…'`), or a raw identifier.
    fn word(&mut self) -> (Kind, usize, usize) {
        let start = self.at;
        self.bump_while(is_word);
        let prefix = &self.source[start..self.at];
        if matches!(prefix, "b" | "c") && self.peek(0) == Some(b'"') {
            return self.string(0);
        }
        if prefix == "b" && self.peek(0) == Some(b'\'') {
            return self.quote();
        }
        if matches!(prefix, "r" | "br" | "cr") {
            let hashes = self.bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
            if self.peek(hashes) == Some(b'"') {
                for _ in 0..hashes {
                    self.bump();
                }
                return self.raw_string(hashes);
            }
            if prefix == "r" && hashes == 1 && self.peek(1).is_some_and(is_word) {
                self.bump();
                let from = self.at;
                self.bump_while(is_word);
                return (Kind::Ident, from, self.at);
            }
        }
        (Kind::Ident, start, self.at)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
