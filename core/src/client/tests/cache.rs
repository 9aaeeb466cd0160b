//! Answers that are given twice.

use super::*;
use crate::limits::Limits;

fn read(driver: &mut Driver, uri: &str, options: CallOptions) -> (CallId, Option<Value>) {
    let call = driver.call_with(Request::read_resource(uri), options);
    (call, driver.written.pop())
}

fn contents(ttl: i64, scope: &str) -> Value {
    json!({"resultType": "complete", "contents": [], "ttlMs": ttl, "cacheScope": scope})
}

/// Reads `uri` from the server, which answers with this result.
fn fetch(driver: &mut Driver, uri: &str, options: CallOptions, result: Value) {
    let (call, frame) = read(driver, uri, options);
    driver.result(&frame.unwrap()["id"], result);
    assert!(!driver.done(call).unwrap().is_cached());
}

/// Whether `uri` is read from the cache.
fn cached(driver: &mut Driver, uri: &str, options: CallOptions) -> bool {
    let (call, frame) = read(driver, uri, options);
    if frame.is_none() {
        assert!(driver.done(call).unwrap().is_cached());
        return true;
    }
    driver.client.cancel(driver.now, call, None).unwrap();
    driver.frame();
    driver.event();
    false
}

/// U-53: one request for two reads, until it is stale, or of another authorization context.
#[test]
fn u53_fresh_answers_are_given_again() {
    let mut driver = Driver::modern(config());
    let alice = || CallOptions::new().partition("alice");
    fetch(&mut driver, "a:b", alice(), contents(60_000, "private"));
    assert!(cached(&mut driver, "a:b", alice()));
    // Another context, another URI (M-CACHE-02, -13).
    assert!(!cached(&mut driver, "a:b", CallOptions::new().partition("bob")));
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
    assert!(!cached(&mut driver, "a:c", alice()));
    // M-CACHE-05: fresh for that long, and no longer.
    driver.pass(millis(59_999));
    assert!(cached(&mut driver, "a:b", alice()));
    driver.pass(millis(1));
    assert!(!cached(&mut driver, "a:b", alice()));
    // Public answers are anybody's.
    fetch(&mut driver, "a:p", alice(), contents(60_000, "public"));
    assert!(cached(&mut driver, "a:p", CallOptions::new().partition("bob")));
    driver.quiet();
}

/// U-53, M-CACHE-14: a notification makes what it is about stale, and nothing else.
#[test]
fn u53_notifications_invalidate() {
    let mut driver = Driver::modern(config());
    let plain = CallOptions::new;
    fetch(&mut driver, "a:b", plain(), contents(60_000, "private"));
    fetch(&mut driver, "a:c", plain(), contents(60_000, "private"));
    driver.notify("notifications/resources/updated", json!({"uri": "a:b"}));
    driver.event();
    assert!(!cached(&mut driver, "a:b", plain()));
    assert!(cached(&mut driver, "a:c", plain()));
    let lists = [
        (List::Tools, "tools", "notifications/tools/list_changed"),
        (List::Prompts, "prompts", "notifications/prompts/list_changed"),
        (List::Resources, "resources", "notifications/resources/list_changed"),
        (List::Templates, "resourceTemplates", "notifications/resources/list_changed"),
    ];
    for (list, member, method) in lists {
        for expected in [true, false] {
            let call = driver.call(Request::list(list, None));
            if let Some(frame) = driver.written.pop() {
                driver.result(&frame["id"], json!({"ttlMs": 1_000, member: []}));
            }
            driver.done(call).unwrap();
            let call = driver.call(Request::list(list, None));
            assert_eq!(driver.done(call).unwrap().is_cached(), expected || driver.written.pop().is_none());
            driver.notify(method, json!({}));
            driver.event();
            if !expected {
                let call = driver.call(Request::list(list, None));
                assert!(driver.written.pop().is_some(), "{list:?}");
                driver.client.cancel(driver.now, call, None).unwrap();
                driver.frame();
                driver.event();
            }
        }
    }
    driver.quiet();
}

/// M-CACHE-14: an answer that was on its way when something changed is not kept.
#[test]
fn answers_that_crossed_a_change_are_not_kept() {
    let mut driver = Driver::modern(config());
    let (call, frame) = read(&mut driver, "a:b", CallOptions::new());
    driver.notify("notifications/resources/updated", json!({"uri": "a:b"}));
    driver.event();
    driver.result(&frame.unwrap()["id"], contents(60_000, "private"));
    assert!(driver.done(call).is_ok());
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
}

/// U-53, M-CACHE-03: what took rounds of input is never kept, whoever drove them.
#[test]
fn u53_results_of_rounds_are_never_kept() {
    let mut driver = Driver::modern(config());
    let (call, frame) = read(&mut driver, "a:b", CallOptions::new());
    driver.result(&frame.unwrap()["id"], json!({"resultType": "input_required", "requestState": "s"}));
    let retry = driver.frame();
    driver.result(&retry["id"], contents(60_000, "public"));
    assert!(driver.done(call).is_ok());
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));

    let request = Request::custom("resources/read", raw(json!({"uri": "a:b", "requestState": "s"}))).unwrap();
    let call = driver.call(request);
    let frame = driver.frame();
    assert_eq!(frame["params"]["requestState"], "s");
    driver.result(&frame["id"], contents(60_000, "public"));
    assert!(driver.done(call).is_ok());
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
}

/// U-53, M-CACHE-04, -06, -07: zero, absent and negative times are one; the legacy era has none.
#[test]
fn u53_nothing_is_kept_without_a_time() {
    let mut driver = Driver::modern(config());
    for result in
        [contents(0, "public"), contents(-5, "public"), json!({"contents": []}), json!({"contents": [], "ttlMs": "9"})]
    {
        fetch(&mut driver, "a:b", CallOptions::new(), result);
        assert!(!cached(&mut driver, "a:b", CallOptions::new()));
    }
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    fetch(&mut driver, "a:b", CallOptions::new(), contents(60_000, "public"));
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
    let mut driver = Driver::modern(config().cache(false));
    fetch(&mut driver, "a:b", CallOptions::new(), contents(60_000, "public"));
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
}

/// The cache can be refreshed and passed by.
#[test]
fn refresh_and_bypass() {
    let mut driver = Driver::modern(config());
    fetch(&mut driver, "a:b", CallOptions::new().cache(CacheUse::Bypass), contents(60_000, "public"));
    assert!(!cached(&mut driver, "a:b", CallOptions::new()));
    fetch(&mut driver, "a:b", CallOptions::new().cache(CacheUse::Refresh), contents(60_000, "public"));
    assert!(cached(&mut driver, "a:b", CallOptions::new()));
    assert!(!cached(&mut driver, "a:b", CallOptions::new().cache(CacheUse::Refresh)));
    // Params are compared by value.
    let call =
        driver.call(Request::custom("resources/read", Json::from_text(r#"{ "uri" : "a\u003ab" }"#).unwrap()).unwrap());
    assert!(driver.done(call).unwrap().is_cached());
}

/// Pages are kept one by one (M-CACHE-15), walks use them, and a refused cursor drops them all (M-CACHE-17).
#[test]
fn pages_are_kept_one_by_one() {
    let mut driver = Driver::modern(config());
    let page = |name: &str, next: Value, ttl: u32| json!({"tools": [{"name": name, "inputSchema": {}}], "nextCursor": next, "ttlMs": ttl});
    let call = driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    let frame = driver.frame();
    driver.result(&frame["id"], page("a", json!("2"), 60_000));
    let frame = driver.frame();
    driver.result(&frame["id"], page("b", json!(null), 10_000));
    assert_eq!(driver.done(call).unwrap().items().len(), 2);
    let call = driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    assert_eq!(driver.done(call).unwrap().items().len(), 2);
    driver.quiet();
    driver.pass(seconds(10));
    let call = driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    let frame = driver.frame();
    assert_eq!(frame["params"]["cursor"], "2");
    driver.error(&frame["id"], -32602, json!(null));
    assert!(driver.done(call).is_err());
    driver.call(Request::list(List::Tools, None));
    assert!(driver.frame()["params"].get("cursor").is_none());
}

/// A walk over many kept pages needs no stack.
#[test]
fn a_walk_over_many_kept_pages() {
    let mut driver = Driver::modern(config());
    for _ in 0..2 {
        let call = driver.client.walk(driver.now, List::Prompts, CallOptions::new()).unwrap();
        driver.drain();
        let mut page = 0;
        while let Some(frame) = driver.written.pop() {
            page += 1;
            let next = if page < 900 { json!(page.to_string()) } else { json!(null) };
            driver.result(&frame["id"], json!({"prompts": [{"name": "p"}], "nextCursor": next, "ttlMs": 60_000}));
        }
        assert_eq!(driver.done(call).unwrap().items().len(), 900);
    }
    driver.quiet();
}

/// The probe's answer is kept like any other.
#[test]
fn the_answer_to_the_probe_is_kept() {
    let mut driver = Driver::new(config());
    driver.client.connect(driver.now).unwrap();
    let probe = driver.frame();
    driver.result(
        &probe["id"],
        json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 1_000, "cacheScope": "public"}),
    );
    driver.connected();
    let call = driver.call(Request::discover());
    assert!(driver.done(call).unwrap().is_cached());
    driver.quiet();
}

/// The cache is bounded: the oldest leaves first.
#[test]
fn the_cache_is_bounded() {
    let mut limits = Limits::default();
    limits.cache_entries = 2;
    let mut driver = Driver::modern(config().limits(limits));
    for uri in ["a:1", "a:2", "a:3"] {
        fetch(&mut driver, uri, CallOptions::new(), contents(60_000, "private"));
    }
    assert!(!cached(&mut driver, "a:1", CallOptions::new()));
    assert!(cached(&mut driver, "a:2", CallOptions::new()));
    assert!(cached(&mut driver, "a:3", CallOptions::new()));
}
