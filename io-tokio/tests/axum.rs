//! The axum example: the service beside other routes, behind a check that says who asks.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/web.rs"]
mod web;

#[allow(dead_code)]
#[path = "../examples/axum.rs"]
mod example;

use std::net::SocketAddr;

use mcp_sansio_tokio::client::{Client, ConnectionError};
use mcp_sansio_tokio::connect_endpoint;
use mcp_sansio_tokio::core::client::Connect;
use mcp_sansio_tokio::http::client::Endpoint;
use serde_json::json;

use self::web::Wire;

async fn start() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let application = example::application(example::service().unwrap());
    tokio::spawn(async move { axum::serve(listener, application).await.unwrap() });
    address
}

async fn connect(address: SocketAddr, token: &str, mode: Connect) -> Result<Client, ConnectionError> {
    let endpoint = Endpoint::new(&format!("http://{address}/mcp")).unwrap().bearer(token).unwrap();
    connect_endpoint(Client::builder("t", "1").mode(mode), endpoint).await
}

#[tokio::test]
async fn each_user_is_who_the_token_says_in_both_eras() {
    let address = start().await;
    for mode in [Connect::Modern, Connect::Legacy] {
        let ada = connect(address, "ada-secret", mode).await.unwrap();
        let bob = connect(address, "bob-secret", mode).await.unwrap();
        // Both count their requests from one.
        let (to_ada, to_bob) = tokio::join!(ada.call_tool("whoami", json!({})), bob.call_tool("whoami", json!({})));
        assert_eq!(to_ada.unwrap().joined_text(), "You are ada.");
        assert_eq!(to_bob.unwrap().joined_text(), "You are bob.");
    }
    let stranger = connect(address, "wrong", Connect::Auto).await;
    assert!(stranger.unwrap_err().to_string().contains("authorization"));
}

#[tokio::test]
async fn credentials_can_be_given_when_they_are_asked_for() {
    let address = start().await;
    for mode in [Connect::Auto, Connect::Legacy] {
        let endpoint = Endpoint::new(&format!("http://{address}/mcp")).unwrap();
        let client = Client::builder("t", "1").mode(mode).on_unauthorized(|unauthorized| async move {
            assert_eq!(unauthorized.challenge.www_authenticate, ["Bearer"]);
            Some("Bearer ada-secret".into())
        });
        let client = connect_endpoint(client, endpoint).await.unwrap();
        assert_eq!(client.call_tool("whoami", json!({})).await.unwrap().joined_text(), "You are ada.");
    }
    let endpoint = Endpoint::new(&format!("http://{address}/mcp")).unwrap();
    let nobody = Client::builder("t", "1").on_unauthorized(|_| async { None });
    assert!(connect_endpoint(nobody, endpoint).await.unwrap_err().to_string().contains("authorization"));
}

#[tokio::test]
async fn a_session_is_its_owners() {
    let address = start().await;
    let ada = connect(address, "ada-secret", Connect::Legacy).await.unwrap();
    let session = ada.session_id().unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for (token, status) in [("ada-secret", 200), ("bob-secret", 403)] {
        let mut wire = Wire::open(address).await;
        let bearer = format!("Bearer {token}");
        wire.post(&[("authorization", &bearer), ("mcp-session-id", &session)], &body).await;
        assert_eq!(wire.answer().await.head.status, status);
    }
}

#[tokio::test]
async fn other_routes_are_as_they_were() {
    let mut wire = Wire::open(start().await).await;
    wire.write("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.answer().await.body, "well\n");
    wire.post(&[], "{}").await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, answer.head.header("www-authenticate")), (401, Some("Bearer")));
}
