//! Small HTTP servers on the loopback interface that end with the value that holds them.
//!
//! The repositories of this crate stand on it. It serves; what is served is theirs.

mod identity;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::{Certificate, Client};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub use identity::Identity;

/// Who may use a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without saying who they are.
    #[default]
    Anyone,
    /// Whoever knows this user name and password (HTTP basic authentication).
    Login {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
}

impl Access {
    /// Only whoever knows this user name and password.
    pub fn login(user: &str, password: &str) -> Self {
        Self::Login { user: user.to_owned(), password: password.to_owned() }
    }

    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let Self::Login { user, password } = self else { return true };
        let expected = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
        headers.get(header::AUTHORIZATION).is_some_and(|given| given.as_bytes() == expected.as_bytes())
    }
}

/// An HTTP client for servers of this machine: no proxy is asked, and no authority is trusted but this one.
pub(crate) fn client(authority_pem: Option<&str>, timeout: Duration) -> Result<Client> {
    let authority = authority_pem
        .map(|pem| Certificate::from_pem(pem.as_bytes()))
        .transpose()
        .context("the authority to trust is not a certificate")?;
    let client = Client::builder().no_proxy().timeout(timeout).tls_certs_only(authority);
    client.build().context("could not make an HTTP client")
}

/// A running HTTP server; dropping it closes the port and every idle connection.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    scheme: &'static str,
    // Its drop is the signal to stop.
    _stop: oneshot::Sender<()>,
}

impl HttpServer {
    /// Serves a router on a free port, with TLS if it is given an identity.
    pub async fn start(router: Router, access: Access, identity: Option<&Identity>) -> Result<Self> {
        let router = router.layer(middleware::from_fn_with_state(access, admit));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("could not listen on the loopback interface")?;
        let address = listener.local_addr().context("a listening socket has no address")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let until_dropped = async {
            let _ = stopped.await;
        };
        let scheme = if let Some(identity) = identity {
            let listener = TlsListener { tcp: listener, acceptor: identity.acceptor()? };
            tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(until_dropped).into_future());
            "https"
        } else {
            tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(until_dropped).into_future());
            "http"
        };
        Ok(Self { address, scheme, _stop: stop })
    }

    /// `http://127.0.0.1:port`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }
}

async fn admit(State(access): State<Access>, request: Request, next: Next) -> Response {
    if access.admits(request.headers()) {
        return next.run(request).await;
    }
    let challenge = HeaderValue::from_static("Basic realm=\"tests\"");
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)], "who are you?\n").into_response()
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.tcp).await;
            // A client that does not trust us breaks the handshake off: its business, not the server's.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
