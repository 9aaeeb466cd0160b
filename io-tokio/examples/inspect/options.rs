//! The command line.

use std::ffi::OsString;
use std::time::Duration;

use mcp_sansio_tokio::core::client::Connect;
use mcp_sansio_tokio::json::Json;

pub(crate) const HELP: &str = "
Usage: inspect [OPTIONS] [--] COMMAND [ARGS…]
       inspect [OPTIONS] URL

Starts a server and connects to it over stdio, or connects to the one at a URL, and shows what it offers.

What to do (by default: show everything):
  --call NAME JSON     call a tool with arguments (an object)
  --read URI           read a resource
  --prompt NAME JSON   get a prompt, with arguments (an object of strings)

How to connect:
  --modern             the modern era, or nothing
  --legacy             the legacy era, without a probe
                       (by default: the modern era if the server speaks it)
  --header 'NAME: VALUE'
                       send this header with every request to a URL; may stand more than once
  --timeout SECONDS    the longest silence of the server, 60 by default; a server that does not show its era in 5 seconds
                       is asked in the legacy one, which may be silent for as long again

Output:
  --json               JSON instead of text
  --trace              show every frame, and what the server writes to standard error
  --answer JSON        accept every form that the server asks to fill in, with this content
  -h, --help           this text

Exit codes: 0 done; 1 the server answered an error, or a tool that it failed;
            2 the command line makes no sense; 3 no connection.
";

/// What the command line asks for.
pub(crate) enum Wish {
    Help,
    Run(Options),
}

pub(crate) enum Target {
    Command { program: OsString, args: Vec<OsString> },
    Url { url: String, headers: Vec<(String, String)> },
}

pub(crate) struct Options {
    pub(crate) target: Target,
    pub(crate) job: Job,
    pub(crate) mode: Connect,
    pub(crate) json: bool,
    pub(crate) trace: bool,
    pub(crate) answer: Option<Json>,
    pub(crate) timeout: Option<Duration>,
}

pub(crate) enum Job {
    Overview,
    Call { name: String, arguments: Json },
    Read { uri: String },
    Prompt { name: String, arguments: Json },
}

pub(crate) fn read(args: impl Iterator<Item = OsString>) -> Result<Wish, String> {
    let mut args = args.peekable();
    let mut job = None;
    let (mut legacy, mut modern, mut json, mut trace, mut answer) = (false, false, false, false, None);
    let (mut timeout, mut headers) = (None, Vec::new());
    // Our own options end at the first word that is none: what follows is the server's.
    while let Some(option) = args.next_if(|arg| arg.to_string_lossy().starts_with('-')) {
        let mut value = |what: &str| text(args.next(), &option, what);
        let next = match &*option.to_string_lossy() {
            "--" => break,
            "-h" | "--help" => return Ok(Wish::Help),
            "--legacy" => {
                legacy = true;
                continue;
            }
            "--modern" => {
                modern = true;
                continue;
            }
            "--json" => {
                json = true;
                continue;
            }
            "--trace" => {
                trace = true;
                continue;
            }
            "--answer" => {
                answer = Some(object(&value("JSON")?, "--answer")?);
                continue;
            }
            "--header" => {
                let line = value("NAME: VALUE")?;
                let (name, value) = line.split_once(':').ok_or("--header needs a name, a colon and a value")?;
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
                continue;
            }
            "--timeout" => {
                let seconds = value("SECONDS")?.parse().ok().filter(|seconds| *seconds > 0);
                timeout = Some(Duration::from_secs(seconds.ok_or("--timeout needs a number of seconds, 1 or more")?));
                continue;
            }
            "--call" => Job::Call { name: value("NAME")?, arguments: object(&value("JSON")?, "--call")? },
            "--read" => Job::Read { uri: value("URI")? },
            "--prompt" => Job::Prompt { name: value("NAME")?, arguments: object(&value("JSON")?, "--prompt")? },
            other => return Err(format!("there is no option {other}")),
        };
        if job.replace(next).is_some() {
            return Err("only one of --call, --read and --prompt can be done at a time".into());
        }
    }
    let mode = super::mode(legacy, modern).ok_or("--legacy and --modern exclude each other")?;
    let first = args.next().ok_or("which server? A command or a URL is missing")?;
    let target = target(first, args.collect(), headers)?;
    let job = job.unwrap_or(Job::Overview);
    Ok(Wish::Run(Options { target, job, mode, json, trace, answer, timeout }))
}

fn target(first: OsString, args: Vec<OsString>, headers: Vec<(String, String)>) -> Result<Target, String> {
    let url = first.to_str().filter(|word| word.starts_with("http://") || word.starts_with("https://"));
    match url {
        Some(url) if args.is_empty() => Ok(Target::Url { url: url.to_owned(), headers }),
        Some(_) => Err("nothing may follow the URL: options stand before it".into()),
        None if headers.is_empty() => Ok(Target::Command { program: first, args }),
        None => Err("--header goes with a URL only".into()),
    }
}

fn text(value: Option<OsString>, option: &OsString, what: &str) -> Result<String, String> {
    let option = option.to_string_lossy();
    let value = value.ok_or_else(|| format!("{option} needs {what}"))?;
    value.into_string().map_err(|_| format!("the {what} of {option} is not UTF-8"))
}

fn object(text: &str, option: &str) -> Result<Json, String> {
    if text == "--" {
        return Err(format!("{option} needs JSON before `--`, such as '{{}}'"));
    }
    // Who forgets it finds the next word read instead.
    let shown: String = text.chars().take(60).collect();
    let json = Json::from_text(text).map_err(|error| format!("{option} needs JSON, and {shown:?} is none: {error}"))?;
    if json.is_object() { Ok(json) } else { Err(format!("{option} needs a JSON object, and {shown:?} is none")) }
}
