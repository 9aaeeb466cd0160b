//! Patterns by example, and the two engines against each other.

use proptest::prelude::*;

use super::{Engine, Pattern, PatternBudget, PatternError, Steps, simulate};
use crate::schema::SchemaLimits;
use crate::schema::pattern::program::Program;

fn compile(source: &str) -> Result<Pattern, PatternError> {
    Pattern::compile(source, &mut PatternBudget::new(SchemaLimits::PATTERN_STATES))
}

fn matches(source: &str, text: &str) -> bool {
    let pattern = compile(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    pattern.is_match(text, &mut Steps::new(SchemaLimits::STEPS)).expect("enough steps")
}

fn check(source: &str, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(matches(source, text), "{source} should match {text:?}");
    }
    for text in bad {
        assert!(!matches(source, text), "{source} should not match {text:?}");
    }
}

#[test]
fn patterns_are_searched() {
    check("b", &["b", "abc"], &["", "ac"]);
    check("^b", &["bc"], &["abc"]);
    check("b$", &["ab"], &["b\n", "bc"]);
    check("^$", &[""], &["\n", "a"]);
    check("$^", &[""], &["a"]);
    check("", &["", "a"], &[]);
    check("a$b", &[], &["a", "ab", "a\nb"]);
    check("a|^b|c$", &["xa", "bx", "xc"], &["xb", "cx"]);
    check("(^a|b)c", &["ac", "xbc"], &["xac"]);
}

#[test]
fn quantifiers() {
    check("^ab*c$", &["ac", "abbc"], &["abb"]);
    check("^ab+?c$", &["abc", "abbc"], &["ac"]);
    check("^a{2}$", &["aa"], &["a", "aaa"]);
    check("^a{2,}$", &["aa", "aaaaa"], &["a"]);
    check("^(ab){1,3}?$", &["ab", "ababab"], &["", "abababab", "aba"]);
    check("^a{0}$", &[""], &["a"]);
    check("^(a*)*$", &["", "aaa"], &["b"]);
    check("^(a|b?)*c$", &["c", "abac"], &["abd"]);
    check("^(){5}a$", &["a"], &["", "aa"]);
}

/// Braces and brackets that are no syntax are themselves, as on the web.
#[test]
fn lone_braces_are_literal() {
    check("^{.*}$", &["{}", "{a}"], &["a"]);
    check("a{,2}", &["a{,2}"], &["aa"]);
    check("^x{a}]$", &["x{a}]"], &["x"]);
    check("[]", &[], &["", "a", "]"]);
    check("^[^]$", &["a", "\n"], &[""]);
    check("^[[a]$", &["[", "a"], &["b"]);
}

#[test]
fn classes_and_escapes() {
    check(r"^\d+$", &["09"], &["٣", "a"]);
    check(r"^\w+$", &["aZ_9"], &["é", "-"]);
    check(r"^\W\D\S$", &["é٣x"], &["axx"]);
    check(r"^\s+$", &[" \t\n\r\u{b}\u{c}\u{a0}\u{feff}\u{2029}\u{3000}"], &["\u{180e}", "\u{85}"]);
    check(r"^[\d\-a-c]+$", &["1-b"], &["d"]);
    check(r"^[a\-z]+$", &["a-z"], &["b"]);
    check(r"^[a-]+$", &["a-"], &["b"]);
    check(r"^[\w-.]+$", &["a-."], &["+"]);
    check(r"^[^a-c]$", &["d", "é", "\n"], &["b", ""]);
    check(r"^[\b]$", &["\u{8}"], &["b"]);
    check(r"^\t\n\v\f\r\0\cJ\x41\u0042\u{1F4A9}\uD83D\uDCA9$", &["\t\n\u{b}\u{c}\r\0\nAB💩💩"], &[]);
    check(r"^[\uD83D\uDCA9-\u{1F4AB}]$", &["💩", "💪"], &["😀"]);
    check(r"^[^\uD800-\uDFFF]$", &["a", "💩"], &[]);
    check(r"^\/\.\*\{\}\[\]\(\)\^\$\|\?\+\\\-$", &["/.*{}[]()^$|?+\\-"], &[]);
    check("^.$", &["a", "é", "💩", "\u{85}"], &["", "\n", "\r", "\u{2028}", "ab"]);
    check(r"^\p{L}\p{Lu}\P{Lu}$", &["éÉé"], &["éée"]);
    check(r"^\p{Script=Greek}+\p{Nd}[\p{Emoji}--]*$", &["αβ٣💩-"], &["ab1"]);
}

#[test]
fn groups_flags_and_boundaries() {
    check(r"^(?:a)(?<n>b)(?P<m>c)$", &["abc"], &["ab"]);
    check(r"(?i)^[a-c]É$", &["Bé", "aÉ"], &["d"]);
    check(r"^(?i:a)b$", &["Ab", "ab"], &["aB"]);
    check(r"(?s)^.$", &["\n"], &[]);
    check(r"(?m)^b$", &["a\nb\nc"], &["ab"]);
    check(r"^a(?i)b|c$", &["aB", "C"], &["Ab"]);
    check(r"\bfoo\b", &["a foo.", "foo"], &["food", "_foo"]);
    check(r"\Boo", &["foo"], &["oo"]);
}

#[test]
fn look_around() {
    check(r"^(?!\s*$).+", &["a", " a"], &["", "  "]);
    check(r"^(?=.*[A-Z])(?=.*\d).{8,}$", &["Passw0rd"], &["password1", "Passwrd1"[..7].as_ref()]);
    check(r"^(?!.*(foo|bar)).*$", &["baz"], &["a foo"]);
    check(r"(?<=\$)\d+", &["costs $5"], &["costs 5"]);
    check(r"(?<!a)b", &["cb", "b"], &["ab"]);
    check(r"(?<=^ab|c)d", &["abd", "xcd"], &["xabd"]);
    check(r"(?<=(?!a).b)c", &["xbc"], &["abc"]);
    check(r"a(?!b(?=c))", &["ab", "abd"], &["abc"]);
    check(r"^(?!a)*b$", &["b"], &["ab"]);
}

/// The e-mail pattern of a schema builder that many servers use.
#[test]
fn a_pattern_that_is_common_in_tools() {
    check(
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
        &["octocat@github.com", "a.b+c@x.example"],
        &[".a@b.co", "a..b@c.de", "a@b", "@b.de", "a@b.c"],
    );
    check(
        r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|0{8}-0{4}-0{4}-0{4}-0{12})$",
        &["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"],
        &["123e4567-e89b-92d3-a456-426614174000", "123e4567"],
    );
}

#[test]
fn malformed_patterns_say_where() {
    for (source, at, reason) in [
        ("a)", 1, "unmatched `)`"),
        ("(a", 2, "missing `)`"),
        ("[a", 2, "missing `]`"),
        ("*a", 0, "nothing to repeat"),
        ("a**", 2, "nothing to repeat"),
        ("{1}", 0, "nothing to repeat"),
        ("a{2,1}", 5, "counts out of order"),
        ("[b-a]", 3, "range out of order"),
        (r"\A", 1, "unknown escape"),
        (r"\a", 1, "unknown escape"),
        (r"a\", 2, "`\\` at the end"),
        (r"\x4", 2, "malformed hexadecimal escape"),
        (r"\u{110000}", 9, "malformed code point"),
        (r"\c1", 2, "malformed control escape"),
        (r"(?<>a)", 4, "malformed group name"),
        ("(?z)", 2, "unknown group"),
        ("(?i", 2, "unknown flag"),
    ] {
        match compile(source) {
            Err(PatternError::Syntax { at: found, reason: why }) => assert_eq!((found, why), (at, reason), "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
    for source in [r"(a)\1", r"\k<a>", r"\p{Nonsense}", "(?>a)"] {
        assert!(matches!(compile(source), Err(PatternError::Unsupported(_))), "{source}");
    }
    let deep = format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(matches!(compile(&deep), Err(PatternError::Unsupported(_))));
}

/// Usual patterns become tables; those that need the simulation are matched by it.
#[test]
fn engines_are_chosen() {
    for (source, is_table) in [
        ("^[A-Za-z0-9_-]{1,64}$", true),
        (r"^\d{4}-\d{2}-\d{2}$", true),
        (r"^\p{L}+$", true),
        ("^.{1,65535}$", false),
        ("a(?=b)", false),
        (r"\ba", false),
        ("[01]*1[01]{20}$", false),
    ] {
        let pattern = compile(source).expect(source);
        assert_eq!(matches!(pattern.engine, Engine::Table(_)), is_table, "{source}");
    }
}

/// A small grammar of patterns without look-around.
fn source() -> impl Strategy<Value = String> {
    let atom =
        prop::sample::select(vec!["a", "b", "é", ".", "[ab]", "[^a]", r"\d", r"\w", "^", "$", "()", "a{2}", r"[^\n]"])
            .prop_map(str::to_owned);
    atom.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            (inner, prop::sample::select(vec!["*", "+", "?", "{0,2}", "{2}", "{1,}"]))
                .prop_map(|(inner, count)| format!("({inner}){count}")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!['a', 'b', 'é', '1', '\n', '💩']), 0..8)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Table, simulation, and another engine on what both spell alike.
    #[test]
    fn engines_agree(source in source(), texts in prop::collection::vec(text(), 1..8)) {
        let pattern = compile(&source);
        prop_assert!(pattern.is_ok(), "{source}");
        let Ok(pattern) = pattern else { return Ok(()) };
        let ast = super::parse::parse(&source);
        let program = ast.and_then(|ast| Program::compile(&ast, &mut PatternBudget::new(100_000)));
        prop_assert!(program.is_ok());
        let Ok(program) = program else { return Ok(()) };
        let schema = serde_json::json!({"pattern": source.replace('.', "[^\\n\\r\\u2028\\u2029]")});
        let other = jsonschema::validator_for(&schema).ok();
        for text in texts {
            let simulated = simulate::is_match(&program, &text, &mut Steps::new(1_000_000));
            prop_assert_eq!(pattern.is_match(&text, &mut Steps::new(1_000_000)), simulated, "{} on {:?}", source, text);
            if let Some(other) = &other {
                let verdict = other.is_valid(&serde_json::Value::from(text.as_str()));
                prop_assert_eq!(Ok(verdict), simulated, "{} on {:?}", source, text);
            }
        }
    }

    /// No text is a pattern that panics, and none matches for ever.
    #[test]
    fn any_text_is_a_pattern_or_an_error(source in "[\\[\\]\\\\(){}|*+?^$.,:=!<>a-dkpuxP0-9-]{0,24}", text in "[a-d0-9]{0,20}") {
        if let Ok(pattern) = compile(&source) {
            let mut steps = Steps::new(100_000);
            let _ = pattern.is_match(&text, &mut steps);
            prop_assert!(steps.left() <= 100_000);
        }
    }
}
