//! The servers that are compared. Each is an echo, and a list of tools, in one thread on tokio if nothing else is said.
//!
//! | server | what it is |
//! |---|---|
//! | raw loop | lines from a pipe, the floor's parse and answer, all answers of a chunk in one write |
//! | mcp-sansio | [`mcp_sansio_tokio::serve_stdio`], typed arguments, derived schema, validated |
//! | mcp-sansio on async-std | [`mcp_sansio_async_std::serve_stdio`], the same; async-std has threads of its own beside |
//! | rmcp, pipes | rmcp with its non-blocking pipes |
//! | rmcp | rmcp with its default streams |

use std::io;

use rmcp::ServiceExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::frames::Era;
use crate::{echo, floor, os, server};

/// One of the servers. The first is what the others are held to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Raw,
    Ours,
    AsyncStd,
    RmcpPipes,
    Rmcp,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::Raw, Self::Ours, Self::AsyncStd, Self::RmcpPipes, Self::Rmcp];

    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Ours => "ours",
            Self::AsyncStd => "async-std",
            Self::RmcpPipes => "rmcp-pipes",
            Self::Rmcp => "rmcp",
        }
    }

    /// The name in the table.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Raw => "raw line loop",
            Self::Ours => "mcp-sansio",
            Self::AsyncStd => "mcp-sansio on async-std",
            Self::RmcpPipes => "rmcp 3.11.0, `stdio_pipes()`",
            Self::Rmcp => "rmcp 3.11.0, `stdio()`",
        }
    }
}

/// Is the server `name`, until the end of input.
pub(crate) fn serve(name: &str, tools: usize) -> Result<(), Box<dyn std::error::Error>> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or("no server of that name")?;
    os::pin(0);
    if kind == Kind::AsyncStd {
        let server = echo::ours(tools)?;
        return Ok(async_std::task::block_on(mcp_sansio_async_std::serve_stdio(server))?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match kind {
            Kind::Raw => Ok(raw(tools).await?),
            // The latter is served already.
            Kind::Ours | Kind::AsyncStd => ours(tools).await,
            Kind::RmcpPipes => rmcp(tools, rmcp::transport::io::stdio_pipes()).await,
            Kind::Rmcp => rmcp(tools, rmcp::transport::stdio()).await,
        }
    })
}

/// The raw loop. It knows a call from a list by the frame, and the era by the frame too.
async fn raw(tools: usize) -> io::Result<()> {
    use std::os::fd::AsFd;

    let mut reader = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut writer = pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
    let pages = Era::ALL.map(|era| server::first_page(era, tools));
    let (mut buffer, mut filled, mut out) = (vec![0; 64 << 10], 0, Vec::new());
    loop {
        let count = reader.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut from = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[from..filled]) {
            raw_answer(&buffer[from..from + length], &pages, &mut out);
            from += length + 1;
        }
        buffer.copy_within(from..filled, 0);
        filled -= from;
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
        writer.write_all(&out).await?;
        out.clear();
    }
}

fn raw_answer(frame: &[u8], pages: &[Vec<u8>; 2], out: &mut Vec<u8>) {
    // Where the method stands is known: nothing else is sent here.
    let head = &frame[..frame.len().min(64)];
    let [modern, legacy] = pages;
    let is_modern = memchr::memmem::find(frame, b"protocolVersion\":\"2026").is_some();
    let era = if is_modern { Era::Modern } else { Era::Legacy };
    if memchr::memmem::find(head, b"tools/call").is_some() {
        floor::echo_into(era, frame, out);
    } else if memchr::memmem::find(head, b"tools/list").is_some() {
        floor::list_into(frame, if is_modern { modern } else { legacy }, out);
    } else if memchr::memmem::find(head, b"\"initialize\"").is_some() {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n");
    }
}

async fn ours(tools: usize) -> Result<(), Box<dyn std::error::Error>> {
    Ok(mcp_sansio_tokio::serve_stdio(echo::ours(tools)?).await?)
}

async fn rmcp<R, W>(tools: usize, streams: (R, W)) -> Result<(), Box<dyn std::error::Error>>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    echo::Peer::new(tools).serve(streams).await?.waiting().await?;
    Ok(())
}
