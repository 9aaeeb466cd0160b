//! Seals: nothing opens that was not sealed, and for nothing else.

use mcp_sansio::json::Json;
use mcp_sansio::machine::Unix;
use mcp_sansio::server::request_state::{Binding, Claims, SealKeys, open, seal};

use crate::Signature;
use crate::input::Choices;

const BOUND: usize = 4 << 10;

/// Runs one input: a token to try, or changes to a genuine one.
pub fn run(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let mut choices = Choices::new(input);
    let keys = SealKeys::new([9; 32]);
    let arguments = Json::from(serde_json::json!({"a": 1, "b": [true, null]}));
    let binding = Binding {
        method: "tools/call",
        target: "echo",
        arguments: &arguments,
        principal: Some("user"),
        audience: None,
    };
    let claims =
        Claims { binding, expires: Unix::from_millis(1_000), token_id: [4; 16], round: 1, state: b"s", memo: b"m" };
    let token = seal(&keys, &claims, [7; _], BOUND).unwrap_or_else(|error| panic!("{error}"));
    let tried = if choices.below(2) == 0 {
        String::from_utf8_lossy(choices.rest()).into_owned()
    } else {
        let mut bytes = token.clone().into_bytes();
        while !choices.is_empty() {
            let at = (choices.below(256) * 256 + choices.below(256)) % bytes.len().max(1);
            match bytes.get_mut(at) {
                Some(byte) => *byte = choices.byte(),
                None => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    match open(&keys, &tried, &binding, Unix::from_millis(999), BOUND) {
        Ok(opened) => {
            assert_eq!(tried, token, "a token opened that was never sealed");
            assert_eq!((&opened.state[..], &opened.memo[..]), (&b"s"[..], &b"m"[..]));
            signature.note("opened");
            let other = Binding { target: "other", ..binding };
            assert!(open(&keys, &tried, &other, Unix::from_millis(999), BOUND).is_err());
            assert!(open(&keys, &tried, &binding, Unix::from_millis(1_000), BOUND).is_err());
        }
        Err(refused) => signature.note(&refused.cause().to_string()),
    }
    signature
}
