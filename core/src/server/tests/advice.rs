//! What a definition is advised against, and that nothing is advised without need.

use super::*;
use crate::model::{Icon, Resource, ResourceTemplate};

/// M-TOOL-10, M-TOOL-12, M-TOOL-13, L-TOOL-05, M-META-02, M-META-03, M-META-05, M-META-06, L-BASE-15, M-ICON-04,
/// L-BASE-20: what should not be offered is, but not without a word.
#[test]
fn m_tool_10_m_meta_02_m_icon_04_odd_definitions_are_remarked_on() {
    let mut odd_meta = tool("fine");
    odd_meta.meta = Some(
        [("1x.example/key", json!(1)), ("com.mcp.tools/key", json!(1)), ("com.example/k", json!(1))]
            .into_iter()
            .collect(),
    );
    let mut template = ResourceTemplate::new("t", "a:{x}");
    template.icons = Some(vec![Icon::new("http://example.com/i.png")]);
    let definition = Definition::builder("s", "1")
        .icon(Icon::new("javascript:alert(1)"))
        .tool(tool("two words"))
        .tool(tool(&"n".repeat(129)))
        .tool(odd_meta)
        .resource(Resource::new("r", "a:b"))
        .template(template)
        .build()
        .unwrap();
    let advice: Vec<String> = definition.advice().iter().map(ToString::to_string).collect();
    let about = [
        "the server: an icon",
        "\"two words\"",
        "nnn",
        "\"1x.example/key\"",
        "\"com.mcp.tools/key\"",
        "\"a:{x}\": an icon",
    ];
    assert_eq!(advice.len(), about.len(), "{advice:#?}");
    for (text, about) in advice.iter().zip(about) {
        assert!(text.contains(about), "{text} is about {about}");
    }
}

#[test]
fn ordinary_definitions_are_not_remarked_on() {
    assert!(definition().advice().is_empty());
}
