//! M-MRTR-07, -08, -09, -10, -26; U-22.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::rng::{Rng, Seed};

const LIMIT: usize = DEFAULT_MAX_TOKEN_BYTES;
const SEALED_AT: u64 = 1_800_000_000_000;

fn keys() -> SealKeys {
    SealKeys::new([7; 32])
}

fn json(text: &str) -> Json {
    Json::from_text(text).expect("JSON")
}

fn binding(arguments: &Json) -> Binding<'_> {
    Binding {
        method: "tools/call",
        target: "transfer",
        arguments,
        principal: Some("ada"),
        audience: Some("https://bank.example/mcp"),
    }
}

fn claims<'a>(binding: Binding<'a>, state: &'a [u8]) -> Claims<'a> {
    Claims {
        binding,
        expires: Unix::from_millis(SEALED_AT + DEFAULT_TTL_MILLIS),
        token_id: [9; 16],
        round: 2,
        state,
        memo: b"memo",
    }
}

fn now() -> Unix {
    Unix::from_millis(SEALED_AT)
}

fn cause(result: Result<Opened, Refused>) -> Option<RefusedCause> {
    result.err().map(|refused| refused.cause())
}

#[test]
fn what_was_sealed_comes_back() {
    let arguments = json(r#"{"amount":"12","to":"eve"}"#);
    let token = seal(&keys(), &claims(binding(&arguments), b"{\"step\":1}"), [1; 32], LIMIT).expect("sealed");
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{token}");
    // The retry may spell its arguments in another way.
    let respelled = json("{ \"to\": \"\\u0065ve\", \"amount\": \"12\" }");
    let opened = open(&keys(), &token, &binding(&respelled), now(), LIMIT).expect("opened");
    assert_eq!(opened.state, "{\"step\":1}");
    assert_eq!(opened.memo, "memo");
    assert_eq!(opened.token_id, [9; 16]);
    assert_eq!(opened.round, 2);
    assert_eq!(opened.expires, Unix::from_millis(SEALED_AT + DEFAULT_TTL_MILLIS));
}

#[test]
fn nothing_of_it_can_be_read() {
    let arguments = json(r#"{"amount":"12"}"#);
    let token = seal(&keys(), &claims(binding(&arguments), b"SECRETSTATE"), [1; 32], LIMIT).expect("sealed");
    let bytes = URL_SAFE_NO_PAD.decode(token).expect("base64");
    for secret in [&b"SECRETSTATE"[..], b"ada", b"transfer", b"memo", b"tools/call"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
}

#[test]
fn u22_a_state_is_refused_on_every_other_request() {
    let arguments = json(r#"{"x":1}"#);
    let other = json(r#"{"x":2}"#);
    let home = binding(&arguments);
    let token = seal(&keys(), &claims(home, b""), [1; 32], LIMIT).expect("sealed");
    let expires = SEALED_AT + DEFAULT_TTL_MILLIS;
    let cases = [
        (Binding { method: "prompts/get", ..home }, SEALED_AT, RefusedCause::OtherMethod),
        (Binding { target: "transfer2", ..home }, SEALED_AT, RefusedCause::OtherTarget),
        (Binding { target: "", ..home }, SEALED_AT, RefusedCause::OtherTarget),
        (Binding { arguments: &other, ..home }, SEALED_AT, RefusedCause::OtherArguments),
        (Binding { arguments: &Json::EMPTY_OBJECT, ..home }, SEALED_AT, RefusedCause::OtherArguments),
        (Binding { principal: Some("eve"), ..home }, SEALED_AT, RefusedCause::OtherPrincipal),
        (Binding { principal: Some(""), ..home }, SEALED_AT, RefusedCause::OtherPrincipal),
        (Binding { principal: None, ..home }, SEALED_AT, RefusedCause::OtherPrincipal),
        (Binding { audience: Some("https://shop.example/mcp"), ..home }, SEALED_AT, RefusedCause::OtherAudience),
        (Binding { audience: None, ..home }, SEALED_AT, RefusedCause::OtherAudience),
        (home, expires, RefusedCause::Expired),
        (home, u64::MAX, RefusedCause::Expired),
    ];
    for (expected, at, refused) in cases {
        let result = open(&keys(), &token, &expected, Unix::from_millis(at), LIMIT);
        assert_eq!(cause(result), Some(refused));
        let text = result_text(open(&keys(), &token, &expected, Unix::from_millis(at), LIMIT));
        assert_eq!(text, "the requestState is not valid for this request");
    }
    assert!(open(&keys(), &token, &home, Unix::from_millis(expires - 1), LIMIT).is_ok());
}

fn result_text(result: Result<Opened, Refused>) -> String {
    result.expect_err("refused").to_string()
}

#[test]
fn u22_an_absent_principal_is_nobodys_equal() {
    let arguments = Json::EMPTY_OBJECT;
    let nobody = Binding { principal: None, audience: None, ..binding(&arguments) };
    let token = seal(&keys(), &claims(nobody, b""), [1; 32], LIMIT).expect("sealed");
    assert!(open(&keys(), &token, &nobody, now(), LIMIT).is_ok());
    let empty = Binding { principal: Some(""), ..nobody };
    assert_eq!(cause(open(&keys(), &token, &empty, now(), LIMIT)), Some(RefusedCause::OtherPrincipal));
    let empty = Binding { audience: Some(""), ..nobody };
    assert_eq!(cause(open(&keys(), &token, &empty, now(), LIMIT)), Some(RefusedCause::OtherAudience));
}

#[test]
fn parts_do_not_run_into_each_other() {
    let arguments = Json::EMPTY_OBJECT;
    let home = Binding { method: "ab", target: "c", principal: Some("d"), audience: None, arguments: &arguments };
    let token = seal(&keys(), &claims(home, b""), [1; 32], LIMIT).expect("sealed");
    let moved = Binding { method: "a", target: "bc", ..home };
    assert_eq!(cause(open(&keys(), &token, &moved, now(), LIMIT)), Some(RefusedCause::OtherMethod));
    let moved = Binding { principal: None, audience: Some("d"), ..home };
    assert_eq!(cause(open(&keys(), &token, &moved, now(), LIMIT)), Some(RefusedCause::OtherPrincipal));
}

#[test]
fn m_mrtr_08_every_changed_bit_is_noticed() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let token = seal(&keys(), &claims(home, b"state"), [1; 32], LIMIT).expect("sealed");
    let bytes = URL_SAFE_NO_PAD.decode(&token).expect("base64");
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << bit;
            let refused = cause(open(&keys(), &URL_SAFE_NO_PAD.encode(changed), &home, now(), LIMIT));
            let expected = match index {
                0 => RefusedCause::Malformed,
                1..=KEY_ID_BYTES => RefusedCause::UnknownKey,
                _ => RefusedCause::Tampered,
            };
            assert_eq!(refused, Some(expected), "byte {index}, bit {bit}");
        }
    }
}

#[test]
fn m_mrtr_08_every_changed_character_is_noticed() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    // Three lengths, so that the last character holds six, four and two bits.
    for state in [&b"s"[..], b"st", b"sta"] {
        let token = seal(&keys(), &claims(home, state), [1; 32], LIMIT).expect("sealed");
        for index in 0..token.len() {
            for other in *b"AB_-9z=+/ \0" {
                let mut changed = token.clone().into_bytes();
                if changed[index] == other {
                    continue;
                }
                changed[index] = other;
                let changed = String::from_utf8(changed).expect("ASCII");
                assert!(open(&keys(), &changed, &home, now(), LIMIT).is_err(), "character {index}");
            }
        }
    }
}

#[test]
fn m_mrtr_08_truncated_and_extended_tokens_are_refused() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let token = seal(&keys(), &claims(home, b"state"), [1; 32], LIMIT).expect("sealed");
    for length in 0..token.len() {
        let (head, tail) = token.split_at(length);
        assert!(open(&keys(), head, &home, now(), LIMIT).is_err());
        assert!(open(&keys(), tail, &home, now(), LIMIT).is_err() || length == 0);
    }
    for suffix in ["A", "AA", "AAA", "AAAA", "=", "\n", " ", "é"] {
        assert!(open(&keys(), &format!("{token}{suffix}"), &home, now(), LIMIT).is_err(), "{suffix:?}");
        assert!(open(&keys(), &format!("{suffix}{token}"), &home, now(), LIMIT).is_err(), "{suffix:?}");
    }
    for text in ["", "A", "AQ", "\u{0}", "null", "{}", &"A".repeat(LIMIT)] {
        assert_eq!(cause(open(&keys(), text, &home, now(), LIMIT)), Some(RefusedCause::Malformed));
    }
}

#[test]
fn pieces_of_two_tokens_do_not_fit() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let tokens: Vec<Vec<u8>> = [[1; 32], [2; 32]]
        .into_iter()
        .map(|random| seal(&keys(), &claims(home, b"state"), random, LIMIT).expect("sealed"))
        .map(|token| URL_SAFE_NO_PAD.decode(token).expect("base64"))
        .collect();
    for cut in 1..tokens[0].len() {
        let spliced = [&tokens[0][..cut], &tokens[1][cut..]].concat();
        if tokens.contains(&spliced) {
            continue;
        }
        let refused = cause(open(&keys(), &URL_SAFE_NO_PAD.encode(spliced), &home, now(), LIMIT));
        assert_eq!(refused, Some(RefusedCause::Tampered), "cut at {cut}");
    }
}

#[test]
fn keys_can_be_rotated() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let (old, new) = ([1; 32], [2; 32]);
    let sealed = |keys: &SealKeys| seal(keys, &claims(home, b"s"), [1; 32], LIMIT).expect("sealed");
    let opens = |keys: &SealKeys, token: &str| cause(open(keys, token, &home, now(), LIMIT));
    let stages =
        [SealKeys::new(old), SealKeys::new(old).accepting(new), SealKeys::new(new).accepting(old), SealKeys::new(new)];
    // Neighbouring stages, which run at the same time while a change is rolled out, open each other's tokens.
    for pair in stages.windows(2) {
        for sealing in pair {
            for opening in pair {
                assert_eq!(opens(opening, &sealed(sealing)), None);
            }
        }
    }
    assert_eq!(opens(&stages[3], &sealed(&stages[0])), Some(RefusedCause::UnknownKey));
    assert_eq!(opens(&stages[0], &sealed(&stages[3])), Some(RefusedCause::UnknownKey));
    // The id of a key is not enough: the associated data holds it, and the keys differ.
    let forged = {
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed(&stages[0])).expect("base64");
        bytes[1..=KEY_ID_BYTES].copy_from_slice(&SealKey::new(new).id);
        URL_SAFE_NO_PAD.encode(bytes)
    };
    assert_eq!(opens(&stages[3], &forged), Some(RefusedCause::Tampered));
}

#[test]
fn the_same_salt_and_claims_give_the_same_token() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let sealed = |state: &[u8], random| seal(&keys(), &claims(home, state), random, LIMIT).expect("sealed");
    assert_eq!(sealed(b"a", [1; 32]), sealed(b"a", [1; 32]));
    assert_ne!(sealed(b"a", [1; 32]), sealed(b"a", [2; 32]));
    // Used twice, the random bytes still give another salt for other claims.
    let salt = |token: String| URL_SAFE_NO_PAD.decode(token).expect("base64")[1 + KEY_ID_BYTES..HEADER_BYTES].to_vec();
    assert_ne!(salt(sealed(b"a", [1; 32])), salt(sealed(b"b", [1; 32])));
}

/// Processes of different builds share keys while a new build is rolled out: a token of one must open in the other.
/// The text was made by another implementation of the format (Python, `hmac` and `cryptography`). If this fails, the
/// format has changed and needs another version byte.
#[test]
fn the_format_is_pinned() {
    let arguments = json(r#"{"x":1}"#);
    let pinned = concat!(
        "ARH4Uorq9nPOzHCPKzPjtoLLjzFo1Exo45jIrlVewNFd2LMiYIzPNVRxa7n97ol5gPRJAlrkupz7-LWB",
        "w268rEHGQXRXYDOlqd9izeIpKWQDoon2N8gMRSOIeU8RORAqferrtN9muQCP-BgMilgkyGfie7nKJotD",
        "Y3jc2Aq3pmNT2e5coFhjJVjEPkJ36pI_mG0rD2CvGm_sLspKqsh_GymKVKV4t-iX6WiMKoVTqTwOic8y",
        "Kmx2BQyTFZk7ZPGfbvxCSB8",
    );
    let opened = open(&keys(), pinned, &binding(&arguments), now(), LIMIT).expect("opened");
    assert_eq!(opened.state, "state");
    let sealed = seal(&keys(), &claims(binding(&arguments), b"state"), [1; 32], LIMIT);
    assert_eq!(sealed.as_deref(), Ok(pinned));
}

#[test]
fn every_token_has_a_salt_of_its_own() {
    let arguments = json(r#"{"x":1}"#);
    let claims = claims(binding(&arguments), b"a");
    let mut rng = Rng::new(Seed([3; 32]));
    let tokens: BTreeSet<String> =
        (0..1_000).map(|_| seal(&keys(), &claims, rng.bytes(), LIMIT).expect("sealed")).collect();
    assert_eq!(tokens.len(), 1_000);
}

#[test]
fn the_size_is_bounded_on_both_ways() {
    let arguments = json(r#"{"x":1}"#);
    let home = binding(&arguments);
    let largest = (0..400)
        .rev()
        .find(|&length| seal(&keys(), &claims(home, &vec![0; length]), [1; 32], 512).is_ok())
        .expect("some state fits");
    let token = seal(&keys(), &claims(home, &vec![0; largest]), [1; 32], 512).expect("sealed");
    assert!((509..=512).contains(&token.len()), "{}", token.len());
    assert!(open(&keys(), &token, &home, now(), 512).is_ok());
    assert_eq!(
        seal(&keys(), &claims(home, &vec![0; largest + 1]), [1; 32], 512),
        Err(SealError::TooLarge { limit: 512 })
    );
    let too_large = RefusedCause::TooLarge { limit: token.len() - 1 };
    assert_eq!(cause(open(&keys(), &token, &home, now(), token.len() - 1)), Some(too_large));
    // A long target counts too, and a tiny bound fits nothing.
    let long = "x".repeat(LIMIT);
    let far = Binding { target: &long, ..home };
    assert_eq!(seal(&keys(), &claims(far, b""), [1; 32], LIMIT), Err(SealError::TooLarge { limit: LIMIT }));
    for limit in 0..80 {
        assert_eq!(seal(&keys(), &claims(home, b""), [1; 32], limit), Err(SealError::TooLarge { limit }));
    }
}

#[test]
fn arguments_without_a_digest_are_not_sealed_and_open_nothing() {
    let deep = json(&format!("{}1{}", "[".repeat(200), "]".repeat(200)));
    let result = seal(&keys(), &claims(binding(&deep), b""), [1; 32], LIMIT);
    assert!(matches!(result, Err(SealError::Arguments(CanonicalError::TooDeep { .. }))));
    let arguments = json("{}");
    let token = seal(&keys(), &claims(binding(&arguments), b""), [1; 32], LIMIT).expect("sealed");
    assert_eq!(cause(open(&keys(), &token, &binding(&deep), now(), LIMIT)), Some(RefusedCause::OtherArguments));
}

#[test]
fn debug_and_errors_show_no_secret() {
    let keys = SealKeys::new([171; 32]).accepting([205; 32]);
    assert_eq!(format!("{keys:?}"), "SealKeys { accepted: 1, .. }");
    let arguments = json("{}");
    let token = seal(&keys, &claims(binding(&arguments), b"SECRET"), [1; 32], LIMIT).expect("sealed");
    let opened = open(&keys, &token, &binding(&arguments), now(), LIMIT).expect("opened");
    let debug = format!("{opened:?}");
    assert!(debug.contains("6 bytes") && !debug.contains("SECRET"), "{debug}");
    let arguments = json(r#"{"pin":1234}"#);
    let debug = format!("{:?}", claims(binding(&arguments), b"SECRET"));
    assert!(debug.contains("tools/call") && debug.contains("6 bytes"), "{debug}");
    assert!(!debug.contains("SECRET") && !debug.contains("ada") && !debug.contains("1234"), "{debug}");
}

#[test]
fn a_payload_has_one_spelling() {
    let arguments = json("{}");
    let digest = Digest::of(&arguments).expect("a digest");
    let bytes = payload::encode(&claims(binding(&arguments), b"s"), digest).expect("encoded");
    assert!(payload::decode(&bytes).is_some());
    for length in 0..bytes.len() {
        assert!(payload::decode(&bytes[..length]).is_none());
    }
    assert!(payload::decode(&[&bytes[..], b"\0"].concat()).is_none());
}

proptest! {
    #[test]
    fn any_claims_come_back(
        method in ".{0,8}", target in ".{0,8}", principal in proptest::option::of(".{0,8}"),
        audience in proptest::option::of(".{0,8}"), state in proptest::collection::vec(any::<u8>(), 0..200),
        memo in proptest::collection::vec(any::<u8>(), 0..200), token_id: TokenId, round: u32,
        expires in 1..u64::MAX, random: [u8; 32],
    ) {
        let arguments = Json::EMPTY_OBJECT;
        let binding = Binding {
            method: &method,
            target: &target,
            arguments: &arguments,
            principal: principal.as_deref(),
            audience: audience.as_deref(),
        };
        let expires = Unix::from_millis(expires);
        let claims = Claims { binding, expires, token_id, round, state: &state, memo: &memo };
        let token = seal(&keys(), &claims, random, LIMIT).expect("sealed");
        let before = Unix::from_millis(expires.as_millis() - 1);
        let opened = open(&keys(), &token, &binding, before, LIMIT).expect("opened");
        let expected = Opened { state: state.into(), memo: memo.into(), token_id, round, expires };
        prop_assert_eq!(opened, expected);
    }

    #[test]
    fn no_text_panics_or_opens(text in "[A-Za-z0-9_\\-=\u{80}-\u{ff}]{0,200}") {
        let arguments = Json::EMPTY_OBJECT;
        prop_assert!(open(&keys(), &text, &binding(&arguments), now(), LIMIT).is_err());
    }
}
