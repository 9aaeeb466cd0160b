//! `cargo xtask conformance`: the official conformance suite against our server and our client.
//!
//! ```text
//!              ┌ server: one that serves both eras, then one that serves the set's era only
//!   set  ──────┤
//! (revision)   └ client: all scenarios at the same time, then each one alone
//!                      │
//!                      ▼ checks.json of each scenario
//!               verdict: strict ──► baseline ──► table, exit code
//! ```
//!
//! | module | decides |
//! |---|---|
//! | [`suite`] | how the suite is installed and started, and for how long it may run |
//! | [`server`] | how the server is started and ended |
//! | [`verdict`] | whether a scenario passed |
//! | [`baseline`] | which failures are known, and whose they are |
//! | [`table`] | what is printed |

mod baseline;
mod server;
mod suite;
mod table;
mod verdict;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{Args, Error};
use crate::process::{Run, metadata};
use crate::report::Tally;
use crate::workspace::Workspace;

use baseline::Baseline;
use server::Served;
use suite::Suite;
use table::Row;
use verdict::Verdict;

pub(crate) const HELP: &str = "
cargo xtask conformance [--front tokio|async-std] [--role server|client] [--requirements 2025-11-25|2026-07-28|all]
                        [--scenario NAME]

Runs the official conformance suite (npm, pinned in conformance/suite) against everything-server and everything-client.
Strict: a scenario passes only if no check failed or warned, at least one succeeded, none was skipped, and the client
ended well and in time. Client scenarios run all at once and each one alone; server scenarios run against a server of
both eras and against one of the set's era only.

Failures that conformance/baseline.txt names with a reason are known; an entry that is known no more fails.

  --front F         the front under test: tokio or async-std; one after the other if not given
  --role R          server or client; both if not given
  --requirements S  the set of a revision, or all, which is what is run if not given
  --scenario NAME   one scenario only

Packages are installed below .cache, results are written below target/conformance.
Exit codes: 0 all held, 1 something did not hold, 2 the command line was wrong.
";

/// Where the packages of the suite are named.
pub(crate) const SUITE: &str = "conformance/suite";
const BASELINE: &str = "conformance/baseline.txt";
const RESULTS: &str = "target/conformance";

/// Which front of ours is under test. Both have the same baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Tokio,
    AsyncStd,
}

impl Front {
    const ALL: [Self; 2] = [Self::Tokio, Self::AsyncStd];

    /// As the fixtures call its runtime.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tokio => "tokio",
            Self::AsyncStd => "async-std",
        }
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|front| front.name() == text);
        found.ok_or_else(|| Error::Usage(format!("there is no front `{text}`, only: {names}")))
    }
}

/// Which side of ours is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Server,
    Client,
}

impl Role {
    const ALL: [Self; 2] = [Self::Server, Self::Client];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.to_string() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// The sets that the suite scores, each run at the revision that it is named after.
const SETS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What is to be run.
struct Plan {
    fronts: Vec<Front>,
    roles: Vec<Role>,
    sets: Vec<&'static str>,
    scenario: Option<String>,
    /// Which packages the binaries are built with: features of dependencies depend on it.
    packages: &'static [&'static str],
}

/// The least that must be compiled for the binaries.
const ALONE: &[&str] = &["--package", "mcp-sansio-conformance"];

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    let plan = plan(args)?;
    execute(workspace, &plan, &mut Tally::default())
}

/// Everything, as a step of `cargo xtask test`: built as the tests are, so that nothing is compiled twice.
pub(crate) fn check(workspace: &Workspace, tally: &mut Tally) -> Result<(), Error> {
    let plan = Plan {
        fronts: Front::ALL.to_vec(),
        roles: Role::ALL.to_vec(),
        sets: SETS.to_vec(),
        scenario: None,
        packages: crate::test::EVERYTHING,
    };
    execute(workspace, &plan, tally)
}

fn plan(mut args: Args) -> Result<Plan, Error> {
    let fronts = match args.value("--front")? {
        None => Front::ALL.to_vec(),
        Some(name) => vec![Front::parse(&name)?],
    };
    let roles = match args.value("--role")? {
        None => Role::ALL.to_vec(),
        Some(name) => vec![Role::parse(&name).ok_or_else(|| Error::Usage(format!("there is no role `{name}`")))?],
    };
    let sets = match args.value("--requirements")?.as_deref() {
        None | Some("all") => SETS.to_vec(),
        Some(name) => match SETS.into_iter().find(|set| *set == name) {
            Some(set) => vec![set],
            None => return Err(Error::Usage(format!("there is no set `{name}`, only: {}, all", SETS.join(", ")))),
        },
    };
    let scenario = args.value("--scenario")?;
    args.finish()?;
    Ok(Plan { fronts, roles, sets, scenario, packages: ALONE })
}

fn execute(workspace: &Workspace, plan: &Plan, tally: &mut Tally) -> Result<(), Error> {
    let baseline = Baseline::parse(&workspace.read(BASELINE)?)?;
    let suite = Suite::install(workspace)?;
    let binaries = build(workspace, plan.packages)?;
    let results = workspace.path(RESULTS);
    // Results of an earlier run must not count for this one.
    if results.exists() {
        fs::remove_dir_all(&results).map_err(|error| unusable(&results, &error))?;
    }
    let mut complaints = Vec::new();
    for front in &plan.fronts {
        let results = results.join(front.name());
        let rows = run_front(&suite, &binaries, &results, plan, *front)?;
        let judged = baseline.judge(&rows, plan.scenario.is_none());
        println!("\n  front {}\n{}", front.name(), table::text(&rows, &judged));
        tally.passed += judged.held as u64;
        tally.failed += judged.complaints.len() as u64;
        complaints.extend(judged.complaints.iter().map(|complaint| format!("{}: {complaint}", front.name())));
    }
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Error::failed(format!("conformance:\n  {}\nDetails: {}", complaints.join("\n  "), results.display())))
}

/// Every set and role that was asked for, on one front.
fn run_front(suite: &Suite, binaries: &Path, results: &Path, plan: &Plan, front: Front) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for set in &plan.sets {
        let all = suite.scenarios(set)?;
        for role in &plan.roles {
            let wanted: Vec<String> = all
                .iter()
                .filter(|(of, name)| of == role && plan.scenario.as_ref().is_none_or(|only| only == name))
                .map(|(_, name)| name.clone())
                .collect();
            if wanted.is_empty() {
                continue;
            }
            println!("\n  {}, {role}, {set}: {} scenarios", front.name(), wanted.len());
            let leg = Leg { suite, binaries, results, front, set, whole: plan.scenario.is_none() };
            rows.extend(match role {
                Role::Server => leg.server(&wanted)?,
                Role::Client => leg.client(&wanted)?,
            });
        }
    }
    if rows.is_empty() {
        return Err(Error::Usage("no set has such a scenario".to_owned()));
    }
    Ok(rows)
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::failed(format!("{}: {error}", path.display()))
}

/// Builds the binaries, and answers where they are.
fn build(workspace: &Workspace, packages: &[&str]) -> Result<PathBuf, Error> {
    Run::cargo(workspace, "build").args(packages).args(crate::test::STARTED).go()?;
    let metadata = metadata(workspace, "--no-deps")?;
    let target =
        metadata["target_directory"].as_str().ok_or_else(|| Error::failed("cargo names no target directory"))?;
    Ok(Path::new(target).join("debug"))
}

/// One role and one set, on one front.
struct Leg<'a> {
    suite: &'a Suite,
    binaries: &'a Path,
    results: &'a Path,
    front: Front,
    set: &'static str,
    /// Whether the whole set is wanted, or one scenario.
    whole: bool,
}

impl Leg<'_> {
    fn folder(&self, role: Role, pass: &str) -> PathBuf {
        self.results.join(format!("{role}-{}-{pass}", self.set))
    }

    /// The scenarios against a server of both eras, and against one that has the set's era only.
    fn server(&self, wanted: &[String]) -> Result<Vec<Row>, Error> {
        let only = if self.set < SETS[1] { "--legacy-only" } else { "--modern-only" };
        let mut passes = Vec::new();
        let runtime = ["--runtime", self.front.name()];
        for (pass, options) in [("both-eras", &runtime[..]), ("one-era", &[runtime[0], runtime[1], only][..])] {
            let folder = self.folder(Role::Server, pass);
            let served = Served::start(&self.binaries.join("everything-server"), options, &folder)?;
            if self.whole {
                self.suite.server_set(&served, self.set, wanted.len(), &folder)?;
            } else {
                for scenario in wanted {
                    self.suite.server_scenario(&served, self.set, scenario, &folder)?;
                }
            }
            served.still_runs()?;
            passes.push(verdict::read_all(&folder, Role::Server)?);
        }
        Ok(self.rows(Role::Server, wanted, passes))
    }

    /// The scenarios all at the same time, and each one alone.
    fn client(&self, wanted: &[String]) -> Result<Vec<Row>, Error> {
        let mut passes = Vec::new();
        if self.whole {
            let folder = self.folder(Role::Client, "together");
            self.suite.client_set(self.binaries, self.front, self.set, wanted.len(), &folder)?;
            passes.push(verdict::read_all(&folder, Role::Client)?);
        }
        let folder = self.folder(Role::Client, "alone");
        let ended = self.suite.client_scenarios(self.binaries, self.front, self.set, wanted, &folder)?;
        let mut alone = verdict::read_all(&folder, Role::Client)?;
        for (scenario, ended) in wanted.iter().zip(ended) {
            alone.entry(scenario.clone()).or_insert_with(Verdict::missing).note_end(ended);
        }
        passes.push(alone);
        Ok(self.rows(Role::Client, wanted, passes))
    }

    fn rows(&self, role: Role, wanted: &[String], passes: Vec<verdict::Verdicts>) -> Vec<Row> {
        let verdicts = |scenario: &String| {
            let of_pass = |pass: &verdict::Verdicts| pass.get(scenario).cloned().unwrap_or_else(Verdict::missing);
            passes.iter().map(of_pass).collect()
        };
        let row =
            |scenario: &String| Row { role, set: self.set, scenario: scenario.clone(), verdicts: verdicts(scenario) };
        wanted.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Result<Plan, Error> {
        plan(Args::new(line.split_whitespace().map(str::to_owned).collect()))
    }

    #[test]
    fn everything_is_run_unless_less_is_asked_for() {
        let all = planned("").unwrap();
        assert_eq!((all.roles, all.sets, all.scenario), (Role::ALL.to_vec(), SETS.to_vec(), None));
        assert_eq!(
            (all.fronts, planned("--front async-std").unwrap().fronts),
            (Front::ALL.to_vec(), vec![Front::AsyncStd])
        );
        let some = planned("--front tokio --role client --requirements 2026-07-28 --scenario tools_call").unwrap();
        assert_eq!((some.roles, some.sets), (vec![Role::Client], vec!["2026-07-28"]));
        assert_eq!(some.scenario.as_deref(), Some("tools_call"));
        assert_eq!(planned("--requirements=all").unwrap().sets, SETS);
    }

    #[test]
    fn what_there_is_not_is_refused() {
        for line in ["--front asyncio", "--role proxy", "--requirements 2024-11-05", "--rol server"] {
            assert!(matches!(planned(line), Err(Error::Usage(_))), "{line}");
        }
    }
}
