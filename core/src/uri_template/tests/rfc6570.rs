//! Every example of RFC 6570, sections 1.2, 2.4 and 3.2.

use super::{bindings, list, map, template};
use crate::uri_template::{Bindings, ExpandError, MAX_URI_BYTES, Value};

/// The variables of section 3.2.
fn values() -> Bindings {
    bindings([
        ("count", list(&["one", "two", "three"])),
        ("dom", list(&["example", "com"])),
        ("dub", "me/too".into()),
        ("hello", "Hello World!".into()),
        ("half", "50%".into()),
        ("var", "value".into()),
        ("who", "fred".into()),
        ("base", "http://example.com/home/".into()),
        ("path", "/foo/bar".into()),
        ("list", list(&["red", "green", "blue"])),
        ("keys", map(&[("semi", ";"), ("dot", "."), ("comma", ",")])),
        ("v", "6".into()),
        ("x", "1024".into()),
        ("y", "768".into()),
        ("empty", "".into()),
        ("empty_keys", Value::Map(Vec::new())),
        // Beside those of the RFC: an empty list is undefined too.
        ("empty_list", Value::List(Vec::new())),
    ])
}

fn check(examples: &[(&str, &str)]) {
    for (text, expected) in examples {
        assert_eq!(template(text).expand(&values()).as_deref(), Ok(*expected), "{text}");
    }
}

#[test]
fn section_1_2_levels() {
    check(&[
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("X{#var}", "X#value"),
        ("X{#hello}", "X#Hello%20World!"),
        ("map?{x,y}", "map?1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{.var}", "X.value"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ]);
}

#[test]
fn section_2_4_modifiers() {
    check(&[
        ("{var}", "value"),
        ("{var:20}", "value"),
        ("{var:3}", "val"),
        ("{hello:5}", "Hello"),
        ("{?x,empty}", "?x=1024&empty="),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
    ]);
    let semi =
        bindings([("semi", ";".into()), ("year", list(&["1965", "2000", "2012"])), ("dom", list(&["example", "com"]))]);
    for (text, expected) in [
        ("{semi}", "%3B"),
        ("{semi:2}", "%3B"),
        ("find{?year*}", "find?year=1965&year=2000&year=2012"),
        ("www{.dom*}", "www.example.com"),
    ] {
        assert_eq!(template(text).expand(&semi).as_deref(), Ok(expected), "{text}");
    }
    let address = [("city", "Newport Beach"), ("state", "CA")];
    let address = bindings([("address", map(&address))]);
    assert_eq!(template("/mapper{?address*}").expand(&address).as_deref(), Ok("/mapper?city=Newport%20Beach&state=CA"));
}

#[test]
fn section_3_2_1_variables() {
    check(&[
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
    ]);
}

#[test]
fn section_3_2_2_simple() {
    check(&[
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    ]);
}

#[test]
fn section_3_2_3_reserved() {
    check(&[
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("O{+undef}X", "OX"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+list}", "red,green,blue"),
        ("{+list*}", "red,green,blue"),
        ("{+keys}", "semi,;,dot,.,comma,,"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
    ]);
}

#[test]
fn section_3_2_4_fragment() {
    check(&[
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#path:6}/here", "#/foo/b/here"),
        ("{#list}", "#red,green,blue"),
        ("{#list*}", "#red,green,blue"),
        ("{#keys}", "#semi,;,dot,.,comma,,"),
        ("{#keys*}", "#semi=;,dot=.,comma=,"),
    ]);
}

#[test]
fn section_3_2_5_label() {
    check(&[
        ("{.who}", ".fred"),
        ("{.who,who}", ".fred.fred"),
        ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("X{.var:3}", "X.val"),
        ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
        ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
        ("X{.empty_keys}", "X"),
        ("X{.empty_keys*}", "X"),
        ("X{.empty_list*}", "X"),
    ]);
}

#[test]
fn section_3_2_6_path() {
    check(&[
        ("{/who}", "/fred"),
        ("{/who,who}", "/fred/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var}", "/value"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var:1,var}", "/v/value"),
        ("{/list}", "/red,green,blue"),
        ("{/list*}", "/red/green/blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    ]);
}

#[test]
fn section_3_2_7_path_parameters() {
    check(&[
        ("{;who}", ";who=fred"),
        ("{;half}", ";half=50%25"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;list}", ";list=red,green,blue"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
        ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    ]);
}

#[test]
fn section_3_2_8_query() {
    check(&[
        ("{?who}", "?who=fred"),
        ("{?half}", "?half=50%25"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"),
        ("{?list}", "?list=red,green,blue"),
        ("{?list*}", "?list=red&list=green&list=blue"),
        ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
    ]);
}

#[test]
fn section_3_2_9_query_continuation() {
    check(&[
        ("{&who}", "&who=fred"),
        ("{&half}", "&half=50%25"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&x,y,undef}", "&x=1024&y=768"),
        ("{&var:3}", "&var=val"),
        ("{&list}", "&list=red,green,blue"),
        ("{&list*}", "&list=red&list=green&list=blue"),
        ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
        ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
    ]);
}

#[test]
fn literals_are_copied_or_encoded() {
    check(&[
        ("", ""),
        ("http://example.com/~a/%7b?b=[c]&d='e'!$&()*+,;=:@#f", "http://example.com/~a/%7b?b=[c]&d='e'!$&()*+,;=:@#f"),
        ("/é/東京/{who}", "/%C3%A9/%E6%9D%B1%E4%BA%AC/fred"),
    ]);
}

#[test]
fn values_are_encoded_as_utf8_and_triplets_survive_reserved_expansion_only() {
    let values = bindings([("v", "é %41%zz".into()), ("name.%41", "x".into())]);
    for (text, expected) in [
        ("{v}", "%C3%A9%20%2541%25zz"),
        ("{+v}", "%C3%A9%20%41%25zz"),
        ("{v:1}", "%C3%A9"),
        ("{v:3}", "%C3%A9%20%25"),
        ("{+v:3}", "%C3%A9%20%41"),
        ("{+v:4}", "%C3%A9%20%41%25"),
        ("{?name.%41}", "?name.%41=x"),
    ] {
        assert_eq!(template(text).expand(&values).as_deref(), Ok(expected), "{text}");
    }
    // A character of several triplets is one.
    let values = bindings([("v", "%C3%A9%C3%A9x".into())]);
    assert_eq!(template("{+v:1}").expand(&values).as_deref(), Ok("%C3%A9"));
    assert_eq!(template("{v:1}").expand(&values).as_deref(), Ok("%25"));
}

#[test]
fn a_prefix_of_a_list_or_a_map_is_an_error() {
    for text in ["{keys:1}", "{+keys:1}", "{list:1}", "{?list:1}", "{/x,list:3}"] {
        let error = template(text).expand(&values()).expect_err(text);
        assert!(matches!(error, ExpandError::PrefixOfComposite { .. }), "{text}");
    }
    // An undefined value has no shape.
    assert_eq!(template("{empty_keys:1}").expand(&values()).as_deref(), Ok(""));
}

#[test]
fn the_length_of_an_expansion_is_bounded() {
    let too_long = Err(ExpandError::TooLong { limit: MAX_URI_BYTES });
    let text = |length| bindings([("v", "x".repeat(length).into())]);
    assert_eq!(template("{v}").expand(&text(MAX_URI_BYTES)).map(|uri| uri.len()), Ok(MAX_URI_BYTES));
    assert_eq!(template("{v}").expand(&text(MAX_URI_BYTES + 1)), too_long);
    assert_eq!(template("{?v}").expand(&text(MAX_URI_BYTES)), too_long);
    let items: Vec<String> = std::iter::repeat_n("xy".to_owned(), MAX_URI_BYTES).collect();
    for text in ["{v}", "{v*}", "{?v*}", "{/v*}"] {
        assert_eq!(template(text).expand(&Bindings::from_iter([("v", items.clone())])), too_long, "{text}");
    }
}
