//! How streams to servers are opened: plainly by the runtime, with TLS on top.

use std::io;
#[cfg(feature = "tls")]
use std::sync::{Arc, OnceLock};

use futures_io::{AsyncRead, AsyncWrite};

use crate::runtime::BoxFuture;

/// A byte stream.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}

/// Opens streams to servers.
pub trait Connector: Send + Sync + 'static {
    /// Opens a stream to a port of a host: a name or an address, in brackets if it is one of IPv6.
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>>;
}

/// Opens streams with TLS, over those of another connector.
#[cfg(feature = "tls")]
#[derive(Clone)]
pub struct Tls {
    config: futures_rustls::TlsConnector,
}

#[cfg(feature = "tls")]
impl Tls {
    /// TLS 1.2 and later, trusting whom the platform trusts. That is read once for the process, when it is first
    /// asked for.
    ///
    /// # Errors
    /// When the platform trusts nobody, or says so in a way that cannot be read.
    pub fn platform() -> io::Result<Self> {
        static PLATFORM: OnceLock<Tls> = OnceLock::new();
        if let Some(known) = PLATFORM.get() {
            return Ok(known.clone());
        }
        let found = Self::read_platform()?;
        Ok(PLATFORM.get_or_init(|| found).clone())
    }

    fn read_platform() -> io::Result<Self> {
        use futures_rustls::rustls::RootCertStore;

        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Platforms carry certificates that are of no use: those are passed over.
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
            return Err(io::Error::other(format!("the platform has no trusted root certificates{why}")));
        }
        Self::trusting(roots)
    }

    /// The same, trusting `roots` alone.
    ///
    /// # Errors
    /// Never in practice: when the library cannot speak TLS 1.2 or later.
    pub fn trusting(roots: futures_rustls::rustls::RootCertStore) -> io::Result<Self> {
        use futures_rustls::rustls::{ClientConfig, crypto::ring};

        // Named rather than taken from the process, whose default somebody else may set.
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::configured(config))
    }

    /// With settings of your own.
    #[must_use]
    pub fn configured(config: futures_rustls::rustls::ClientConfig) -> Self {
        Self { config: Arc::new(config).into() }
    }

    pub(super) async fn secure(&self, host: &str, stream: Box<dyn ByteStream>) -> io::Result<Box<dyn ByteStream>> {
        use futures_rustls::pki_types::ServerName;

        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Box::new(self.config.connect(name, stream).await?))
    }
}

#[cfg(feature = "tls")]
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
