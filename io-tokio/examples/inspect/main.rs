//! Looks into any server that speaks over stdio or HTTP.
//!
//! `cargo run --release --example inspect -- npx -y @modelcontextprotocol/server-everything`
//!
//! `cargo run --release --example inspect -- --header 'Authorization: Bearer secret' http://127.0.0.1:8000/mcp`

mod options;
mod render;
mod schema;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientBuilder, ClientError};
use mcp_sansio_tokio::core::client::{CallError, Connect, Timeouts};
use mcp_sansio_tokio::core::spec::ErrorCode;
use mcp_sansio_tokio::http::client::Endpoint;
use mcp_sansio_tokio::model::ElicitResult;
use mcp_sansio_tokio::{Command, CommandError, Trace, connect_endpoint};

use self::options::{Job, Options, Target, Wish};

/// How long a server may take to show that it is modern.
const PROBE: Duration = Duration::from_secs(5);

/// Why the program does not end with 0.
enum Failure {
    /// The server answered an error, or a tool that it failed.
    Call(String),
    /// The command line makes no sense.
    Usage(String),
    /// There is no connection.
    Connect(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let mut text = error.to_string();
        if let ClientError::Call(CallError::Remote(error)) = &error {
            // What a server gives beside its message says what to do.
            if let Some(data) = &error.data {
                text += &format!(": {data}");
            }
            if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY {
                text += "\nA server that wants a form filled in gets its answer from --answer.";
            }
        }
        Self::Call(text)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let failure = match options::read(std::env::args_os().skip(1)) {
        Ok(Wish::Help) => {
            print(options::HELP.trim());
            return ExitCode::SUCCESS;
        }
        // Whoever interrupts us wants no server left behind: it ends with our runtime.
        Ok(Wish::Run(options)) => tokio::select! {
            outcome = run(options) => outcome.err(),
            _ = tokio::signal::ctrl_c() => Some(Failure::Call("interrupted".into())),
        },
        Err(problem) => Some(Failure::Usage(problem)),
    };
    let (code, text) = match failure {
        None => return ExitCode::SUCCESS,
        Some(Failure::Call(text)) => (1, text),
        Some(Failure::Usage(text)) => (2, format!("{text}\nTry `inspect --help`.")),
        Some(Failure::Connect(text)) => (3, text),
    };
    eprintln!("inspect: {}", render::harmless(&text));
    ExitCode::from(code)
}

async fn run(options: Options) -> Result<(), Failure> {
    match &options.target {
        Target::Command { program, args } => {
            let (command, stderr) = Command::new(program).args(args).capture_stderr();
            let command = if options.trace {
                command.stderr_lines(|line| eprintln!("server: {}", render::harmless(line)))
            } else {
                command
            };
            let client = command.connect(client(&options)).await.map_err(|error| no_connection(&error))?;
            let outcome = work(&client, &options).await;
            if outcome.is_err() && !options.trace {
                tell_stderr(&stderr.text());
            }
            outcome
        }
        Target::Url { url, headers } => {
            let mut endpoint = Endpoint::new(url).map_err(|error| Failure::Usage(error.to_string()))?;
            for (name, value) in headers {
                endpoint = endpoint.header(name, value.clone()).map_err(|error| Failure::Usage(error.to_string()))?;
            }
            let client = connect_endpoint(client(&options), endpoint).await;
            work(&client.map_err(|error| Failure::Connect(error.to_string()))?, &options).await
        }
    }
}

async fn work(client: &Client, options: &Options) -> Result<(), Failure> {
    let outcome = job(client, options).await;
    client.close();
    client.ended().await;
    outcome
}

fn client(options: &Options) -> ClientBuilder {
    let mut client = Client::builder("inspect", env!("CARGO_PKG_VERSION")).mode(options.mode);
    if let Some(timeout) = options.timeout {
        client = client.timeouts(Timeouts::default().idle(Some(timeout)).hard(Some(timeout)).probe(timeout.min(PROBE)));
    }
    if let Some(answer) = options.answer.clone() {
        client = client.on_form(move |form, _| {
            eprintln!("the server asks: {}", render::harmless(&form.message));
            std::future::ready(ElicitResult::accept(answer.clone()))
        });
    }
    if options.trace {
        client = client.trace(Arc::new(|trace| match trace {
            Trace::Sent(frame) => eprintln!("→ {}", String::from_utf8_lossy(frame)),
            Trace::Received(frame) => eprintln!("← {}", render::harmless(&String::from_utf8_lossy(frame))),
            _ => {}
        }));
    }
    let seen = Mutex::new((String::new(), 0_usize));
    client.error_reporter(move |report| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        note(&mut seen, report.to_string());
    })
}

/// Tells what the client has noticed. What comes again and again is told less and less often.
fn note(seen: &mut (String, usize), text: String) {
    if seen.0 == text {
        seen.1 += 1;
    } else {
        *seen = (text, 1);
    }
    let (text, count) = seen;
    match count {
        1 => eprintln!("note: {}", render::harmless(text)),
        count if count.is_power_of_two() => eprintln!("note: {} ({count} times)", render::harmless(text)),
        _ => {}
    }
}

fn no_connection(error: &CommandError) -> Failure {
    if let CommandError::Connect { stderr: Some(stderr), .. } = error {
        tell_stderr(stderr);
    }
    Failure::Connect(error.to_string())
}

/// What the server had to say for itself.
fn tell_stderr(text: &str) {
    const LINES: usize = 20;
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(LINES)..] {
        eprintln!("server: {}", render::harmless(line));
    }
}

async fn job(client: &Client, options: &Options) -> Result<(), Failure> {
    match &options.job {
        Job::Overview => overview(client, options.json).await,
        Job::Call { name, arguments } => {
            let progress = std::io::stderr().is_terminal();
            let call = client.call_tool(name, arguments.clone()).progress(move |report| {
                if progress {
                    eprintln!("progress: {}", render::harmless(&render::progress(&report)));
                }
            });
            let result = call.await?;
            show(options.json, &result, || render::tool_result(&result))?;
            if result.failed() { Err(Failure::Call("the tool says that it failed".into())) } else { Ok(()) }
        }
        Job::Read { uri } => {
            let result = client.read_resource(uri).await?;
            show(options.json, &result, || render::contents(&result.contents))
        }
        Job::Prompt { name, arguments } => {
            let result = client.get_prompt(name, arguments.clone()).await?;
            show(options.json, &result, || render::prompt(&result))
        }
    }
}

async fn overview(client: &Client, json: bool) -> Result<(), Failure> {
    let Some(server) = client.server() else { return Err(Failure::Connect("the server has left".into())) };
    let mut found = render::Overview::of(&server);
    // What a server does not declare, it need not answer.
    if server.capabilities.tools.is_some() {
        found.tools = client.tools().await?;
    }
    if server.capabilities.prompts.is_some() {
        found.prompts = client.prompts().await?;
    }
    if server.capabilities.resources.is_some() {
        found.resources = client.resources().await?;
        // Some servers have resources, and do not know of templates.
        match client.templates().await {
            Ok(templates) => found.templates = templates,
            Err(error) => eprintln!("note: no resource templates: {error}"),
        }
    }
    show(json, &found, || found.text())
}

/// Prints a result: as JSON, or for people.
fn show<T: serde::Serialize>(json: bool, value: &T, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Call(error.to_string()))?;
        print(&text);
    } else {
        print(text().trim_end());
    }
    Ok(())
}

fn print(text: &str) {
    // Whoever pipes us into `head` need not hear of it.
    let _ = writeln!(std::io::stdout(), "{}", render::harmless(text));
}

/// How the era is found, from the options.
const fn mode(legacy: bool, modern: bool) -> Option<Connect> {
    match (legacy, modern) {
        (false, false) => Some(Connect::Auto),
        (true, false) => Some(Connect::Legacy),
        (false, true) => Some(Connect::Modern),
        (true, true) => None,
    }
}
