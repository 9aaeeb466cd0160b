//! A connection, what its server sent, and the answers of the table "What a client answers".

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use mcp_sansio_tokio::client::{Client, ClientBuilder, Notification, Notifications};
use mcp_sansio_tokio::core::client::{Connect, Timeouts};
use mcp_sansio_tokio::http::client::Endpoint;
use mcp_sansio_tokio::model::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, LogMessageParams, ResourceUpdatedParams,
    Root, StopReason,
};
use mcp_sansio_tokio::spec::{Era, Method};
use mcp_sansio_tokio::{Command, connect_endpoint};
use serde_json::json;

use crate::check::{Outcome, fail};
use crate::wire::Wire;
use crate::{Server, Task};

/// The roots that a client of a fixture server names.
pub(crate) const ROOTS: [&str; 2] = ["file:///fixture/one", "file:///fixture/two"];

/// How long a server may take to answer the probe: it is being started, on a machine that may be busy.
const PROBE: Duration = Duration::from_secs(60);

/// A folder for the servers that keep files, which goes with the cell.
pub(crate) struct Ground(Option<PathBuf>);

impl Ground {
    pub(crate) fn new(server: Server, cell: &str) -> Outcome<Self> {
        if !matches!(server, Server::Filesystem | Server::Memory) {
            return Ok(Self(None));
        }
        // Where the system's folder is a link, servers name what it leads to.
        let folder = std::env::temp_dir().canonicalize()?.join(format!("interop-{}-{cell}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(Some(folder)))
    }

    /// The folder; of the fixture and of servers that keep nothing, no place.
    pub(crate) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or_else(|| Path::new(""))
    }

    /// What the environment of a server says of it.
    pub(crate) fn variables(&self, server: Server) -> Option<(&'static str, PathBuf)> {
        (server == Server::Memory).then(|| ("MEMORY_FILE_PATH", self.path().join("memory.jsonl")))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(folder) = &self.0
            && let Err(error) = std::fs::remove_dir_all(folder)
        {
            eprintln!("interop-client: {} stays: {error}", folder.display());
        }
    }
}

/// What the server asked.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) forms: Vec<ElicitFormParams>,
    pub(crate) samples: Vec<CreateMessageParams>,
    pub(crate) roots: usize,
    /// How the next form is answered.
    pub(crate) decline: bool,
}

/// What the server told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) logs: Vec<LogMessageParams>,
    pub(crate) updated: Vec<String>,
    pub(crate) tools_changed: usize,
}

/// A connection and what came over it.
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) era: Era,
    asked: Arc<Mutex<Asked>>,
    pub(crate) wire: Arc<Wire>,
    told: Told,
    notifications: Notifications,
}

impl Peer {
    /// Connects to the process that the task names, or to the one that listens at `url`.
    pub(crate) async fn connect(task: &Task, cell: &str, ground: &Ground, url: Option<&str>) -> Outcome<Self> {
        let asked = Arc::<Mutex<Asked>>::default();
        let wire = Arc::<Wire>::default();
        let host = host(task, cell, ground, &asked)?.trace(Wire::hook(&wire));
        let client = match url {
            Some(url) => connect_endpoint(host, Endpoint::new(url)?).await?,
            None => command(task, ground)?.connect(host).await?,
        };
        let notifications = client.notifications();
        let Some(era) = client.era() else { return fail("connected without a revision") };
        Ok(Self { client, era, asked, wire, told: Told::default(), notifications })
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Asked> {
        lock(&self.asked)
    }

    /// All that the server has told before the last answer.
    pub(crate) fn told(&mut self) -> Outcome<&mut Told> {
        while let Some(Some(notification)) = self.notifications.next().now_or_never() {
            self.told.note(&notification)?;
        }
        Ok(&mut self.told)
    }

    /// Waits until the server has told enough; the time limit of the cell ends the waiting.
    pub(crate) async fn until(&mut self, enough: impl Fn(&Told) -> bool) -> Outcome<&mut Told> {
        while !enough(&self.told) {
            let Some(notification) = self.notifications.next().await else {
                return fail("the connection ended before the notification came");
            };
            self.told.note(&notification)?;
        }
        self.told()
    }
}

impl Told {
    fn note(&mut self, notification: &Notification) -> Outcome {
        match notification.known() {
            Some(Method::Message) => self.logs.push(notification.parse()?),
            Some(Method::ResourcesUpdated) => self.updated.push(notification.parse::<ResourceUpdatedParams>()?.uri),
            Some(Method::ToolsListChanged) => self.tools_changed += 1,
            _ => {}
        }
        Ok(())
    }
}

fn command(task: &Task, ground: &Ground) -> Outcome<Command> {
    let Some((program, arguments)) = task.command.split_first() else { return fail("there is no command") };
    let mut command = Command::new(program).args(arguments);
    if let Some((name, value)) = ground.variables(task.server) {
        command = command.env(name, value);
    }
    Ok(if task.server == Server::Filesystem { command.arg(ground.path()) } else { command })
}

/// The client, with everything that it can answer.
fn host(task: &Task, cell: &str, ground: &Ground, asked: &Arc<Mutex<Asked>>) -> Outcome<ClientBuilder> {
    // The probe, as a host does it that does not know its server.
    let mode = if task.era == Era::Modern { Connect::Auto } else { Connect::Legacy };
    let (forms, samples, rooted) = (Arc::clone(asked), Arc::clone(asked), Arc::clone(asked));
    let form_answer = match task.server {
        Server::Everything => json!({"name": "Ada", "check": true}),
        _ => json!({"name": "Ada"}),
    };
    let host = Client::builder("interop-client", env!("CARGO_PKG_VERSION"))
        .mode(mode)
        .timeouts(Timeouts::default().probe(PROBE))
        .error_reporter(|report| eprintln!("interop-client: {report}"))
        .on_form(move |form, _| {
            let mut asked = lock(&forms);
            asked.forms.push(form);
            let answer =
                if asked.decline { ElicitResult::decline() } else { ElicitResult::accept(form_answer.clone()) };
            std::future::ready(answer)
        })
        .on_sample(move |params, _| {
            let answer = sampled(&params);
            lock(&samples).samples.push(params);
            std::future::ready(answer)
        });
    let host = match task.server {
        // Some of its tools are for clients with both modes.
        Server::Everything => host.on_url(|_, _| std::future::ready(ElicitResult::accept_url())),
        _ => host,
    };
    let roots = match task.server {
        Server::Fixture | Server::Everything | Server::Memory => ROOTS.map(Root::new).to_vec(),
        Server::Filesystem if cell == "roots" => {
            let inner = ground.path().join("inner");
            std::fs::create_dir(&inner)?;
            vec![Root::new(file_uri(&inner))]
        }
        // Roots would replace the folder that it was started with.
        Server::Filesystem => return Ok(host),
    };
    Ok(host.on_roots(move || {
        lock(&rooted).roots += 1;
        roots.clone()
    }))
}

fn sampled(params: &CreateMessageParams) -> CreateMessageResult {
    let prompt = params.messages.first().and_then(|message| message.content.blocks().first());
    let prompt = prompt.and_then(|block| block.as_text()).unwrap_or("nothing");
    CreateMessageResult::assistant("fixture-model", format!("You said: {prompt}")).stop_reason(StopReason::EndTurn)
}

/// The folders of these tests need no escapes.
fn file_uri(path: &Path) -> String {
    let path = path.display().to_string().replace('\\', "/");
    if path.starts_with('/') { format!("file://{path}") } else { format!("file:///{path}") }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
