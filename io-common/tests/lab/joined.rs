//! A client front and a server front on one wire.

use std::sync::Arc;

use mcp_sansio::client::Connect;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError, nothing};
use mcp_sansio_io::server::BuiltServer;

use super::{Lab, Pipe};

/// Joins a server and a client.
pub fn join_up(lab: &Arc<Lab>, server: &BuiltServer, client: ClientBuilder) -> Result<Client, ConnectionError> {
    let (there, back) = (Pipe::new(1 << 20), Pipe::new(1 << 20));
    let (_, serving) = server.accept(lab.runtime()).over(there.clone(), back.clone()).unwrap();
    lab.spawn(async move { drop(serving.await) });
    let (connecting, driving) = client.over(lab.runtime(), back, there, nothing())?;
    lab.spawn(driving);
    lab.run(connecting)
}

pub fn builder(mode: Connect) -> ClientBuilder {
    Client::builder("tester", "1.0").mode(mode)
}
