//! The rules of matching, one by one (*server/resources*, "Resource Templates"), and what must not happen.

use super::{bindings, list, map, template};
use crate::uri_template::steps::taken;
use crate::uri_template::{Bindings, MAX_EXPRESSIONS, MAX_URI_BYTES, MAX_VARIABLES, Value};

fn check<const N: usize>(text: &str, uri: &str, expected: [(&str, Value); N]) {
    assert_eq!(template(text).match_uri(uri), Some(bindings(expected)), "{text} on {uri}");
}

fn refuse(text: &str, uris: &[&str]) {
    for uri in uris {
        assert_eq!(template(text).match_uri(uri), None, "{text} on {uri}");
    }
}

#[test]
fn simple_expressions_take_one_segment() {
    check("file:///{name}", "file:///notes.txt", [("name", "notes.txt".into())]);
    check("s://{a}/x/{b}", "s://1/x/2", [("a", "1".into()), ("b", "2".into())]);
    check("s://{a}", "s://user@host:80", [("a", "user@host:80".into())]);
    check("s://{a}", "s://São Paulo", [("a", "São Paulo".into())]);
    check("s://{a}", "s://S%C3%A3o%20Paulo", [("a", "São Paulo".into())]);
    refuse("file:///{name}", &["file:///", "file:///a/b", "file:///a?b", "file:///a#b", "file:/a", "http:///a", ""]);
    refuse("s://{a}/x/{b}", &["s://1/x", "s://1/x/", "s:///x/2", "s://1/y/2"]);
    // The whole URI, not a part of it.
    refuse("a{x}b", &["axbc", "caxb", "ab"]);
}

#[test]
fn a_template_without_expressions_matches_itself() {
    check("config://app", "config://app", []);
    check("", "", []);
    refuse("config://app", &["config://app/", "config://ap", "", "CONFIG://app"]);
    refuse("", &["a"]);
}

#[test]
fn the_leftmost_takes_the_most() {
    check("{a}-{b}", "x-y-z", [("a", "x-y".into()), ("b", "z".into())]);
    check("{a}{b}", "xyz", [("a", "xy".into()), ("b", "z".into())]);
    check("{a}{b}", "x%C3%A9", [("a", "x".into()), ("b", "é".into())]);
    check("{a}{b}{c}", "xyz", [("a", "x".into()), ("b", "y".into()), ("c", "z".into())]);
    refuse("{a}{b}{c}", &["xy"]);
    check("{+a}/{b}", "x/y/z", [("a", "x/y".into()), ("b", "z".into())]);
    check("{/a}{/b*}", "/x/y/z", [("a", "x".into()), ("b", list(&["y", "z"]))]);
    check("{/a*}{/b}", "/x/y/z", [("a", list(&["x", "y", "z"]))]);
    check("{a}{.b}", "x.tar.gz", [("a", "x.tar.gz".into())]);
    check("s/{a}{?q}", "s/x?q=1", [("a", "x".into()), ("q", "1".into())]);
}

#[test]
fn reserved_expressions_keep_slashes() {
    check("file:///{+path}", "file:///a/b/c.txt", [("path", "a/b/c.txt".into())]);
    check("file:///{+path}", "file:///a%20b/c,d?e#f", [("path", "a b/c,d?e#f".into())]);
    check("{+path}/here", "/foo/bar/here", [("path", "/foo/bar".into())]);
    check("{+path,x}/here", "/foo/bar,1024/here", [("path", "/foo/bar".into()), ("x", "1024".into())]);
    check("up{+path}{var}/here", "up/foo/barvalue/here", [("path", "/foo/barvalu".into()), ("var", "e".into())]);
    check("{+a,b}", "1,2,3", [("a", "1".into()), ("b", "2,3".into())]);
    check("{+list*}", "red,green", [("list", list(&["red", "green"]))]);
    check("{+keys*}", "semi=;,dot=.", [("keys", map(&[("semi", ";"), ("dot", ".")]))]);
    refuse("file:///{+path}", &["file:///"]);
}

#[test]
fn fragments_may_be_absent() {
    check("doc{#part}", "doc#a/b?c", [("part", "a/b?c".into())]);
    check("doc{#part}", "doc#", [("part", "".into())]);
    check("doc{#part}", "doc", []);
    check("{#x,y}", "#1,2", [("x", "1".into()), ("y", "2".into())]);
    refuse("doc{#part}", &["doc/", "docs#a"]);
}

#[test]
fn labels_are_cut_at_dots() {
    check("name{.ext}", "name.tar.gz", [("ext", "tar.gz".into())]);
    check("name{.a,b}", "name.x.y", [("a", "x".into()), ("b", "y".into())]);
    check("name{.a,b}", "name.x.y.z", [("a", "x".into()), ("b", "y.z".into())]);
    check("www{.dom*}", "www.example.com", [("dom", list(&["example", "com"]))]);
    check("X{.list}", "X.red,green", [("list", list(&["red", "green"]))]);
    check("X{.keys*}", "X.a=1.b=2", [("keys", map(&[("a", "1"), ("b", "2")]))]);
    check("X{.var:3}{.y}", "X.val.ue", [("var", "val".into()), ("y", "ue".into())]);
    check("X{.x}", "X.", [("x", "".into())]);
    check("X{.x}", "X", []);
    refuse("X{.x}", &["X.a/b", "Xa"]);
}

#[test]
fn paths_are_cut_at_slashes() {
    check("{/a,b}", "/x/y", [("a", "x".into()), ("b", "y".into())]);
    check("{/a,b}", "/x", [("a", "x".into())]);
    check("{/a,b}", "", []);
    check("{/a,b}", "/x/", [("a", "x".into()), ("b", "".into())]);
    check("{/var,x}/here", "/value/1024/here", [("var", "value".into()), ("x", "1024".into())]);
    check("{/var,x}/here", "/value/here", [("var", "value".into())]);
    check("{/list*}", "/red/green/blue", [("list", list(&["red", "green", "blue"]))]);
    check("{/list*}", "/red", [("list", list(&["red"]))]);
    check("{/list*,path:4}", "/red/green/%2Ffoo", [("list", list(&["red", "green"])), ("path", "/foo".into())]);
    check("{/list}", "/red,green", [("list", list(&["red", "green"]))]);
    check("{/keys*}", "/a=1/b=2", [("keys", map(&[("a", "1"), ("b", "2")]))]);
    check("{/dub}", "/me%2Ftoo", [("dub", "me/too".into())]);
    refuse("{/a,b}", &["/x/y/z", "x", "/x?y"]);
    refuse("{/list*,path:4}", &["/red/tolong"]);
}

#[test]
fn parameters_and_queries_come_in_any_order() {
    let both = || [("x", "1".into()), ("y", "2".into())];
    check("{?x,y}", "?x=1&y=2", both());
    check("{?x,y}", "?y=2&x=1", both());
    check("{;x,y}", ";y=2;x=1", both());
    check("?f=1{&x,y}", "?f=1&y=2&x=1", both());
    check("{?x,y}", "?y=2", [("y", "2".into())]);
    check("{?x,y}", "", []);
    check("{?x,y}", "?x=&y", [("x", "".into()), ("y", "".into())]);
    check("{;x,y}", ";x;y=", [("x", "".into()), ("y", "".into())]);
    check("{?x}{&y}", "?x=1&y=2", both());
    check("{?x,xy}", "?xy=1&x=2", [("x", "2".into()), ("xy", "1".into())]);
    check("{?u}", "?u=http://h/p?a=b", [("u", "http://h/p?a=b".into())]);
    check("{?x}end", "?x=bend", [("x", "b".into())]);
    check("{?list}", "?list=red,green", [("list", list(&["red", "green"]))]);
    check("{?x:3}", "?x=val", [("x", "val".into())]);
    check("{?name.%41}", "?name.%41=x", [("name.%41", "x".into())]);
    // Unknown names, repeated names, missing openers and separators, and names that only begin alike.
    refuse("{?x,y}", &["?z=1", "?x=1&z=2", "?x=1&x=1", "?", "?&x=1", "?x=1&", "x=1", "&x=1", "?xx=1"]);
    refuse("{?x,y}", &["?x=1#f", "?=1", "??x=1"]);
    check("{?x,y}", "?x=1;y=2", [("x", "1;y=2".into())]);
    check("{;x}{+y}", ";x=", [("x", "".into()), ("y", "=".into())]);
    refuse("{;x}", &[";x=a/b", ";y", "?x=1"]);
    refuse("{?x:3}", &["?x=value"]);
}

#[test]
fn exploded_pairs_are_lists_or_maps() {
    check("{?list*}", "?list=red&list=green", [("list", list(&["red", "green"]))]);
    check("{?list*}", "?list=red", [("list", list(&["red"]))]);
    check("{;list*}", ";list=red;list", [("list", list(&["red", ""]))]);
    check("{?keys*}", "?a=1&b=2&a=3", [("keys", map(&[("a", "1"), ("b", "2"), ("a", "3")]))]);
    check("{?keys*}", "?a=1&keys=2", [("keys", map(&[("a", "1"), ("keys", "2")]))]);
    check("{?q,keys*}", "?a=1&q=x&b=2", [("keys", map(&[("a", "1"), ("b", "2")])), ("q", "x".into())]);
    check("{?a*,b*}", "?b=1&b=2&c=3", [("a", map(&[("c", "3")])), ("b", list(&["1", "2"]))]);
    check("{&keys*}", "&semi=%3B", [("keys", map(&[("semi", ";")]))]);
    refuse("{?keys*}", &["?", "?=1", "?a=1&&b=2", "?a=1&=2"]);
}

#[test]
fn values_too_few_leave_variables_unbound_and_too_many_go_to_one() {
    check("{x,y}", "1024,768", [("x", "1024".into()), ("y", "768".into())]);
    check("{x,y}", "1024", [("x", "1024".into())]);
    check("{x,y}", "1,2,3", [("x", "1".into()), ("y", list(&["2", "3"]))]);
    check("{x,y}", ",", [("x", "".into()), ("y", "".into())]);
    check("{x*,y}", "1,2,3", [("x", list(&["1", "2"])), ("y", "3".into())]);
    check("{x,y*}", "1", [("x", "1".into())]);
    check("{list}", "red,green,blue", [("list", list(&["red", "green", "blue"]))]);
    check("{list*}", "red", [("list", list(&["red"]))]);
    check("{keys*}", "a=1,b=", [("keys", map(&[("a", "1"), ("b", "")]))]);
    check("{keys*}", "a=1,b", [("keys", list(&["a=1", "b"]))]);
    check("{keys*}", "a%3D1", [("keys", list(&["a=1"]))]);
    check("{x}", "a%2Cb", [("x", "a,b".into())]);
}

#[test]
fn ampersands_and_semicolons_end_a_value_where_pairs_are_cut_there() {
    check("s?q={q}&l={l}", "s?q=a&l=b", [("q", "a".into()), ("l", "b".into())]);
    refuse("s?q={q}&l={l}", &["s?q=a&x=1&l=b"]);
    check("f/{name}", "f/AT&T", [("name", "AT&T".into())]);
    check("f{?a}{b}", "f?a=1", [("a", "".into()), ("b", "1".into())]);
    check("f{a}{&b}", "f1&b=2", [("a", "1".into()), ("b", "2".into())]);
    check("f{/a}{;b}", "f/1;b=2", [("a", "1".into()), ("b", "2".into())]);
    check("f{/a}", "f/1;b=2", [("a", "1;b=2".into())]);
}

#[test]
fn prefixes_count_characters() {
    check("{x:3}", "abc", [("x", "abc".into())]);
    check("{x:3}", "a", [("x", "a".into())]);
    check("{x:2}{y}", "abcd", [("x", "ab".into()), ("y", "cd".into())]);
    check("{x:2}{y}", "ab", [("x", "a".into()), ("y", "b".into())]);
    check("{x:2}{y}", "%C3%A9%20%41", [("x", "é ".into()), ("y", "A".into())]);
    check("{+path:6}here", "/foo/bhere", [("path", "/foo/b".into())]);
    check("{x:9999}", "abc", [("x", "abc".into())]);
    refuse("{x:3}", &["abcd", "", "%41%41%41%41"]);
}

#[test]
fn a_variable_has_one_value() {
    check("{x}/{x}", "a/a", [("x", "a".into())]);
    check("{x}/{x}", "a/%61", [("x", "a".into())]);
    check("{/var:1,var}", "/v/value", [("var", "value".into())]);
    check("{var}/{var:2}", "value/va", [("var", "value".into())]);
    check("{var:2}/{var:4}/{var:3}", "va/valu/val", [("var", "valu".into())]);
    check("{var:4}/{var}", "va/va", [("var", "va".into())]);
    check("{?x}{&x}", "?x=1&x=1", [("x", "1".into())]);
    check("{x}{?x}", "1?x=1", [("x", "1".into())]);
    refuse("{x}/{x}", &["a/b"]);
    refuse("{?x}{&x}", &["?x=1&x=2"]);
    refuse("{var:4}/{var}", &["va/value"]);
    refuse("{var:1}/{var}", &["x/value", "va/value"]);
    refuse("{var}/{var:2}", &["value/v", "value/vb", "a,b/a,"]);
}

#[test]
fn values_are_decoded_once() {
    check("{x}", "%2541", [("x", "%41".into())]);
    check("{+x}", "%252F", [("x", "%2F".into())]);
    check("{x}", "..%2F..%2Fetc", [("x", "../../etc".into())]);
    check("{x}", "%00", [("x", "\0".into())]);
    check("{x}", "%e6%9d%b1+1", [("x", "東+1".into())]);
}

#[test]
fn malformed_and_foreign_encodings_do_not_match() {
    let uris = ["%", "%4", "%zz", "%+1", "a%", "%C3", "%A9", "%C3x", "%FF", "%C0%80", "%ED%A0%80", "%F8%88%80%80%80"];
    for text in ["{x}", "{+x}", "{x*}", "{x,y}"] {
        refuse(text, &uris);
    }
    for uri in uris {
        refuse("{?x}", &[&format!("?x={uri}")]);
        refuse("{?x*}", &[&format!("?{uri}=1"), &format!("?a={uri}")]);
        refuse("{/x}", &[&format!("/{uri}")]);
    }
    // No cut makes a good value of half a character.
    refuse("{x}%A9", &["%C3%A9"]);
    refuse("{x}{y}", &["%C3%A9"]);
    // In a literal they are only themselves.
    check("%FF{x}", "%ffa", [("x", "a".into())]);
    refuse("%FF{x}", &["%FEa", "%FF%FF"]);
}

#[test]
fn literals_match_as_they_are_written() {
    check("é/{x}", "%C3%A9/1", [("x", "1".into())]);
    check("%c3%a9/{x}", "é/1", [("x", "1".into())]);
    check("a%2fb{x}", "a%2Fb1", [("x", "1".into())]);
    refuse("a/{x}", &["%61/1", "A/1", "a%2F1"]);
    refuse("%61/{x}", &["a/1"]);
}

#[test]
fn a_match_begins_with_the_literal_prefix() {
    let template = template("note://é{x}");
    assert_eq!(template.literal_prefix(), "note://");
    assert!(template.match_uri("note://é1").is_some());
    assert!(template.match_uri("note://%C3%A91").is_some());
}

#[test]
fn the_length_of_a_uri_is_bounded() {
    let longest = "x".repeat(MAX_URI_BYTES);
    assert_eq!(
        template("{x}").match_uri(&longest).and_then(|bound| bound.text("x").map(str::len)),
        Some(MAX_URI_BYTES)
    );
    refuse("{x}", &[&format!("{longest}x")]);
}

/// What would take for ever with backtracking takes a bounded number of passes here.
#[test]
fn hostile_uris_take_few_steps() {
    let uri = "a".repeat(MAX_URI_BYTES - 1);
    let slashes = "/".repeat(MAX_URI_BYTES - 1);
    let pairs = format!("?{}", "a=&".repeat(MAX_URI_BYTES / 3 - 1));
    let dots = "a.".repeat(MAX_URI_BYTES / 2 - 1);
    let names: Vec<String> = (0..MAX_VARIABLES - 2).map(|i| format!("a{i}")).collect();
    let all: String = (0..MAX_EXPRESSIONS).map(|i| format!("{{a{i}}}")).collect();
    // Nothing has the `!` in front, and everything behind it matches in a great many ways.
    let each = |spec: &dyn Fn(usize) -> String| (0..MAX_EXPRESSIONS - 1).map(spec).collect::<String>();
    let cases = [
        (each(&|i| format!("{{a{i}}}")), &uri),
        (each(&|i| format!("{{a{i}}}a")), &uri),
        (each(&|i| format!("{{+a{i}*}}")), &slashes),
        (each(&|i| format!("{{/a{i}*}}")), &slashes),
        (each(&|i| format!("{{.a{i}}}")), &dots),
        (each(&|i| format!("{{a{i}:{}}}", 1 + i * 150)), &uri),
        (format!("{{/{}}}{{+z}}", names.join(",")), &slashes),
        (format!("{{?{}*}}{{+z}}", names.join("*,")), &pairs),
        (each(&|_| "{&a*}".to_owned()), &pairs),
        (format!("{{x}}{}{{y}}", "a".repeat(3_000)), &uri),
    ];
    for (text, uri) in &cases {
        let template = template(&format!("{{+s}}!{text}"));
        let (steps, bound) = taken(|| template.match_uri(uri));
        assert!(bound.is_none(), "{text}");
        // A few for each place, for each variable and each text between.
        let most = 6 * (uri.len() as u64 + 1) * (text.matches(['{', ',']).count() as u64 * 2 + 2);
        assert!((uri.len() as u64..most).contains(&steps), "{text} took {steps} steps, {most} at most");
    }
    let bound = template(&all).match_uri(&uri).expect("a match");
    assert_eq!(bound.len(), MAX_EXPRESSIONS);
    assert_eq!(bound.text("a0").map(str::len), Some(uri.len() - MAX_EXPRESSIONS + 1));
}

#[test]
fn bindings_can_be_read_in_several_ways() {
    let bound = template("{a}{?list*}").match_uri("x?list=1&list=2").expect("a match");
    assert_eq!((bound.text("a"), bound.list("a"), bound.text("b")), (Some("x"), None, None));
    assert_eq!(bound.list("list"), Some(&["1".to_owned(), "2".to_owned()][..]));
    assert_eq!(bound.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "list"]);
    assert_eq!((bound.len(), bound.is_empty(), Bindings::new().is_empty()), (2, false, true));
    let mut changed = bound.clone();
    assert_eq!(changed.insert("a", "y"), Some("x".into()));
    assert_ne!(changed, bound);
    assert_eq!(bound.clone().into_iter().collect::<Bindings>(), bound);
}
