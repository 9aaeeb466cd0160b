//! Whole lists.

use super::*;
use crate::limits::{Bound, Limits};
use crate::model::Tool;

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn walk(driver: &mut Driver, list: List) -> CallId {
    let call = driver.client.walk(driver.now, list, CallOptions::new()).unwrap();
    driver.drain();
    call
}

/// O14, M-PAGE-07: `""` is a cursor; only an absent one ends the list.
#[test]
fn o14_an_empty_cursor_is_a_cursor() {
    let mut driver = Driver::modern(config());
    let call = walk(&mut driver, List::Tools);
    let first = driver.frame();
    assert_eq!(first["method"], "tools/list");
    assert!(first["params"].get("cursor").is_none());
    driver.result(
        &first["id"],
        json!({"resultType": "complete", "tools": [tool("a")], "nextCursor": "", "ttlMs": 0, "cacheScope": "private"}),
    );
    let second = driver.frame();
    assert_eq!(second["params"]["cursor"], "");
    assert_ne!(second["id"], first["id"]);
    driver.result(
        &second["id"],
        json!({"resultType": "complete", "tools": [tool("b")], "nextCursor": null, "ttlMs": 0, "cacheScope": "private"}),
    );
    let answer = driver.done(call).unwrap();
    let tools: Vec<Tool> = answer.parse_items().unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(answer.json(), raw(json!({"tools": [tool("a"), tool("b")]})));
    driver.quiet();
}

/// M-PAGE-06: the cursor goes back as the token that came.
#[test]
fn cursors_go_back_as_they_came() {
    let mut driver = Driver::legacy(config(), Version::V2025_06_18);
    walk(&mut driver, List::Templates);
    let frame = driver.frame();
    assert_eq!(frame["method"], "resources/templates/list");
    driver.feed(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"resourceTemplates\":[],\"nextCursor\":\"\\u00e9\\/\"}}}}\n",
            frame["id"]
        )
        .as_bytes(),
    );
    // Written already, so that only the value can be compared; the token is the machine's own business.
    assert_eq!(driver.frame()["params"]["cursor"], "é/");
}

/// Design 8, 21: a list that never ends is ended by bounds, and what was read is not lost.
#[test]
fn walks_are_bounded() {
    let mut limits = Limits::default();
    limits.walk_pages = 3;
    limits.walk_items = 100;
    let mut driver = Driver::modern(config().limits(limits.clone()));
    let call = walk(&mut driver, List::Prompts);
    for _ in 0..3 {
        let frame = driver.frame();
        driver.result(&frame["id"], json!({"prompts": [{"name": "p"}], "nextCursor": "same"}));
    }
    let Err(CallError::BoundExceeded { bound, limit, partial }) = driver.done(call) else { panic!() };
    assert_eq!((bound, limit, partial.len()), (Bound::WalkPages, 3, 3));
    driver.quiet();

    limits.walk_items = 5;
    let mut driver = Driver::modern(config().limits(limits));
    let call = walk(&mut driver, List::Resources);
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"resources": vec![json!({"uri": "a:b", "name": "n"}); 6]}));
    let Err(CallError::BoundExceeded { bound, limit, partial }) = driver.done(call) else { panic!() };
    assert_eq!((bound, limit, partial.len()), (Bound::WalkItems, 5, 5));
    driver.quiet();
}

/// Few items can be many bytes.
#[test]
fn walks_are_bounded_in_bytes() {
    let mut limits = Limits::default();
    limits.walk_bytes = 2_500;
    let mut driver = Driver::modern(config().limits(limits));
    let call = walk(&mut driver, List::Prompts);
    for _ in 0..3 {
        let frame = driver.frame();
        let prompt = json!({"name": "p", "description": "d".repeat(1_000)});
        driver.result(&frame["id"], json!({"prompts": [prompt], "nextCursor": "same"}));
    }
    let Err(CallError::BoundExceeded { bound, limit, partial }) = driver.done(call) else { panic!() };
    assert_eq!((bound, limit, partial.len()), (Bound::WalkBytes, 2_500, 3));
    driver.quiet();
}

/// Pages that are none end the walk.
#[test]
fn pages_that_are_none_are_invalid() {
    for page in [json!({}), json!({"tools": {}}), json!({"tools": [], "nextCursor": 5})] {
        let mut driver = Driver::modern(config());
        let call = walk(&mut driver, List::Tools);
        let frame = driver.frame();
        driver.result(&frame["id"], page);
        assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
        driver.quiet();
    }
}

/// A walk has one name, whatever its pages: it can be cancelled, times out, and ends with an error of the server.
#[test]
fn a_walk_is_one_call() {
    let mut driver = Driver::modern(config());
    let call = walk(&mut driver, List::Tools);
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"tools": [tool("a")], "nextCursor": "2"}));
    let frame = driver.frame();
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.frame()["params"]["requestId"], frame["id"]);
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);

    let call = walk(&mut driver, List::Tools);
    let frame = driver.frame();
    driver.pass(seconds(59));
    driver.result(&frame["id"], json!({"tools": [], "nextCursor": "2"}));
    driver.frame();
    driver.pass(seconds(59));
    driver.quiet();
    driver.pass(seconds(1));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    driver.frame();

    let call = walk(&mut driver, List::Tools);
    let frame = driver.frame();
    driver.error(&frame["id"], -32603, json!(null));
    assert!(matches!(driver.done(call), Err(CallError::Remote(_))));
    driver.quiet();
}

/// A page on its own.
#[test]
fn a_single_page() {
    let mut driver = Driver::modern(config());
    let call = driver.call(Request::list(List::Tools, None));
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"tools": [tool("a")], "nextCursor": ""}));
    let answer = driver.done(call).unwrap();
    assert_eq!((answer.items().len(), answer.next_cursor().as_deref()), (1, Some("")));
}
