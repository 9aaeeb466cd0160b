//! Whether a scenario passed, from the checks that the suite has written. Stricter than the suite:
//!
//! | found | verdict |
//! |---|---|
//! | a check that failed or warned | failed |
//! | a check that was skipped, but for those in [`SKIPS`] | failed |
//! | no check that succeeded | failed |
//! | one of [`NEEDED`] that did not succeed | failed |
//! | the client did not say that it was done, or the suite was not content with how it ended | failed |

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::suite::Ended;
use super::{Role, unusable};
use crate::cli::Error;

/// Checks that the suite only reports on, where we want more: that the stream was really closed and resumed.
const NEEDED: &[(&str, &[&str])] = &[
    ("server-sse-polling", &["server-sse-priming-event", "server-sse-retry-field", "server-sse-disconnect-resume"]),
    ("sse-retry", &["client-sse-graceful-reconnect", "client-sse-retry-timing", "client-sse-last-event-id"]),
];

/// Checks that may be skipped: a scenario, and how the suite says so. The handshake is of the legacy era, so that a
/// modern client does not exercise it.
const SKIPS: &[(&str, &str)] = &[
    ("http-standard-headers", "Client did not send a initialize request"),
    ("http-standard-headers", "Client did not send a notifications/initialized request"),
];

/// Written by the client as its last line when all went well.
const DONE: &str = "done";

/// By scenario.
pub(super) type Verdicts = BTreeMap<String, Verdict>;

/// What came of one scenario in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Checks that succeeded.
    pub(super) succeeded: usize,
    /// What went wrong.
    pub(super) problems: Vec<String>,
}

impl Verdict {
    /// The scenario left no results.
    pub(super) fn missing() -> Self {
        Self { succeeded: 0, problems: vec!["there are no results".to_owned()] }
    }

    pub(super) fn passed(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds how the run of the suite ended, if that tells more than the checks.
    pub(super) fn note_end(&mut self, ended: Ended) {
        match ended {
            Ended::Late => self.problems.push("it took too long and was stopped".to_owned()),
            Ended::Badly if self.passed() => self.problems.push("the suite is not content".to_owned()),
            Ended::Well | Ended::Badly => {}
        }
    }
}

/// Reads the results below a folder. A scenario's name may hold slashes; the suite adds the time to it.
pub(super) fn read_all(folder: &Path, role: Role) -> Result<Verdicts, Error> {
    let mut verdicts = Verdicts::new();
    collect(folder, "", role, &mut verdicts)?;
    Ok(verdicts)
}

fn collect(folder: &Path, above: &str, role: Role, verdicts: &mut Verdicts) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(|error| unusable(folder, &error))?.flatten() {
        let path = entry.path();
        if !path.is_dir() {
            continue;
        }
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        let checks = path.join("checks.json");
        if !checks.exists() {
            collect(&path, &format!("{name}/"), role, verdicts)?;
            continue;
        }
        let text = fs::read_to_string(&checks).map_err(|error| unusable(&checks, &error))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| Error::failed(format!("{} is no JSON: {error}", checks.display())))?;
        let scenario = scenario_of(&name, role);
        let mut verdict = judge(scenario, &value);
        if role == Role::Client && !said_done(&path) {
            verdict.problems.push("the client did not end well".to_owned());
        }
        verdicts.insert(scenario.to_owned(), verdict);
    }
    Ok(())
}

/// `server-tools-list-2026-11-30T00-00-00-000Z` is `tools-list`.
fn scenario_of(folder: &str, role: Role) -> &str {
    let name = if role == Role::Server { folder.strip_prefix("server-").unwrap_or(folder) } else { folder };
    let stamp = "-0000-00-00T00-00-00-000Z".len();
    name.len().checked_sub(stamp).and_then(|end| name.get(..end)).unwrap_or(name)
}

fn said_done(folder: &Path) -> bool {
    fs::read_to_string(folder.join("stdout.txt")).is_ok_and(|text| text.lines().last() == Some(DONE))
}

fn judge(scenario: &str, checks: &Value) -> Verdict {
    let checks = checks.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
    let is = |check: &Value, status: &str| check["status"].as_str() == Some(status);
    let mut verdict =
        Verdict { succeeded: checks.iter().filter(|check| is(check, "SUCCESS")).count(), ..Verdict::default() };
    for check in checks {
        let id = text(check, "id");
        let why = check["errorMessage"].as_str().or_else(|| check["description"].as_str()).unwrap_or_default();
        let allowed = SKIPS.iter().any(|(of, start)| *of == scenario && why.starts_with(start));
        let what = match check["status"].as_str() {
            Some("SUCCESS" | "INFO") => continue,
            Some("SKIPPED") if allowed => continue,
            Some("FAILURE") => "failed",
            Some("WARNING") => "warned",
            Some("SKIPPED") => "skipped",
            _ => "of an unknown status",
        };
        verdict.problems.push(format!("{id} {what}: {}", why.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    if verdict.succeeded == 0 {
        verdict.problems.push("no check succeeded".to_owned());
    }
    let needed = NEEDED.iter().filter(|(of, _)| *of == scenario).flat_map(|(_, ids)| *ids);
    for id in needed {
        if !checks.iter().any(|check| is(check, "SUCCESS") && check["id"].as_str() == Some(id)) {
            verdict.problems.push(format!("{id} did not succeed"));
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(scenario: &str, checks: &[(&str, &str)]) -> Vec<String> {
        let checks: Vec<Value> = checks.iter().map(|(id, status)| json!({"id": id, "status": status})).collect();
        judge(scenario, &Value::Array(checks)).problems
    }

    #[test]
    fn names_are_found_in_the_folders_of_the_suite() {
        assert_eq!(scenario_of("server-server-initialize-2026-11-30T00-11-22-333Z", Role::Server), "server-initialize");
        assert_eq!(scenario_of("auth/basic-cimd-2026-11-30T00-11-22-333Z", Role::Client), "auth/basic-cimd");
        assert_eq!(scenario_of("server.log", Role::Server), "server.log");
    }

    #[test]
    fn only_success_and_information_pass() {
        assert_eq!(judged("ping", &[("a", "SUCCESS"), ("b", "INFO")]), Vec::<String>::new());
        for status in ["FAILURE", "WARNING", "SKIPPED", "ODD"] {
            assert_eq!(judged("ping", &[("a", "SUCCESS"), ("b", status)]).len(), 1, "{status}");
        }
        assert_eq!(judged("ping", &[("b", "INFO")]), ["no check succeeded"]);
    }

    #[test]
    fn the_handshake_may_be_skipped_by_a_modern_client_and_nothing_else() {
        let of = |method: &str| {
            let text = format!("Client did not send a {method} request; it was not exercised.");
            let skipped = json!({"id": "headers", "status": "SKIPPED", "description": text});
            judge("http-standard-headers", &json!([{"id": "headers", "status": "SUCCESS"}, skipped])).passed()
        };
        assert!(of("initialize") && of("notifications/initialized"));
        assert!(!of("tools/call"));
    }

    #[test]
    fn what_the_suite_only_reports_may_be_needed() {
        let all = [
            ("client-sse-graceful-reconnect", "SUCCESS"),
            ("client-sse-retry-timing", "INFO"),
            ("client-sse-last-event-id", "SUCCESS"),
        ];
        assert_eq!(judged("sse-retry", &all), ["client-sse-retry-timing did not succeed"]);
    }

    #[test]
    fn a_bad_end_counts_even_if_every_check_passed() {
        let mut verdict = Verdict { succeeded: 1, problems: Vec::new() };
        verdict.note_end(Ended::Well);
        assert!(verdict.passed());
        verdict.note_end(Ended::Badly);
        assert!(!verdict.passed());
    }
}
