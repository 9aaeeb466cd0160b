//! Matching undoes expansion, and chooses as a slow but obvious matcher does.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{bindings, template};
use crate::uri_template::{Bindings, UriTemplate, Value, unit};

/// Any characters but `%`, which reserved expansion may take for a triplet's.
fn text() -> impl Strategy<Value = String> {
    "[a-c0./,;?&=#!é東😀 \\-]{0,6}|[^%]{0,4}"
}

fn filled() -> impl Strategy<Value = String> {
    text().prop_filter("not empty", |text| !text.is_empty())
}

fn items() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 1..4)
}

fn members() -> impl Strategy<Value = Vec<(String, String)>> {
    // Names that are no variable's.
    vec(("k[a-c=&/é]{0,3}", text()), 1..4)
}

fn round_trip(text: &str, values: Vec<(&str, Option<Value>)>) -> Result<(), TestCaseError> {
    let values: Bindings = values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let template = template(text);
    let uri = template.expand(&values).expect("expands");
    prop_assert_eq!(template.match_uri(&uri), Some(values), "{} on {}", text, uri);
    Ok(())
}

proptest! {
    #[test]
    fn paths_queries_and_fragments_come_back(
        a in filled(), b in filled(), list in option::of(items()), q in option::of(text()),
        m in option::of(members()), f in option::of(text()),
    ) {
        round_trip("x://{a}/é/{b}{/list*}{?q,m*}{#f}", vec![
            ("a", Some(a.into())),
            ("b", Some(b.into())),
            ("list", list.map(Value::from)),
            ("q", q.map(Value::from)),
            ("m", m.map(Value::from)),
            ("f", f.map(Value::from)),
        ])?;
    }

    #[test]
    fn labels_segments_and_parameters_come_back(
        a in option::of(text()), b in text(), c in option::of(text()), d in option::of(text()), e in option::of(items()),
    ) {
        round_trip("z{.a}{/b,c}{;d,e*}", vec![
            ("a", a.map(Value::from)),
            ("b", Some(b.into())),
            ("c", c.map(Value::from)),
            ("d", d.map(Value::from)),
            ("e", e.map(Value::from)),
        ])?;
    }

    #[test]
    fn several_values_in_one_expression_come_back(a in text(), b in text(), c in text()) {
        round_trip("{a,b,c}", vec![("a", Some(a.into())), ("b", Some(b.into())), ("c", Some(c.into()))])?;
    }

    #[test]
    fn lists_maps_and_reserved_texts_come_back(list in vec(text(), 2..5), map in members(), reserved in filled()) {
        round_trip("{v}", vec![("v", Some(list.clone().into()))])?;
        round_trip("?x=y{&v}", vec![("v", Some(list.into()))])?;
        round_trip("{v*}", vec![("v", Some(map.into()))])?;
        round_trip("r:{+v}", vec![("v", Some(reserved.into()))])?;
    }

    #[test]
    fn a_prefix_and_its_whole_agree(v in filled()) {
        round_trip("{v:3}/{v}/{v:1}", vec![("v", Some(v.into()))])?;
    }
}

/// An expression with values for its variables, which begin with `name`. Those combinations that even the RFC's
/// own text cannot tell apart are left out.
fn any_expression(name: char) -> impl Strategy<Value = (String, Vec<(String, Option<Value>)>)> {
    let variable = (0..4_u8, 0..4_u8, "[a-cé /,=;&?#]{0,4}", vec("[a-cé /,=;&?#]{0,3}", 1..4));
    ("[+#./;?&]?", vec(variable, 1..4)).prop_map(move |(operator, variables)| {
        let single = variables.len() == 1;
        let mut specs = Vec::new();
        let mut values = Vec::new();
        for (index, (kind, modifier, text, items)) in variables.into_iter().enumerate() {
            let variable = format!("{name}{index}");
            let (modifier, value) = match (kind, modifier) {
                (0, _) if !single => ("", None),
                (1, 1..) if single => (":2", Some(Value::Text(text))),
                (2, 0..2) => ("", Some(Value::List(items))),
                (2, _) => ("*", Some(Value::List(items))),
                (3, _) if single || operator.starts_with([';', '?', '&']) => {
                    ("*", Some(Value::Map(items.into_iter().map(|item| (format!("k{item}"), item)).collect())))
                }
                _ => ("", Some(Value::Text(text))),
            };
            specs.push(format!("{variable}{modifier}"));
            values.push((variable, value));
        }
        (format!("{{{operator}{}}}", specs.join(",")), values)
    })
}

proptest! {
    /// Whatever a template expands to, it matches, and the values that are found expand to the same URI.
    #[test]
    fn every_expansion_matches(
        a in any_expression('a'), b in any_expression('b'), c in any_expression('c'),
        literals in vec("[a-c/!\\-]{0,2}", 4),
    ) {
        let mut values: Bindings = [&a, &b, &c]
            .into_iter()
            .flat_map(|(_, values)| values.clone())
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        for (text, variables) in [&a, &b, &c] {
            // An expression without a mark must be there.
            let marked = text[1..].starts_with(['#', '.', '/', ';', '?', '&']);
            if !marked && template(text).expand(&values).is_ok_and(|uri| uri.is_empty()) {
                values.insert(&variables[0].0, "z");
            }
        }
        let [l0, l1, l2, l3] = &literals[..] else { unreachable!("four literals") };
        let text = format!("{l0}{}{l1}{}{l2}{}{l3}", a.0, b.0, c.0);
        let template = template(&text);
        let uri = template.expand(&values).expect("expands");
        let bound = template.match_uri(&uri);
        prop_assert!(bound.is_some(), "{} does not match {}", text, uri);
        // Where several ways to cut the URI exist, a raw character may have become a value's, and pairs another
        // order or an empty value an `=`; but nothing is lost and nothing made up.
        let again = template.expand(&bound.unwrap_or_default()).expect("expands");
        prop_assert_eq!(characters(&again), characters(&uri), "{} on {}: {}", text, uri, again);
    }

    #[test]
    fn nothing_panics(text in "[{}+#./;?&a-c:*,=%0-9é]{0,24}", uri in "[+#./;?&a-c:*,=%0-9é]{0,24}") {
        if let Ok(template) = UriTemplate::parse(&text)
            && let Some(bound) = template.match_uri(&uri)
        {
            prop_assert!(uri.starts_with(template.literal_prefix()));
            prop_assert!(bound.iter().all(|(name, _)| template.variables().iter().any(|known| known == name)));
        }
    }
}

/// The decoded characters of `uri`, sorted, without `=`.
fn characters(uri: &str) -> Vec<char> {
    let units = unit::split(uri).expect("well-formed");
    let mut characters: Vec<char> = unit::decode(&units).expect("UTF-8").chars().collect();
    characters.retain(|character| *character != '=');
    characters.sort_unstable();
    characters
}

/// A part of a template for the slow matcher: a literal, or an expression of one variable.
#[derive(Clone, Debug)]
enum Slow {
    Literal(char),
    Expression { marker: Option<char>, stops: &'static str, max: usize, text: &'static str },
}

fn slow_part() -> impl Strategy<Value = Slow> {
    let expression = |marker, stops, max, text| Just(Slow::Expression { marker, stops, max, text });
    prop_oneof![
        proptest::sample::select(vec!['a', 'b', '/', '.', '-']).prop_map(Slow::Literal),
        expression(None, "/?#", usize::MAX, "{N}"),
        expression(None, "/?#", 2, "{N:2}"),
        expression(None, "", usize::MAX, "{+N}"),
        expression(Some('#'), "", usize::MAX, "{#N}"),
        expression(Some('.'), "/?#", usize::MAX, "{.N}"),
        expression(Some('/'), "/?#", usize::MAX, "{/N}"),
        expression(Some('/'), "/?#", 1, "{/N:1}"),
    ]
}

/// Tries every way, the longest first, with as much backtracking as it takes.
fn slow_match(parts: &[Slow], rest: &[char]) -> Option<Vec<Option<String>>> {
    let Some((part, parts)) = parts.split_first() else {
        return rest.is_empty().then(Vec::new);
    };
    let with = |value: Option<String>, rest: &[char]| {
        let mut values = slow_match(parts, rest)?;
        values.insert(0, value);
        Some(values)
    };
    match part {
        Slow::Literal(literal) => with(None, rest.strip_prefix(&[*literal])?),
        Slow::Expression { marker, stops, max, .. } => {
            let body = match marker {
                Some(marker) => rest.strip_prefix(&[*marker]),
                None => Some(rest),
            };
            let run = |body: &[char]| body.iter().take_while(|c| !stops.contains(**c)).count().min(*max);
            let least = usize::from(marker.is_none());
            let taken = body.and_then(|body| {
                (least..=run(body)).rev().find_map(|length| {
                    let (value, rest) = body.split_at(length);
                    with(Some(value.iter().collect()), rest)
                })
            });
            taken.or_else(|| marker.and_then(|_| with(None, rest)))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn the_choice_is_that_of_a_slow_matcher(parts in vec(slow_part(), 0..6), uri in "[ab/.#?é\\-]{0,9}") {
        let text: String = parts
            .iter()
            .enumerate()
            .map(|(index, part)| match part {
                Slow::Literal(literal) => literal.to_string(),
                Slow::Expression { text, .. } => text.replace('N', &format!("v{index}")),
            })
            .collect();
        let expected = slow_match(&parts, &uri.chars().collect::<Vec<_>>()).map(|values| {
            let values = values.into_iter().enumerate();
            values.filter_map(|(index, value)| Some((format!("v{index}"), value?))).collect::<Bindings>()
        });
        prop_assert_eq!(template(&text).match_uri(&uri), expected, "{} on {}", text, uri);
    }
}

#[test]
fn the_slow_matcher_is_no_dummy() {
    let text = "{a}/{b}";
    let any = || Slow::Expression { marker: None, stops: "/?#", max: usize::MAX, text: "{N}" };
    let found = slow_match(&[any(), Slow::Literal('/'), any()], &['x', '/', 'y']);
    assert_eq!(found, Some(vec![Some("x".to_owned()), None, Some("y".to_owned())]));
    assert_eq!(template(text).match_uri("x/y"), Some(bindings([("a", "x".into()), ("b", "y".into())])));
}
