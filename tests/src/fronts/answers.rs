//! Answers of HTTP/1.1, as a client reads them: heads, lengths, chunks.

use bytes::Bytes;
use mcp_sansio::http::Headers;
use mcp_sansio::testing::HttpPiece;
use mcp_sansio::testing::player::Problem;

/// What is about the connection, and said by whoever carries the answer.
const CARRIED: &[&str] = &["connection", "content-length", "date", "transfer-encoding"];

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// It has no body, whatever its head says.
    bare: bool,
    part: Part,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Head,
    /// So much of the body is to come.
    Whole(usize),
    /// The line before a chunk.
    Size,
    /// So much of a chunk is to come.
    Chunk(usize),
    /// The line after a chunk.
    Break,
    /// The lines after the last chunk.
    Trailers,
    Over,
}

impl Answer {
    /// The answer to a request of this method.
    pub(super) fn of(method: &str) -> Self {
        Self { bare: method == "HEAD", part: Part::default() }
    }

    /// Whether all of it has come.
    pub(super) fn is_over(&self) -> bool {
        self.part == Part::Over
    }

    /// The next part of what has come; what is used of it is taken away.
    pub(super) fn next(&mut self, came: &mut Vec<u8>) -> Result<Option<HttpPiece>, Problem> {
        loop {
            match self.part {
                Part::Head => {
                    let Some(end) = came.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
                    let head: Vec<u8> = came.drain(..end + 4).collect();
                    return self.head(&head).map(Some);
                }
                Part::Whole(0) => {
                    self.part = Part::Over;
                    return Ok(Some(HttpPiece::End));
                }
                Part::Whole(left) | Part::Chunk(left) => {
                    let count = left.min(came.len());
                    if count == 0 {
                        return Ok(None);
                    }
                    self.part = match self.part {
                        Part::Whole(_) => Part::Whole(left - count),
                        _ if count == left => Part::Break,
                        _ => Part::Chunk(left - count),
                    };
                    return Ok(Some(HttpPiece::Body(came.drain(..count).collect::<Vec<u8>>().into())));
                }
                Part::Size => {
                    let Some(line) = line(came) else { return Ok(None) };
                    let size = usize::from_str_radix(&line, 16).map_err(|_| format!("{line:?} is no length"))?;
                    self.part = if size == 0 { Part::Trailers } else { Part::Chunk(size) };
                }
                Part::Break => match line(came).as_deref() {
                    None => return Ok(None),
                    Some("") => self.part = Part::Size,
                    Some(other) => return Err(format!("{other:?} after a chunk")),
                },
                Part::Trailers => match line(came).as_deref() {
                    None => return Ok(None),
                    Some("") => {
                        self.part = Part::Over;
                        return Ok(Some(HttpPiece::End));
                    }
                    Some(_) => {}
                },
                Part::Over if came.is_empty() => return Ok(None),
                Part::Over => return Err(format!("after the answer: {}", String::from_utf8_lossy(came))),
            }
        }
    }

    fn head(&mut self, head: &[u8]) -> Result<HttpPiece, Problem> {
        let wrong = || format!("no head: {}", String::from_utf8_lossy(head));
        let text = std::str::from_utf8(head).map_err(|_| wrong())?;
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).and_then(|line| line.get(..3));
        let status: u16 = status.and_then(|status| status.parse().ok()).ok_or_else(wrong)?;
        let (mut headers, mut length, mut chunked) = (Headers::new(), None, false);
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(wrong)?;
            let (name, value) = (name.to_ascii_lowercase(), value.trim());
            match &*name {
                "content-length" => length = Some(value.parse().map_err(|_| wrong())?),
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                _ => {}
            }
            if !CARRIED.contains(&&*name) {
                headers.push(name, Bytes::copy_from_slice(value.as_bytes()));
            }
        }
        self.part = match length {
            _ if self.bare || status == 204 || status == 304 => Part::Whole(0),
            _ if chunked => Part::Size,
            Some(length) => Part::Whole(length),
            None => return Err(format!("the answer has no length: {text}")),
        };
        Ok(HttpPiece::Head { status, headers })
    }
}

fn line(came: &mut Vec<u8>) -> Option<String> {
    let end = came.windows(2).position(|bytes| bytes == b"\r\n")?;
    let line: Vec<u8> = came.drain(..end + 2).collect();
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}
