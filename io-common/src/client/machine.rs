//! The machines that a client runs on, as one: what calls and handles can say is the same on each.

use mcp_sansio::client::{Client, Transport};
#[cfg(feature = "http")]
use mcp_sansio::http::client::HttpClient;

pub(super) enum Machine {
    Lines(Box<Client>),
    #[cfg(feature = "http")]
    Http(Box<HttpClient>),
}

impl Machine {
    pub(super) fn verbs(&mut self) -> &mut Client<dyn Transport> {
        match self {
            Self::Lines(machine) => &mut **machine,
            #[cfg(feature = "http")]
            Self::Http(machine) => &mut **machine,
        }
    }
}
