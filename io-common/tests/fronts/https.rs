//! Requests with TLS, to a server with a certificate of our own making.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::front::mcp::http::client::{Pool, Tls, Transport as _, TransportError};
use crate::front::mcp::model::Tool;
use crate::front::mcp::server::{NoArguments, Server};
use futures_rustls::TlsAcceptor;
use futures_rustls::pki_types::pem::PemObject as _;
use futures_rustls::pki_types::{CertificateDer, PrivateKeyDer};
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::{RootCertStore, ServerConfig};

use crate::front::{self, TcpConnector, TcpListener, accept, runtime, spawn};

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
    let service = server.http(runtime()).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn(async move {
        let connections = front::mcp::http::Connections::new(runtime(), Default::default());
        loop {
            let stream = accept(&listener).await.unwrap();
            // Whoever does not trust us ends the handshake.
            if let Ok(stream) = acceptor.accept(stream).await {
                connections.serve(front::mcp::http::Stream(stream), service.clone());
            }
        }
    });
    address
}

fn trusting() -> Pool {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    Pool::new(runtime(), TcpConnector).tls(Tls::trusting(roots).unwrap())
}

async fn status(pool: &Pool, url: String) -> Result<u16, TransportError> {
    let request = http::Request::delete(url).body(bytes::Bytes::new()).unwrap();
    pool.send(request).await.map(|response| response.status().as_u16())
}

#[front::test]
async fn a_trusted_server_is_talked_to_by_name_and_by_address() {
    use crate::front::mcp::client::Client;
    use crate::front::mcp::http::client::Endpoint;

    let port = start().await.port();
    for host in ["localhost", "127.0.0.1"] {
        let endpoint = Endpoint::new(&format!("https://{host}:{port}/mcp")).unwrap();
        let client = Client::builder("t", "1");
        let (connecting, driver) = client.over_http(runtime(), trusting(), endpoint).unwrap();
        spawn(driver);
        let client = connecting.await.unwrap();
        assert_eq!(client.call_tool("t", serde_json::json!({})).await.unwrap().joined_text(), "secret");
    }
}

#[front::test]
async fn a_stranger_is_not_talked_to() {
    let port = start().await.port();
    // Our authority is none that the platform knows.
    let platform = Pool::new(runtime(), TcpConnector);
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
