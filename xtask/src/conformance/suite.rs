//! The suite as a program: installed from npm, run by a Node that is new enough, never for longer than it may.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::server::Served;
use super::{Front, Role, SUITE, unusable};
use crate::cli::Error;
use crate::peers;
use crate::process::Run;
use crate::workspace::Workspace;

/// The oldest Node that the suite runs on.
const NODE: u32 = 22;
/// How long one scenario may take.
const SCENARIO: Duration = Duration::from_secs(30);
/// What the suite itself may take beside.
const OVERHEAD: Duration = Duration::from_secs(30);
/// How many scenarios run at the same time when each runs alone.
const WORKERS: usize = 4;
const POLL: Duration = Duration::from_millis(20);

/// An installed suite.
pub(super) struct Suite {
    node: PathBuf,
    home: PathBuf,
}

/// How a run of the suite ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All scenarios were judged as passed, by the suite's own rules.
    Well,
    /// They were not.
    Badly,
    /// It took too long and was stopped.
    Late,
}

impl Suite {
    pub(super) fn install(workspace: &Workspace) -> Result<Self, Error> {
        let new_enough = node_of(workspace).is_some_and(|version| version >= NODE);
        let options: &[&str] = if new_enough { &["--omit=dev"] } else { &[] };
        let home = peers::install_packages(workspace, SUITE, "conformance", options)?;
        let node = if new_enough { PathBuf::from("node") } else { home.join("node_modules/node/bin/node") };
        if !Run::new(workspace, &node).args(["--version"]).works() {
            let advice = "npm may have been told not to run the scripts of packages";
            return Err(Error::failed(format!("`{}` does not work: {advice}; or install Node {NODE}", node.display())));
        }
        Ok(Self { node, home })
    }

    /// Node itself with what must be loaded first, and the suite.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg("--require")
            .arg(self.home.join("loopback.cjs"))
            .arg(self.home.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
            .stdin(Stdio::null());
        command
    }

    /// The scenarios of a set, those included that it does not score.
    pub(super) fn scenarios(&self, set: &str) -> Result<Vec<(Role, String)>, Error> {
        let output = self.command().args(["list", "--requirements", set]).output();
        let output = output.map_err(|error| unusable(&self.node, &error))?;
        let found = listed(&String::from_utf8_lossy(&output.stdout));
        if !output.status.success() || found.is_empty() {
            return Err(Error::failed(format!("the suite does not list the set {set}")));
        }
        Ok(found)
    }

    pub(super) fn server_set(&self, served: &Served, set: &str, count: usize, folder: &Path) -> Result<Ended, Error> {
        let mut command = self.command();
        command.args(["server", "--url", &served.url, "--requirements", set]);
        self.bounded(command, folder, "suite", SCENARIO * u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(super) fn server_scenario(
        &self,
        served: &Served,
        set: &str,
        scenario: &str,
        folder: &Path,
    ) -> Result<Ended, Error> {
        let mut command = self.command();
        command.args(["server", "--url", &served.url, "--spec-version", set, "--force", "--scenario", scenario]);
        self.bounded(command, folder, "suite", SCENARIO)
    }

    pub(super) fn client_set(
        &self,
        binaries: &Path,
        front: Front,
        set: &str,
        count: usize,
        folder: &Path,
    ) -> Result<Ended, Error> {
        let mut command = self.command();
        self.client(&mut command, binaries, front, "")?.args(["--requirements", set]);
        println!(
            "  $ conformance client --command everything-client --requirements {set}   ({count} at the same time)"
        );
        self.bounded(command, folder, "suite", SCENARIO)
    }

    /// Each scenario with a run of the suite of its own. The client is told the revision, where in the set it finds
    /// out by itself.
    pub(super) fn client_scenarios(
        &self,
        binaries: &Path,
        front: Front,
        set: &str,
        wanted: &[String],
        folder: &Path,
    ) -> Result<Vec<Ended>, Error> {
        println!("  $ conformance client --command 'everything-client --pinned' --scenario …   ({WORKERS} at a time)");
        let next = AtomicUsize::new(0);
        let ended: Mutex<Vec<Option<Result<Ended, Error>>>> = Mutex::new(wanted.iter().map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..WORKERS.min(wanted.len()) {
                scope.spawn(|| {
                    while let Some((at, scenario)) = {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        wanted.get(at).map(|scenario| (at, scenario))
                    } {
                        let outcome = self.client_scenario(binaries, front, set, scenario, folder);
                        if let Ok(mut ended) = ended.lock() {
                            ended[at] = Some(outcome);
                        }
                    }
                });
            }
        });
        let ended = ended.into_inner().map_err(|_| Error::failed("a run of the suite panicked"))?;
        ended
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err(Error::failed("a scenario was not run"))))
            .collect()
    }

    fn client_scenario(
        &self,
        binaries: &Path,
        front: Front,
        set: &str,
        scenario: &str,
        folder: &Path,
    ) -> Result<Ended, Error> {
        let mut command = self.command();
        self.client(&mut command, binaries, front, " --pinned")?;
        command.args(["--spec-version", set, "--force", "--scenario", scenario]);
        self.bounded(command, folder, &scenario.replace('/', "-"), SCENARIO)
    }

    /// The suite splits the command at spaces and hands it to a shell: the binary is found by the path.
    fn client<'c>(
        &self,
        command: &'c mut Command,
        binaries: &Path,
        front: Front,
        options: &str,
    ) -> Result<&'c mut Command, Error> {
        let line = format!("everything-client --runtime {}{options}", front.name());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(binaries.to_owned()).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).map_err(|error| Error::failed(error.to_string()))?;
        Ok(command.args(["client", "--command", &line]).env("PATH", path))
    }

    /// Runs to the end, but no longer than `bound` and what the suite needs for itself. What it says is kept.
    fn bounded(&self, mut command: Command, folder: &Path, log: &str, bound: Duration) -> Result<Ended, Error> {
        fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
        let log = folder.join(format!("{log}.log"));
        let output = File::create(&log).map_err(|error| unusable(&log, &error))?;
        let errors = output.try_clone().map_err(|error| unusable(&log, &error))?;
        command.args(["--timeout", &SCENARIO.as_millis().to_string(), "-o"]).arg(folder);
        let mut child = command.stdout(output).stderr(errors).spawn().map_err(|error| unusable(&self.node, &error))?;
        let deadline = Instant::now() + bound + OVERHEAD;
        loop {
            if let Some(status) = child.try_wait().map_err(|error| unusable(&self.node, &error))? {
                return Ok(ended(status));
            }
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Ended::Late);
            }
            std::thread::sleep(POLL);
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
    if status.success() { Ended::Well } else { Ended::Badly }
}

/// The major version of the machine's Node.
fn node_of(workspace: &Workspace) -> Option<u32> {
    if !Run::new(workspace, "node").args(["--version"]).works() {
        return None;
    }
    major(&Run::new(workspace, "node").args(["--version"]).output().ok()?)
}

fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Reads the suite's list: scored scenarios stand under their role, the others name it.
fn listed(text: &str) -> Vec<(Role, String)> {
    let mut role = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            let (name, named) = match item.split_once(" [") {
                Some((name, named)) => (name, Role::parse(named.trim_end_matches(']'))),
                None => (item, role),
            };
            found.extend(named.map(|role| (role, name.to_owned())));
        } else if line.starts_with("Server scenarios") {
            role = Some(Role::Server);
        } else if line.starts_with("Client scenarios") {
            role = Some(Role::Client);
        } else if !line.starts_with(' ') && !line.is_empty() {
            role = None;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scored_and_other_scenarios_are_read_from_the_list() {
        let text = "Required for 2025-11-25 (2 scenarios):\n\nServer scenarios (test against a server):\n  - ping\n\n\
                    Client scenarios (test against a client):\n  - auth/basic-cimd\n\n\
                    Run and reported, but never scored:\n  pending (2):\n    - server-sse-polling [server]\n    \
                    - auth/dpop [client]\n";
        let expected = [
            (Role::Server, "ping"),
            (Role::Client, "auth/basic-cimd"),
            (Role::Server, "server-sse-polling"),
            (Role::Client, "auth/dpop"),
        ];
        assert_eq!(listed(text), expected.map(|(role, name)| (role, name.to_owned())));
    }

    #[test]
    fn versions_of_node_are_read() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("22"), None);
    }
}
