use super::*;

fn kinds(source: &str) -> Vec<(Kind, &str)> {
    tokens(source).iter().map(|token| (token.kind, token.text)).collect()
}

fn code(source: &str) -> String {
    let kept = without_tests(&tokens(source));
    kept.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

#[test]
fn literals_of_every_kind_are_told_apart() {
    let source =
        r####"b"one" r"two" r#"th"ree"# br##"fo"#ur"## c"five" "si\"x" 'a' '\'' b'z' 'label: '\u{1F600}' 'é'"####;
    assert_eq!(
        kinds(source),
        [
            (Kind::Text, "one"),
            (Kind::Text, "two"),
            (Kind::Text, "th\"ree"),
            (Kind::Text, "fo\"#ur"),
            (Kind::Text, "five"),
            (Kind::Text, "si\\\"x"),
            (Kind::Char, "'a'"),
            (Kind::Char, "'\\''"),
            (Kind::Char, "'z'"),
            (Kind::Lifetime, "'label"),
            (Kind::Punct, ":"),
            (Kind::Char, "'\\u{1F600}'"),
            (Kind::Char, "'é'"),
        ]
    );
}

#[test]
fn comments_hide_quotes_and_quotes_hide_comments() {
    let source = "a /* \" /* nested */ ' */ \"// no\" // \"tail\nb";
    assert_eq!(
        kinds(source),
        [
            (Kind::Ident, "a"),
            (Kind::Comment, "/* \" /* nested */ ' */"),
            (Kind::Text, "// no"),
            (Kind::Comment, "// \"tail"),
            (Kind::Ident, "b"),
        ]
    );
}

#[test]
fn numbers_ranges_and_raw_identifiers() {
    assert_eq!(
        kinds("-32_602 0..9 1.5 r#type"),
        [
            (Kind::Punct, "-"),
            (Kind::Number, "32_602"),
            (Kind::Number, "0"),
            (Kind::Punct, "."),
            (Kind::Punct, "."),
            (Kind::Number, "9"),
            (Kind::Number, "1.5"),
            (Kind::Ident, "type"),
        ]
    );
}

#[test]
fn lines_are_counted_through_literals() {
    let found = tokens("\"a\nb\"\nc");
    assert_eq!((found[0].line, found[0].end_line, found[1].line), (1, 2, 3));
}

#[test]
fn what_never_ends_ends_with_the_file() {
    for source in ["\"open", "r#\"open\"", "/* open", "'", "'\\", "#[cfg(test", "fn f(", "fn f() {", "b'", "r#"] {
        let found = tokens(source);
        let _ = (without_tests(&found), functions(&found));
        assert!(!found.is_empty(), "{source}");
    }
}

#[test]
fn test_items_are_left_out_with_their_attributes() {
    let source = "use a; #[cfg(test)] #[path = \"x.rs\"] mod tests; fn b() {} #[cfg(test)] use c::{d, e}; \
                  #[cfg(all(test, unix))] mod f { fn g() { { } } } #[test] fn h() {} fn i() {}";
    assert_eq!(code(source), "use a ; fn b ( ) { } fn i ( ) { }");
}

#[test]
fn what_a_build_without_tests_compiles_stays() {
    let source = "#[cfg(any(test, feature = \"testing\"))] mod a {} #[cfg(not(test))] mod b {}";
    assert!(code(source).contains("mod a"));
    assert!(code(source).contains("mod b"));
    assert_eq!(code("#![cfg(test)] fn a() {}"), "");
}

#[test]
fn functions_are_found_in_macros_and_impls() {
    let source = "\
proptest! {
    /// M-BASE-06
    #[test]
    fn holds(x in 0..9) {
        check(x);
    }
}
trait T { fn declared(&self); }
#[tokio::test(flavor = \"current_thread\")]
#[ignore = \"slow\"]
pub(crate) async fn waits() -> [u8; 2] { [0; 2] }
";
    let found = functions(&tokens(source));
    let seen: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.docs_line, f.line, f.lines(), f.is_test)).collect();
    assert_eq!(seen, [("holds", 2, 4, 3, true), ("waits", 9, 11, 1, true)]);
    assert!(found[1].is_ignored);
    assert!(!found[0].is_ignored);
}

#[test]
fn attributes_do_not_leak_to_the_next_function() {
    let found = functions(&tokens("#[test] fn a() {} fn b() {} #[test] struct C; fn d() {}"));
    let seen: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.is_test)).collect();
    assert_eq!(seen, [("a", true), ("b", false), ("d", false)]);
}

#[test]
fn test_files_are_known_by_their_place() {
    assert!(is_test_file("io-tokio/src/child/tests.rs"));
    assert!(!is_test_file("core/src/testing/pair.rs"));
    assert!(is_test_file("tests/interop.rs"));
    assert!(!is_test_file("io-tokio/src/tests_helper.rs"));
    assert!(!is_test_file("io-tokio/src/stdio.rs"));
}
