//! What is a template and what is not.

use super::template;
use crate::uri_template::{MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES, TemplateError, UriTemplate};

#[test]
fn what_is_no_template_is_refused_at_its_byte() {
    use TemplateError::{Literal, Modifier, Name, Operator, Unclosed, Unopened};
    let cases = [
        ("{/id*", Unclosed { at: 0 }),
        ("a{b{c}}", Unclosed { at: 1 }),
        ("/id*}", Unopened { at: 4 }),
        ("{a}}", Unopened { at: 3 }),
        ("}{", Unopened { at: 0 }),
        ("{}", Name { at: 1 }),
        ("{?}", Name { at: 2 }),
        ("{a,}", Name { at: 3 }),
        ("{,a}", Operator { at: 1 }),
        ("{a,,b}", Name { at: 3 }),
        ("{/?id}", Name { at: 2 }),
        ("{??hello}", Name { at: 2 }),
        ("{with space}", Name { at: 1 }),
        ("{ leading}", Name { at: 1 }),
        ("{trailing }", Name { at: 1 }),
        ("{?x, y}", Name { at: 4 }),
        ("{$var}", Name { at: 1 }),
        ("{~thing}", Name { at: 1 }),
        ("{default-graph-uri}", Name { at: 1 }),
        ("{var}{-prefix|/-/|var}", Name { at: 6 }),
        ("{hello+}", Name { at: 1 }),
        ("{*keys?}", Name { at: 1 }),
        ("{empty=default}", Name { at: 1 }),
        ("{a.}", Name { at: 1 }),
        ("{a..b}", Name { at: 1 }),
        ("{é}", Name { at: 1 }),
        ("{a%4}", Name { at: 1 }),
        ("{a%+4}", Name { at: 1 }),
        ("{var:prefix}", Modifier { at: 4 }),
        ("{hello:2*}", Modifier { at: 6 }),
        ("{hello*:2}", Modifier { at: 6 }),
        ("{v**}", Modifier { at: 2 }),
        ("{v:}", Modifier { at: 2 }),
        ("{v:0}", Modifier { at: 2 }),
        ("{v:01}", Modifier { at: 2 }),
        ("{v:10000}", Modifier { at: 2 }),
        ("{v:+1}", Modifier { at: 2 }),
        ("{!hello}", Operator { at: 1 }),
        ("{=path}", Operator { at: 1 }),
        ("{|var*}", Operator { at: 1 }),
        ("{@var}", Operator { at: 1 }),
        ("a b", Literal { at: 1 }),
        ("é\u{0}", Literal { at: 2 }),
        ("{x}%4", Literal { at: 3 }),
        ("%+4", Literal { at: 0 }),
        ("100%", Literal { at: 3 }),
        ("a\"b", Literal { at: 1 }),
        ("<a>", Literal { at: 0 }),
        ("a\\b", Literal { at: 1 }),
        ("a^`|", Literal { at: 1 }),
        ("\u{85}", Literal { at: 0 }),
        ("\u{fffe}", Literal { at: 0 }),
        ("\u{fdd0}", Literal { at: 0 }),
    ];
    for (text, expected) in cases {
        assert_eq!(UriTemplate::parse(text), Err(expected), "{text:?}");
    }
}

#[test]
fn unusual_templates_are_accepted() {
    for text in ["", "{a.b_c.9}", "{%41.x*}", "{v:1}", "{v:9999}", "{1}", "{_}", "it's%20", "{a}{b}{c}", "é{x}%ff"] {
        assert_eq!(template(text).as_str(), text);
        assert_eq!(template(text).to_string(), text);
        assert_eq!(text.parse(), Ok(template(text)));
    }
    assert_ne!(template("{a}"), template("{b}"));
}

#[test]
fn variables_are_named_once_and_in_order() {
    let text = "x{b}{+a,b:3}{?c*,a}";
    assert_eq!(template(text).variables(), ["b", "a", "c"]);
    assert_eq!(template("plain").variables(), [""; 0]);
}

#[test]
fn the_literal_prefix_is_the_ascii_before_the_first_expression() {
    for (text, prefix) in [
        ("file:///{path}", "file:///"),
        ("note://a", "note://a"),
        ("{x}abc", ""),
        ("", ""),
        ("a/é/{x}", "a/"),
        ("a/%2f/{x}", "a/"),
    ] {
        assert_eq!(template(text).literal_prefix(), prefix);
    }
}

#[test]
fn bounds_are_typed() {
    let long = "x".repeat(MAX_TEMPLATE_BYTES);
    assert_eq!(template(&long).as_str(), long);
    assert_eq!(UriTemplate::parse(&format!("{long}x")), Err(TemplateError::TooLong { limit: MAX_TEMPLATE_BYTES }));
    assert_eq!(template(&"{a}".repeat(MAX_EXPRESSIONS)).variables(), ["a"]);
    assert_eq!(
        UriTemplate::parse(&"{a}".repeat(MAX_EXPRESSIONS + 1)),
        Err(TemplateError::TooManyExpressions { limit: MAX_EXPRESSIONS })
    );
    let many = |count| format!("{{{}}}", vec!["a"; count].join(","));
    assert_eq!(template(&many(MAX_VARIABLES)).variables(), ["a"]);
    assert_eq!(
        UriTemplate::parse(&many(MAX_VARIABLES + 1)),
        Err(TemplateError::TooManyVariables { limit: MAX_VARIABLES })
    );
    let message = TemplateError::TooManyVariables { limit: MAX_VARIABLES }.to_string();
    assert_eq!(message, "the template has more than the limit of 256 variables");
}
