//! JSON text to the values of a language, in one pass. The text is valid: reading it only has to build.
//!
//! A language says how it makes each kind of value ([`Build`]). Integers that 64 bits do not hold come as their digits,
//! and a string that is no text of Rust (half a surrogate pair) as it stands.

/// How deep values may be nested.
const DEPTH: usize = 200;

/// How a language makes values.
pub trait Build {
    /// Any value.
    type Value;
    /// What can go wrong.
    type Error;

    /// `null`, `true`, `false`.
    fn word(&mut self, word: Option<bool>) -> Self::Value;
    /// An integer of 64 bits.
    ///
    /// # Errors
    /// The language's.
    fn integer(&mut self, number: i64) -> Result<Self::Value, Self::Error>;
    /// A number with a fraction or an exponent.
    fn float(&mut self, number: f64) -> Self::Value;
    /// The digits of a larger integer.
    ///
    /// # Errors
    /// The language's.
    fn digits(&mut self, digits: &str) -> Result<Self::Value, Self::Error>;
    /// A string.
    fn text(&mut self, text: &str) -> Self::Value;
    /// The name of a member: few names come often.
    fn name(&mut self, name: &str) -> Self::Value {
        self.text(name)
    }
    /// A string that is no text, with its quotes.
    ///
    /// # Errors
    /// The language's.
    fn odd_text(&mut self, token: &[u8]) -> Result<Self::Value, Self::Error>;
    /// An empty object.
    fn object(&mut self) -> Self::Value;
    /// Its next member. The last of two with one name wins.
    ///
    /// # Errors
    /// The language's.
    fn member(&mut self, object: &mut Self::Value, name: Self::Value, value: Self::Value) -> Result<(), Self::Error>;
    /// An empty list.
    fn list(&mut self) -> Self::Value;
    /// Its next item.
    ///
    /// # Errors
    /// The language's.
    fn item(&mut self, list: &mut Self::Value, value: Self::Value) -> Result<(), Self::Error>;
    /// The value is nested too deep.
    fn too_deep(&mut self) -> Self::Error;
}

/// Builds the value that a text stands for.
///
/// # Errors
/// What the language could not make; a value that is nested too deep.
pub fn build<B: Build>(text: &str, build: B) -> Result<B::Value, B::Error> {
    Reader { build, text, at: 0 }.value(0)
}

struct Reader<'t, B> {
    build: B,
    text: &'t str,
    at: usize,
}

impl<'t, B: Build> Reader<'t, B> {
    /// The next byte that is no white space.
    #[inline]
    fn peek(&mut self) -> u8 {
        loop {
            match self.byte() {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return byte,
            }
        }
    }

    /// The byte here, 0 behind the end.
    #[inline]
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> Result<B::Value, B::Error> {
        if depth > DEPTH {
            return Err(self.build.too_deep());
        }
        match self.peek() {
            b'{' => {
                let mut object = self.build.object();
                self.at += 1;
                while self.peek() != b'}' {
                    let name = self.string(B::name)?;
                    self.peek();
                    self.at += 1;
                    let value = self.value(depth + 1)?;
                    self.build.member(&mut object, name, value)?;
                    if !self.goes_on() {
                        break;
                    }
                }
                self.at += 1;
                Ok(object)
            }
            b'[' => {
                let mut list = self.build.list();
                self.at += 1;
                while self.peek() != b']' {
                    let value = self.value(depth + 1)?;
                    self.build.item(&mut list, value)?;
                    if !self.goes_on() {
                        break;
                    }
                }
                self.at += 1;
                Ok(list)
            }
            b'"' => self.string(B::text),
            b't' => self.word(4, Some(true)),
            b'f' => self.word(5, Some(false)),
            b'n' => self.word(4, None),
            _ => self.number(),
        }
    }

    /// Whether a comma was there.
    #[inline]
    fn goes_on(&mut self) -> bool {
        // Not `self.at += usize::from(comma)`: rustc 1.95 loses the addition (rust-lang/rust#158206).
        if self.peek() != b',' {
            return false;
        }
        self.at += 1;
        true
    }

    fn word(&mut self, length: usize, word: Option<bool>) -> Result<B::Value, B::Error> {
        self.at += length;
        Ok(self.build.word(word))
    }

    /// The token from here to where `ends` says.
    #[inline]
    fn token(&mut self, ends: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    #[inline]
    fn string(&mut self, make: impl Fn(&mut B, &str) -> B::Value) -> Result<B::Value, B::Error> {
        let start = self.at;
        self.at += 1;
        let plain = self.token(|byte| matches!(byte, b'"' | b'\\'));
        if self.byte() == b'"' {
            self.at += 1;
            return Ok(make(&mut self.build, plain));
        }
        while self.at < self.text.len() {
            match self.byte() {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let token = self.text.get(start..self.at).unwrap_or_default();
        match serde_json::from_str::<String>(token) {
            Ok(text) => Ok(make(&mut self.build, &text)),
            Err(_) => self.build.odd_text(token.as_bytes()),
        }
    }

    fn number(&mut self) -> Result<B::Value, B::Error> {
        let token = self.token(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if let Ok(number) = token.parse::<i64>() {
            return self.build.integer(number);
        }
        if token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return Ok(self.build.float(token.parse().unwrap_or(f64::NAN)));
        }
        self.build.digits(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value as text, or the texts in it.
    enum Told {
        Text(String),
        Object(Vec<String>),
        List(Vec<String>),
    }

    impl Told {
        fn whole(self) -> String {
            match self {
                Self::Text(text) => text,
                Self::Object(members) => format!("{{{}}}", members.join(", ")),
                Self::List(items) => format!("[{}]", items.join(", ")),
            }
        }
    }

    /// Values as text, with what was built of them.
    struct Texts;

    impl Build for Texts {
        type Value = Told;
        type Error = String;

        fn word(&mut self, word: Option<bool>) -> Told {
            Told::Text(format!("{word:?}"))
        }
        fn integer(&mut self, number: i64) -> Result<Told, String> {
            Ok(Told::Text(number.to_string()))
        }
        fn float(&mut self, number: f64) -> Told {
            Told::Text(format!("{number:?}"))
        }
        fn digits(&mut self, digits: &str) -> Result<Told, String> {
            Ok(Told::Text(format!("digits {digits}")))
        }
        fn text(&mut self, text: &str) -> Told {
            Told::Text(format!("{text:?}"))
        }
        fn name(&mut self, name: &str) -> Told {
            Told::Text(format!("name {name:?}"))
        }
        fn odd_text(&mut self, token: &[u8]) -> Result<Told, String> {
            Ok(Told::Text(format!("odd {}", String::from_utf8_lossy(token))))
        }
        fn object(&mut self) -> Told {
            Told::Object(Vec::new())
        }
        fn member(&mut self, object: &mut Told, name: Told, value: Told) -> Result<(), String> {
            let Told::Object(members) = object else { return Err("no object".to_owned()) };
            members.push(format!("{}: {}", name.whole(), value.whole()));
            Ok(())
        }
        fn list(&mut self) -> Told {
            Told::List(Vec::new())
        }
        fn item(&mut self, list: &mut Told, value: Told) -> Result<(), String> {
            let Told::List(items) = list else { return Err("no list".to_owned()) };
            items.push(value.whole());
            Ok(())
        }
        fn too_deep(&mut self) -> String {
            "too deep".to_owned()
        }
    }

    fn built(text: &str) -> Result<String, String> {
        build(text, Texts).map(Told::whole)
    }

    #[test]
    fn every_kind_of_value_is_built_with_and_without_white_space() {
        for (text, expected) in [
            ("[1,-2,3]", "[1, -2, 3]"),
            (" [ 1 , 2 ] ", "[1, 2]"),
            (r#"{"a":1,"b\n":{}}"#, r#"{name "a": 1, name "b\n": {}}"#),
            (r#"{ "a" : [ ] , "b" : null }"#, r#"{name "a": [], name "b": None}"#),
            ("[true,false,null]", "[Some(true), Some(false), None]"),
            ("[1.5,1e300,-0.0]", "[1.5, 1e300, -0.0]"),
            ("[9223372036854775807,9223372036854775808]", "[9223372036854775807, digits 9223372036854775808]"),
            (r#"["plain","a\"b\\","\u0041"]"#, r#"["plain", "a\"b\\", "A"]"#),
            (r#"["\ud800",1]"#, r#"[odd "\ud800", 1]"#),
        ] {
            assert_eq!(built(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(built(&nested(DEPTH + 1)).is_ok());
        assert_eq!(built(&nested(DEPTH + 2)), Err("too deep".to_owned()));
    }
}
