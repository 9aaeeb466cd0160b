//! ECMA-262 pattern text to a syntax tree.
//!
//! Deviations from the `u` grammar, all towards what schema authors write: a lone `{`, `}` or `]` is itself,
//! `(?P<name>…)` is a named group, `(?i)` and `(?i:…)` set the flags `i`, `m` and `s` as ECMA-262 2025 and other
//! engines do. Escapes of letters that mean nothing in ECMA-262 (`\A`, `\Z`, `\a`) are errors: guessing would
//! accept what the author meant to refuse.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::PatternError;

/// Groups within groups.
const NESTING: usize = 48;
/// `{n,m}`: larger counts cannot be expanded under any budget, so their digits are not even read.
const REPEAT_MAX: u32 = 1_000_000;

#[derive(Debug, Clone)]
pub(super) enum Ast {
    /// Matches the empty text.
    Empty,
    /// One character of a set.
    Set(ClassUnicode),
    Concat(Vec<Self>),
    Alternatives(Vec<Self>),
    Repeat {
        inner: Box<Self>,
        min: u32,
        max: Option<u32>,
    },
    Assert(Assertion),
    Look {
        ahead: bool,
        negated: bool,
        inner: Box<Self>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
}

pub(super) fn parse(source: &str) -> Result<Ast, PatternError> {
    let mut parser = Parser { chars: source.chars().collect(), at: 0, nesting: 0, flags: Flags::default() };
    let ast = parser.alternatives()?;
    match parser.peek() {
        None => Ok(ast),
        Some(_) => Err(parser.error("unmatched `)`")),
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    nesting: usize,
    flags: Flags,
}

impl Parser {
    fn alternatives(&mut self) -> Result<Ast, PatternError> {
        let mut branches = vec![self.concat()?];
        while self.eat('|') {
            branches.push(self.concat()?);
        }
        Ok(if branches.len() > 1 { Ast::Alternatives(branches) } else { branches.pop().unwrap_or(Ast::Empty) })
    }

    fn concat(&mut self) -> Result<Ast, PatternError> {
        let mut parts = Vec::new();
        while let Some(next) = self.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            let Some(atom) = self.atom()? else { continue };
            parts.push(self.quantified(atom)?);
        }
        Ok(if parts.len() > 1 { Ast::Concat(parts) } else { parts.pop().unwrap_or(Ast::Empty) })
    }

    /// One term without its quantifier; `None` for a flag setting such as `(?i)`.
    fn atom(&mut self) -> Result<Option<Ast>, PatternError> {
        let Some(first) = self.next() else { return Ok(None) };
        Ok(Some(match first {
            '^' if self.flags.multi_line => Ast::Assert(Assertion::LineStart),
            '^' => Ast::Assert(Assertion::TextStart),
            '$' if self.flags.multi_line => Ast::Assert(Assertion::LineEnd),
            '$' => Ast::Assert(Assertion::TextEnd),
            '.' => Ast::Set(dot(self.flags.dot_all)),
            '(' => return self.group(),
            '[' => Ast::Set(self.class()?),
            '\\' => self.escape()?,
            '*' | '+' | '?' => return Err(self.error_before("nothing to repeat")),
            '{' if self.counts_follow() => return Err(self.error_before("nothing to repeat")),
            literal => Ast::Set(self.single(literal as u32)),
        }))
    }

    fn quantified(&mut self, atom: Ast) -> Result<Ast, PatternError> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts()? {
                Some(counts) => {
                    // A lazy mark changes which text is matched, never whether one is.
                    self.eat('?');
                    return repeat(atom, counts).ok_or_else(|| self.error_before("counts out of order"));
                }
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.at += 1;
        self.eat('?');
        repeat(atom, (min, max)).ok_or_else(|| self.error_before("counts out of order"))
    }

    /// Whether the text after an already consumed `{` is a quantifier.
    fn counts_follow(&mut self) -> bool {
        let start = self.at;
        self.at = start.saturating_sub(1);
        let counts = self.counts();
        self.at = start;
        matches!(counts, Ok(Some(_)) | Err(_))
    }

    /// Reads `{n}`, `{n,}` or `{n,m}`; consumes nothing and answers `None` if it is something else.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let start = self.at;
        self.at += 1;
        let counts = (|| {
            let min = self.number()?;
            let max = if self.eat(',') {
                if self.peek() == Some('}') { None } else { Some(self.number()?) }
            } else {
                Some(min)
            };
            self.eat('}').then_some((min, max))
        })();
        match counts {
            Some((min, max)) if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX) => {
                Err(PatternError::TooLarge { limit: REPEAT_MAX as usize })
            }
            Some(counts) => Ok(Some(counts)),
            None => {
                self.at = start;
                Ok(None)
            }
        }
    }

    fn number(&mut self) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        }
        value
    }

    fn group(&mut self) -> Result<Option<Ast>, PatternError> {
        self.nesting += 1;
        if self.nesting > NESTING {
            return Err(PatternError::Unsupported("nesting groups that deep"));
        }
        let outer = self.flags;
        let mut look = None;
        if self.eat('?') {
            match self.next() {
                Some(':') => {}
                Some('=') => look = Some((true, false)),
                Some('!') => look = Some((true, true)),
                Some('<') if self.eat('=') => look = Some((false, false)),
                Some('<') if self.eat('!') => look = Some((false, true)),
                Some('<') => self.group_name()?,
                Some('P') if self.eat('<') => self.group_name()?,
                Some('>') => return Err(PatternError::Unsupported("an atomic group")),
                Some('i' | 'm' | 's' | '-') => {
                    self.at -= 1;
                    if self.set_flags()? {
                        self.nesting -= 1;
                        return Ok(None);
                    }
                }
                _ => return Err(self.error_before("unknown group")),
            }
        }
        let inner = self.alternatives()?;
        if !self.eat(')') {
            return Err(self.error("missing `)`"));
        }
        self.flags = outer;
        self.nesting -= 1;
        Ok(Some(match look {
            Some((ahead, negated)) => Ast::Look { ahead, negated, inner: Box::new(inner) },
            None => inner,
        }))
    }

    fn group_name(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        while let Some(c) = self.next() {
            match c {
                '>' if self.at > start + 1 => return Ok(()),
                c if c.is_alphanumeric() || matches!(c, '_' | '$') => {}
                _ => break,
            }
        }
        Err(self.error("malformed group name"))
    }

    /// Reads flags up to `)` (true: they hold for the rest of the enclosing group) or `:` (false).
    fn set_flags(&mut self) -> Result<bool, PatternError> {
        let mut on = true;
        loop {
            match self.next() {
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.multi_line = on,
                Some('s') => self.flags.dot_all = on,
                Some('-') if on => on = false,
                Some(':') => return Ok(false),
                Some(')') => return Ok(true),
                _ => return Err(self.error_before("unknown flag")),
            }
        }
    }

    /// An escape outside of a class, after its backslash.
    fn escape(&mut self) -> Result<Ast, PatternError> {
        match self.peek() {
            Some('b') => {
                self.at += 1;
                Ok(Ast::Assert(Assertion::WordBoundary))
            }
            Some('B') => {
                self.at += 1;
                Ok(Ast::Assert(Assertion::NoWordBoundary))
            }
            Some('1'..='9' | 'k') => Err(PatternError::Unsupported("a back-reference")),
            _ => match self.class_escape()? {
                Item::Char(c) => Ok(Ast::Set(self.single(c))),
                Item::Set(set) => Ok(Ast::Set(self.folded(set))),
            },
        }
    }

    /// A class, after its `[`.
    fn class(&mut self) -> Result<ClassUnicode, PatternError> {
        let negated = self.eat('^');
        let mut set = ClassUnicode::empty();
        loop {
            let Some(next) = self.next() else { return Err(self.error("missing `]`")) };
            if next == ']' {
                break;
            }
            let low = self.class_item(next)?;
            let range_follows = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            match low {
                Item::Char(low) if range_follows => {
                    self.at += 1;
                    let Some(next) = self.next() else { return Err(self.error("missing `]`")) };
                    match self.class_item(next)? {
                        Item::Char(high) if high < low => return Err(self.error_before("range out of order")),
                        Item::Char(high) => add_range(&mut set, low, high),
                        // `[a-\d]` is the three of them, as in the web's grammar.
                        Item::Set(other) => {
                            add_range(&mut set, low, low);
                            add_range(&mut set, '-' as u32, '-' as u32);
                            set.union(&other);
                        }
                    }
                }
                Item::Char(c) => add_range(&mut set, c, c),
                Item::Set(other) => set.union(&other),
            }
        }
        let mut set = self.folded(set);
        if negated {
            set.negate();
        }
        Ok(set)
    }

    fn class_item(&mut self, first: char) -> Result<Item, PatternError> {
        if first != '\\' {
            return Ok(Item::Char(first as u32));
        }
        match self.peek() {
            Some('b') => {
                self.at += 1;
                Ok(Item::Char(8))
            }
            Some('-') => {
                self.at += 1;
                Ok(Item::Char('-' as u32))
            }
            _ => self.class_escape(),
        }
    }

    /// An escape that stands for a character or a set, after its backslash.
    fn class_escape(&mut self) -> Result<Item, PatternError> {
        let Some(c) = self.next() else { return Err(self.error("`\\` at the end")) };
        Ok(match c {
            'd' | 'D' => Item::Set(negated_if(c == 'D', set_of(&[(48, 57)]))),
            'w' | 'W' => Item::Set(negated_if(c == 'W', set_of(&[(48, 57), (65, 90), (95, 95), (97, 122)]))),
            's' | 'S' => Item::Set(negated_if(c == 'S', set_of(WHITE_SPACE))),
            'p' | 'P' => Item::Set(negated_if(c == 'P', self.property()?)),
            't' => Item::Char(9),
            'n' => Item::Char(10),
            'v' => Item::Char(11),
            'f' => Item::Char(12),
            'r' => Item::Char(13),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => Item::Char(0),
            'c' => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => Item::Char(letter as u32 % 32),
                _ => return Err(self.error_before("malformed control escape")),
            },
            'x' => Item::Char(self.hex(2)?),
            'u' => Item::Char(self.code_point()?),
            c if !c.is_alphanumeric() => Item::Char(c as u32),
            _ => return Err(self.error_before("unknown escape")),
        })
    }

    /// `XXXX`, a surrogate pair of them, or `{X…}`, after `\u`.
    fn code_point(&mut self) -> Result<u32, PatternError> {
        if self.eat('{') {
            let mut value = 0_u32;
            let start = self.at;
            while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
                self.at += 1;
                value = value.saturating_mul(16).saturating_add(digit);
            }
            if self.at == start || value > char::MAX as u32 || !self.eat('}') {
                return Err(self.error("malformed code point"));
            }
            return Ok(value);
        }
        let high = self.hex(4)?;
        if (0xD800..0xDC00).contains(&high) {
            let start = self.at;
            if self.eat('\\')
                && self.eat('u')
                && let Ok(low @ 0xDC00..=0xDFFF) = self.hex(4)
            {
                return Ok(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
            }
            self.at = start;
        }
        Ok(high)
    }

    fn hex(&mut self, digits: usize) -> Result<u32, PatternError> {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.next().and_then(|c| c.to_digit(16)) else {
                return Err(self.error_before("malformed hexadecimal escape"));
            };
            value = value * 16 + digit;
        }
        Ok(value)
    }

    /// `{Name}` or `{Name=Value}`, after `\p`.
    fn property(&mut self) -> Result<ClassUnicode, PatternError> {
        if !self.eat('{') {
            return Err(self.error("malformed property"));
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '=') => name.push(c),
                _ => return Err(self.error_before("malformed property")),
            }
        }
        let class = regex_syntax::Parser::new().parse(&format!("\\p{{{name}}}")).map(regex_syntax::hir::Hir::into_kind);
        match class {
            Ok(HirKind::Class(Class::Unicode(set))) => Ok(set),
            // A property of a single character, or of none, is simplified by the parser.
            Ok(HirKind::Literal(literal)) => {
                let mut set = ClassUnicode::empty();
                for c in std::str::from_utf8(&literal.0).unwrap_or_default().chars() {
                    add_range(&mut set, c as u32, c as u32);
                }
                Ok(set)
            }
            _ => Err(PatternError::Unsupported("a Unicode property of that name")),
        }
    }

    fn single(&self, c: u32) -> ClassUnicode {
        self.folded(set_of(&[(c, c)]))
    }

    fn folded(&self, mut set: ClassUnicode) -> ClassUnicode {
        if self.flags.ignore_case {
            // Fails only without Unicode tables, which are compiled in; the unfolded set is then the honest one.
            let _ = set.try_case_fold_simple();
        }
        set
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn eat(&mut self, expected: char) -> bool {
        let eaten = self.peek() == Some(expected);
        if eaten {
            self.at += 1;
        }
        eaten
    }

    fn error(&self, reason: &'static str) -> PatternError {
        PatternError::Syntax { at: self.at, reason }
    }

    fn error_before(&self, reason: &'static str) -> PatternError {
        PatternError::Syntax { at: self.at.saturating_sub(1), reason }
    }
}

enum Item {
    Char(u32),
    Set(ClassUnicode),
}

/// `\s` of ECMA-262: white space and line terminators.
const WHITE_SPACE: &[(u32, u32)] = &[
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];

/// The line terminators of ECMA-262.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn dot(all: bool) -> ClassUnicode {
    let mut set = ClassUnicode::empty();
    if !all {
        set = set_of(&[(10, 10), (13, 13), (0x2028, 0x2029)]);
    }
    set.negate();
    set
}

fn repeat(inner: Ast, (min, max): (u32, Option<u32>)) -> Option<Ast> {
    if max.is_some_and(|max| max < min) {
        return None;
    }
    Some(Ast::Repeat { inner: Box::new(inner), min, max })
}

fn negated_if(negated: bool, mut set: ClassUnicode) -> ClassUnicode {
    if negated {
        set.negate();
    }
    set
}

fn set_of(ranges: &[(u32, u32)]) -> ClassUnicode {
    let mut set = ClassUnicode::empty();
    for (low, high) in ranges {
        add_range(&mut set, *low, *high);
    }
    set
}

/// Adds code points; surrogates, which no text contains, are left out.
fn add_range(set: &mut ClassUnicode, low: u32, high: u32) {
    let below = (low, high.min(0xD7FF));
    let above = (low.max(0xE000), high);
    for (low, high) in [below, above] {
        if low <= high
            && let (Some(low), Some(high)) = (char::from_u32(low), char::from_u32(high))
        {
            set.push(ClassUnicodeRange::new(low, high));
        }
    }
}
