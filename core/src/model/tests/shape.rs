//! What older revisions cannot carry is rewritten; what they can is left alone.

use std::borrow::Cow;

use super::{assert_json, json, read, round_trip, write};
use crate::model::*;
use crate::spec::Version;

const OLD: [Shape; 2] = [Shape::V2024_11_05, Shape::V2025_03_26];
const OBJECTS: [Shape; 2] = [Shape::V2025_06_18, Shape::V2025_11_25];

fn shaped(text: &str, shape: &Shape, wrapping: Wrapping) -> CallToolResult {
    let mut result: CallToolResult = read(text);
    let before = result.clone();
    let needed = result.needs_shaping(shape, wrapping);
    result.shape(shape, wrapping);
    assert_eq!(needed, result != before, "{text}");
    result
}

#[test]
fn each_revision_has_its_shape() {
    for version in Version::ALL {
        let shape = Shape::of(version);
        assert_eq!(shape.audio, version >= Version::V2025_03_26);
        assert_eq!(shape.resource_link, version >= Version::V2025_06_18);
        assert_eq!(shape.sampling_lists, version >= Version::V2025_11_25);
        assert_eq!(shape.execution, version == Version::V2025_11_25);
    }
}

/// D-02: audio is not sent to 2024-11-05.
#[test]
fn d_02_audio_becomes_a_text_that_says_so() {
    let text = r#"{"content":[{"type":"audio","data":"AAECAw==","mimeType":"audio/wav","annotations":{"priority":1},"_meta":{"k":1}}]}"#;
    let result = shaped(text, &Shape::V2024_11_05, Wrapping::default());
    let ContentBlock::Text(block) = &result.content[0] else { panic!() };
    assert!(block.text.contains("audio/wav, 4 bytes"), "{}", block.text);
    assert!(block.annotations.is_some() && block.meta.is_some());
    for shape in [Shape::V2025_03_26, Shape::V2025_06_18, Shape::V2025_11_25, Shape::V2026_07_28] {
        assert_json(&shaped(text, &shape, Wrapping::default()), text);
    }
}

/// D-02: resource links are not sent before 2025-06-18.
#[test]
fn d_02_resource_links_become_texts_with_the_address() {
    let text = r#"{"content":[{"type":"resource_link","uri":"file:///a.rs","name":"a.rs","description":"Entry"}]}"#;
    for shape in OLD {
        let result = shaped(text, &shape, Wrapping::default());
        assert_json(&result, r#"{"content":[{"type":"text","text":"a.rs: file:///a.rs\nEntry"}]}"#);
    }
    for shape in [Shape::V2025_06_18, Shape::V2025_11_25, Shape::V2026_07_28] {
        assert_json(&shaped(text, &shape, Wrapping::default()), text);
    }
}

/// T-16, D-04: an object stays, anything else is wrapped, on 2025-06-18 and 2025-11-25.
#[test]
fn t_16_structured_content_is_an_object() {
    for shape in OBJECTS {
        for (value, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("[1,2]", r#"{"result":[1,2]}"#),
            ("null", r#"{"result":null}"#),
            ("18446744073709551617", r#"{"result":18446744073709551617}"#),
            ("\"s\"", r#"{"result":"s"}"#),
        ] {
            let text = format!(r#"{{"content":[{{"type":"text","text":"m"}}],"structuredContent":{value}}}"#);
            let result = shaped(&text, &shape, Wrapping::UnlessObject);
            assert_eq!(result.structured_content.unwrap().get(), expected);
            assert_eq!(result.content.len(), 1);
        }
    }
    let null = r#"{"content":[],"structuredContent":null}"#;
    assert_json(&shaped(null, &Shape::V2026_07_28, Wrapping::UnlessObject), null);
}

/// T-16 with T-17: with a wrapped schema every value is wrapped, but for those that no schema describes.
#[test]
fn t_16_values_follow_their_schema() {
    let text = r#"{"content":[],"structuredContent":{"a":1}}"#;
    let wrapped = shaped(text, &Shape::V2025_11_25, Wrapping::Always);
    assert_json(&wrapped, r#"{"content":[],"structuredContent":{"result":{"a":1}}}"#);
    let failed = r#"{"content":[],"isError":true,"structuredContent":{"code":"X"}}"#;
    assert_json(&shaped(failed, &Shape::V2025_11_25, Wrapping::Always), failed);
    let failed = r#"{"content":[],"isError":true,"structuredContent":[]}"#;
    assert_eq!(
        shaped(failed, &Shape::V2025_11_25, Wrapping::Always).structured_content,
        Some(json(r#"{"result":[]}"#))
    );
}

/// T-16: before 2025-06-18 there is no structured content; its text stays.
#[test]
fn t_16_structured_content_is_left_out_of_old_revisions() {
    for shape in OLD {
        let result =
            shaped(r#"{"content":[{"type":"text","text":"m"}],"structuredContent":[1]}"#, &shape, Wrapping::Always);
        assert_json(&result, r#"{"content":[{"type":"text","text":"m"}]}"#);
        let result = shaped(r#"{"content":[],"structuredContent":[1]}"#, &shape, Wrapping::default());
        assert_json(&result, r#"{"content":[{"type":"text","text":"[1]"}]}"#);
    }
}

/// T-17, D-05: an output schema has an object root, or is wrapped, or is left out.
#[test]
fn t_17_output_schemas() {
    let object = json(r#"{"properties":{},"type":"object"}"#);
    let list = json(r#"{"type":"array","items":{"type":"string"}}"#);
    for shape in OLD {
        assert_eq!(shape.output_schema(&object), OutputSchema::Drop);
        assert_eq!(shape.wrapping(Some(&list)), Wrapping::UnlessObject);
    }
    for shape in OBJECTS {
        assert_eq!(shape.output_schema(&object), OutputSchema::Keep);
        assert_eq!(
            shape.output_schema(&list),
            OutputSchema::Wrap(json(
                r#"{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"]}"#
            ))
        );
        assert_eq!(shape.wrapping(Some(&list)), Wrapping::Always);
        assert_eq!(shape.wrapping(Some(&object)), Wrapping::UnlessObject);
        assert_eq!(shape.wrapping(None), Wrapping::UnlessObject);
        // Not the same as `"type":"object"` for the schemas of these revisions.
        assert!(matches!(shape.output_schema(&json(r#"{"type":["object"]}"#)), OutputSchema::Wrap(_)));
        assert!(matches!(shape.output_schema(&json("true")), OutputSchema::Wrap(_)));
    }
    assert_eq!(Shape::V2026_07_28.output_schema(&list), OutputSchema::Keep);
}

fn wrapped(schema: &str) -> Option<String> {
    match Shape::V2025_11_25.output_schema(&json(schema)) {
        OutputSchema::Wrap(schema) => Some(schema.get().to_owned()),
        OutputSchema::Keep | OutputSchema::Drop => None,
    }
}

/// A schema that moves takes its references along.
#[test]
fn t_17_wrapped_schemas_keep_their_references() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#/$defs/a"},
        "$defs":{"a":{"anyOf":[{"$ref" : "#"},{"$dynamicRef":"#/$defs/\u0061"},{"$ref":"#anchor"},{"$ref":"other.json#/x"}]},
                 "$ref":{"const":{"$ref":"#/no"}},"default":{"$ref":"#/yes"}},
        "default":[{"$ref":"#/no"}],"enum":[{"$ref":"#/no"}],"examples":[{"properties":{"p":{"$ref":"#/no"}}}],
        "properties":{"$ref":{"$ref":"#/yes"},"const":{"items":[{"$ref":"#/yes"}]},"$id":{"type":"string"}}}"##;
    let text = wrapped(schema).unwrap();
    assert!(text.starts_with(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"result":{"#
    ));
    assert!(text.ends_with(r#"}},"required":["result"]}"#));
    assert_eq!(text.matches("$schema").count(), 1);
    assert_eq!(text.matches("#/no").count(), schema.matches("#/no").count());
    assert_eq!(text.matches("#/properties/result/yes").count(), 3);
    assert_eq!(text.matches(r##""#/properties/result/$defs/a""##).count(), 2);
    assert!(text.contains(r##"{"$ref" : "#/properties/result"}"##));
    assert!(text.contains(r##"{"$ref":"#anchor"},{"$ref":"other.json#/x"}"##));
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

/// A base inside a schema needs real resolution: value and schema then go separate ways.
#[test]
fn t_17_schemas_with_a_base() {
    let rooted = wrapped(r##"{"$id":"urn:x","type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{}}}"##).unwrap();
    assert!(rooted.contains(r##"{"$ref":"#/$defs/a"}"##), "{rooted}");
    assert_eq!(wrapped(r#"{"type":"array","items":{"$id":"urn:y","type":"string"}}"#), None);
    let data = r#"{"type":"array","const":[{"$id":"data"}]}"#;
    assert!(wrapped(data).unwrap().contains(r#""const":[{"$id":"data"}]"#));
}

#[test]
fn t_17_tools_are_shaped_with_their_schema() {
    let tool: Tool = read(
        r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"execution":{"taskSupport":"optional"}}"#,
    );
    let mut legacy = tool.clone();
    assert_eq!(legacy.shape(&Shape::V2025_11_25), Wrapping::Always);
    assert_json(
        &legacy,
        r#"{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},
            "outputSchema":{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]}}"#,
    );
    assert_json(
        &*tool.shaped(&Shape::V2026_07_28),
        r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
    );
    for shape in OLD {
        assert_json(&*tool.shaped(&shape), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
    }
    // D-22, decision 18: what is optional and unknown to a revision stays.
    let rich: Tool = round_trip(
        r#"{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[],"_meta":{}}"#,
    );
    assert!(matches!(rich.shaped(&Shape::V2024_11_05), Cow::Borrowed(_)));
}

/// The common case costs nothing: the value is borrowed.
#[test]
fn what_fits_is_borrowed() {
    let result = CallToolResult::structured(json(r#"{"a":1}"#));
    for shape in [Shape::V2025_06_18, Shape::V2025_11_25, Shape::V2026_07_28] {
        assert!(matches!(result.shaped(&shape, Wrapping::UnlessObject), Cow::Borrowed(_)));
        assert!(matches!(Tool::new("t").shaped(&shape), Cow::Borrowed(_)));
    }
    let text = CallToolResult::text("t");
    assert!(Version::ALL.iter().all(|version| !text.needs_shaping(&Shape::of(*version), Wrapping::Always)));
}

#[test]
fn d_02_prompts_are_shaped_too() {
    let mut result: GetPromptResult = read(
        r#"{"messages":[{"role":"user","content":{"type":"audio","data":"","mimeType":"audio/wav"}},{"role":"user","content":{"type":"text","text":"t"}}]}"#,
    );
    assert!(!result.needs_shaping(&Shape::V2025_06_18));
    assert!(result.needs_shaping(&Shape::V2024_11_05));
    result.shape(&Shape::V2024_11_05);
    assert!(result.messages.iter().all(|message| message.content.as_text().is_some()));
}

/// T-19, D-03: before 2025-11-25 a sampling message has one block.
#[test]
fn t_19_lists_in_sampling_requests_are_split() {
    let text = r#"{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}],"x":1},{"role":"assistant","content":[]},{"role":"user","content":{"type":"text","text":"b"}}]}"#;
    for shape in [Shape::V2024_11_05, Shape::V2025_03_26, Shape::V2025_06_18] {
        let mut params: CreateMessageParams = read(text);
        assert!(params.needs_shaping(&shape));
        params.shape(&shape).unwrap();
        assert_json(
            &params,
            r#"{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"a"},"x":1},{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"},"x":1},{"role":"user","content":{"type":"text","text":"b"}}]}"#,
        );
        assert!(!params.needs_shaping(&shape));
    }
    for shape in [Shape::V2025_11_25, Shape::V2026_07_28] {
        let mut params: CreateMessageParams = read(text);
        assert!(!params.needs_shaping(&shape));
        params.shape(&shape).unwrap();
        assert_json(&params, text);
    }
}

#[test]
fn sampling_with_tools_needs_2025_11_25() {
    let with_tools = r#"{"maxTokens":1,"messages":[],"tools":[]}"#;
    let with_use = r#"{"maxTokens":1,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"t","input":{}}}]}"#;
    for text in [with_tools, with_use] {
        let mut params: CreateMessageParams = read(text);
        assert!(params.needs_shaping(&Shape::V2025_06_18));
        assert_eq!(params.shape(&Shape::V2025_06_18), Err(ShapeError::SamplingTools));
        assert_json(&params, text);
        assert_eq!(params.shape(&Shape::V2025_11_25), Ok(()));
    }
    let mut tools: CreateMessageParams = read(
        r#"{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":[],"structuredContent":[1]}]}],"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}]}"#,
    );
    assert!(tools.needs_shaping(&Shape::V2025_11_25));
    tools.shape(&Shape::V2025_11_25).unwrap();
    assert!(!tools.needs_shaping(&Shape::V2025_11_25));
    assert!(write(&tools).get().contains(r#""structuredContent":{"result":[1]}"#));
}

/// T-19, D-03: an answer of several texts becomes one; other lists are refused.
#[test]
fn t_19_lists_in_sampling_results_become_one_block() {
    let answer = |content: &str| -> Result<CreateMessageResult, ShapeError> {
        let mut result: CreateMessageResult =
            read(&format!(r#"{{"role":"assistant","model":"m","content":{content}}}"#));
        result.shape(&Shape::V2025_06_18).map(|()| result)
    };
    let block = |content: &str| answer(content).unwrap().content;
    let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
    assert_eq!(block(&format!("[{image}]")), SamplingContent::One(read(image)));
    assert_eq!(block(image), SamplingContent::One(read(image)));
    assert_eq!(block(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#), "a\nb".into());
    assert_eq!(block("[]"), "".into());
    assert_eq!(answer(&format!("[{image},{image}]")), Err(ShapeError::SamplingList));
    assert_eq!(answer(r#"{"type":"tool_use","id":"a","name":"t","input":{}}"#), Err(ShapeError::SamplingTools));
}

/// T-23: choices with titles are `enum` with `enumNames` on 2025-06-18. T-21: its `mode` is left out.
#[test]
fn t_23_titled_choices_on_2025_06_18() {
    let text = r##"{"mode":"form","message":"m","requestedSchema":{"type":"object","required":["c"],"properties":{
        "c":{"type":"string","title":"C","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],"default":"#f00"},
        "n":{"type":"integer","maximum":18446744073709551617},"e":{"type":"string","enum":["a"]}}}}"##;
    let mut params: ElicitParams = read(text);
    params.shape(&Shape::V2025_06_18).unwrap();
    assert_json(
        &params,
        r##"{"message":"m","requestedSchema":{"type":"object","required":["c"],"properties":{
            "c":{"type":"string","title":"C","enum":["#f00","#0f0"],"enumNames":["Red","Green"],"default":"#f00"},
            "n":{"type":"integer","maximum":18446744073709551617},"e":{"type":"string","enum":["a"]}}}}"##,
    );
    for shape in [Shape::V2025_11_25, Shape::V2026_07_28] {
        let mut params: ElicitParams = read(text);
        params.shape(&shape).unwrap();
        assert_json(&params, text);
    }
}

/// T-22: lists of values exist from 2025-11-25 on.
#[test]
fn t_22_choices_of_several_values() {
    let text = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"c":{"type":"array","items":{"type":"string","enum":["a"]}}}}}"#;
    let mut params: ElicitParams = read(text);
    assert_eq!(params.shape(&Shape::V2025_06_18), Err(ShapeError::MultiSelect));
    assert_json(&params, text);
    assert_eq!(params.shape(&Shape::V2025_11_25), Ok(()));

    let answer: ElicitResult = read(r#"{"action":"accept","content":{"a":"x","c":["a"]}}"#);
    assert_eq!(answer.check_shape(&Shape::V2025_06_18), Err(ShapeError::MultiSelect));
    assert_eq!(answer.check_shape(&Shape::V2025_11_25), Ok(()));
    assert_eq!(ElicitResult::decline().check_shape(&Shape::V2025_06_18), Ok(()));
    assert_eq!(ElicitResult::decline().check_shape(&Shape::V2025_03_26), Err(ShapeError::NoElicitation));
}

/// T-24, M-ELIC-13: the id of a URL elicitation exists on 2025-11-25 only, where it is required.
#[test]
fn t_24_url_elicitation_and_its_id() {
    let with_id = ElicitUrlParams::new("m", "https://x.example").elicitation_id("e");
    let mut modern = ElicitParams::Url(with_id.clone());
    modern.shape(&Shape::V2026_07_28).unwrap();
    assert_eq!(modern, ElicitParams::url("m", "https://x.example"));
    assert_eq!(modern.shape(&Shape::V2025_11_25), Err(ShapeError::NoElicitationId));
    let mut legacy = ElicitParams::Url(with_id.clone());
    assert_eq!(legacy.shape(&Shape::V2025_11_25), Ok(()));
    assert_eq!(legacy, ElicitParams::Url(with_id));
    assert_eq!(legacy.shape(&Shape::V2025_06_18), Err(ShapeError::NoElicitationMode));
    assert_eq!(legacy.shape(&Shape::V2025_03_26), Err(ShapeError::NoElicitation));
    assert_eq!(ElicitParams::form("m", json("{}")).shape(&Shape::V2024_11_05), Err(ShapeError::NoElicitation));
}
