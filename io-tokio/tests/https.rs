//! Requests with TLS, to a server with a certificate of our own making.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::net::SocketAddr;
use std::sync::Arc;

use futures_rustls::TlsAcceptor;
use futures_rustls::pki_types::pem::PemObject as _;
use futures_rustls::pki_types::{CertificateDer, PrivateKeyDer};
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::{RootCertStore, ServerConfig};
use mcp_sansio_tokio::http::client::{Pool, Tls, Transport as _, TransportError};
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{NoArguments, Server};
use mcp_sansio_tokio::{Adapter, TcpConnector, TokioRuntime};
use tokio::net::TcpListener;

const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server-key.pem");

/// Our server, behind TLS.
async fn start() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::new("s", "1").tool(Tool::new("t"), |_: NoArguments, _| async { "secret" }).build().unwrap();
    let service = server.http(TokioRuntime::current()).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let connections = mcp_sansio_tokio::http::Connections::new(TokioRuntime::current(), Default::default());
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // Whoever does not trust us ends the handshake.
            if let Ok(stream) = acceptor.accept(Adapter(stream)).await {
                connections.serve(mcp_sansio_tokio::http::Stream(stream), service.clone());
            }
        }
    });
    address
}

fn trusting() -> Pool {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    Pool::new(TokioRuntime::current(), TcpConnector).tls(Tls::trusting(roots).unwrap())
}

async fn status(pool: &Pool, url: String) -> Result<u16, TransportError> {
    let request = http::Request::delete(url).body(bytes::Bytes::new()).unwrap();
    pool.send(request).await.map(|response| response.status().as_u16())
}

#[tokio::test]
async fn a_trusted_server_is_talked_to_by_name_and_by_address() {
    use mcp_sansio_tokio::client::Client;
    use mcp_sansio_tokio::http::client::Endpoint;

    let port = start().await.port();
    for host in ["localhost", "127.0.0.1"] {
        let endpoint = Endpoint::new(&format!("https://{host}:{port}/mcp")).unwrap();
        let client = Client::builder("t", "1");
        let (connecting, driver) = client.over_http(TokioRuntime::current(), trusting(), endpoint).unwrap();
        tokio::spawn(driver);
        let client = connecting.await.unwrap();
        assert_eq!(client.call_tool("t", serde_json::json!({})).await.unwrap().joined_text(), "secret");
    }
}

#[tokio::test]
async fn a_stranger_is_not_talked_to() {
    let port = start().await.port();
    // Our authority is none that the platform knows.
    let platform = Pool::new(TokioRuntime::current(), TcpConnector);
    let error = status(&platform, format!("https://localhost:{port}/")).await.unwrap_err();
    assert!(!error.sent, "{error}");
    // Nor is the certificate one for this name.
    let error = status(&trusting(), format!("https://127.0.0.2:{port}/")).await.unwrap_err();
    assert!(!error.sent, "{error}");
    // Nor does a server that wants TLS talk without.
    let error = status(&trusting(), format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(error.sent, "{error}");
    let error = status(&trusting(), String::from("ftp://127.0.0.1/")).await.unwrap_err();
    assert!(!error.sent, "{error}");
}
