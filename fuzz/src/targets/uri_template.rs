//! URI templates: parse, match, expand.

use mcp_sansio::uri_template::UriTemplate;

use crate::Signature;
use crate::input::Choices;

/// Runs one input: a template, then a URI.
pub fn run(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let mut choices = Choices::new(input);
    let template = String::from_utf8_lossy(choices.slice()).into_owned();
    let uri = String::from_utf8_lossy(choices.rest()).into_owned();
    match UriTemplate::parse(&template) {
        Ok(parsed) => {
            signature.note("parsed");
            assert_eq!(parsed.as_str(), template);
            if let Some(bindings) = parsed.match_uri(&uri) {
                signature.note("matched");
                // A variable that stands twice may be bound to a text in one place and to a list in the other.
                let distinct = template.matches(['{', ',']).count() == parsed.variables().len();
                // Values that cannot be expanded again (lists where a prefix is asked for) are errors, not panics.
                if let (true, Ok(expanded)) = (distinct, parsed.expand(&bindings)) {
                    assert!(parsed.match_uri(&expanded).is_some(), "an expansion does not match its own template");
                    signature.note("expanded");
                }
            }
        }
        Err(error) => signature.note_variant(&error),
    }
    signature
}
