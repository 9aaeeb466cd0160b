//! Members that no one knows survive, whatever they are and wherever they stand.

use proptest::prelude::*;

use super::{exact, json, write};
use crate::model::*;

/// JSON text with numbers of every kind.
fn any_json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{18,40}",
        "-?(0|[1-9][0-9]{0,20})\\.[0-9]{1,30}",
        "-?[1-9](\\.[0-9]{1,5})?[eE][+-]?[0-9]{1,3}",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        number,
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(object),
        ]
    })
}

fn object(members: impl IntoIterator<Item = (String, String)>) -> String {
    let members: Vec<String> = members
        .into_iter()
        .map(|(name, value)| format!("{} :{value}", serde_json::to_string(&name).unwrap()))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// The known members, with unknown ones among them in any order.
fn with_unknown(known: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = String> {
    // The prefix keeps the names apart from every known one.
    let unknown = prop::collection::btree_map("x-[a-zA-Z\u{e9}\"\\\\]{0,8}", any_json(), 0..5);
    unknown
        .prop_map(move |unknown| {
            let known = known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            known.chain(unknown).collect::<Vec<_>>()
        })
        .prop_shuffle()
        .prop_map(object)
}

fn survives<T: serde::Serialize + serde::de::DeserializeOwned>(text: &str) -> Result<(), TestCaseError> {
    let value: T = json(text).parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
    prop_assert_eq!(exact(&write(&value)), exact(&json(text)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unknown_members_survive_in_blocks(
        text in with_unknown(&[("type", "\"text\""), ("text", "\"t\"")]),
        link in with_unknown(&[("type", "\"resource_link\""), ("name", "\"n\""), ("uri", "\"u:\""), ("size", "1e3")]),
        odd in with_unknown(&[("type", "\"hologram\"")]),
    ) {
        survives::<ContentBlock>(&text)?;
        survives::<ContentBlock>(&link)?;
        survives::<ContentBlock>(&odd)?;
        survives::<CallToolResult>(&format!(r#"{{"content":[{text},{link},{odd}]}}"#))?;
    }

    #[test]
    fn unknown_members_survive_in_results(
        result in with_unknown(&[("content", "[]"), ("isError", "true"), ("structuredContent", "null")]),
        page in with_unknown(&[("tools", r#"[{"name":"a","inputSchema":{}}]"#), ("nextCursor", "\"\"")]),
        contents in with_unknown(&[("uri", "\"u:\""), ("blob", "\"\"")]),
        elicit in with_unknown(&[("message", "\"m\""), ("requestedSchema", "{}")]),
        capabilities in with_unknown(&[("sampling", r#"{"y":[]}"#), ("elicitation", "{}")]),
    ) {
        survives::<CallToolResult>(&result)?;
        survives::<ListToolsResult>(&page)?;
        survives::<ResourceContents>(&contents)?;
        survives::<ElicitParams>(&elicit)?;
        survives::<ClientCapabilities>(&capabilities)?;
    }

    #[test]
    fn carried_values_survive(value in any_json()) {
        survives::<CallToolResult>(&format!(r#"{{"content":[],"structuredContent":{value}}}"#))?;
        survives::<Meta>(&format!(r#"{{"k":{value}}}"#))?;
        survives::<LogMessageParams>(&format!(r#"{{"level":"info","data":{value}}}"#))?;
        survives::<InputRequests>(&format!(r#"{{"k":{value}}}"#))?;
    }

    #[test]
    fn numbers_survive(text in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?") {
        let number: Number = json(&text).parse().unwrap();
        let written = write(&number);
        prop_assert_eq!(written.get(), text);
    }

    /// No text of a peer makes a reader panic, and what is read once is read the same again.
    #[test]
    fn reading_is_total_and_stable(value in any_json()) {
        let value = json(&value);
        if let Ok(block) = value.parse::<ContentBlock>() {
            prop_assert_eq!(write(&block).parse::<ContentBlock>().unwrap(), block);
        }
        let _ = value.parse::<Tool>();
        let _ = value.parse::<SamplingContent>();
        let _ = value.parse::<ElicitParams>();
        let _ = value.parse::<InputRequest>();
        let _ = value.parse::<ResourceContents>();
    }
}
