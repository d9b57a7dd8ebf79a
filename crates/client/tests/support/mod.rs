//! A server that gives the answers it was told, one per connection, and remembers what it was asked.

use std::path::Path;
use std::sync::{Arc, Mutex};

use slipway_client::Client;
use slipway_testkit::certificates::Authority;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What is answered.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The connection ends after the request was read.
    Nothing,
    /// This, and the connection ends.
    Text(String),
}

impl Answer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        let length = body.len();
        Self::Text(format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::Text(format!(
            "HTTP/1.1 302 X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    }

    pub(crate) fn stream(events: &str) -> Self {
        Self::Text(format!(
            "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
        ))
    }
}

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }
}

/// A server.
pub(crate) struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) async fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        slipway_testkit::init();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (answers, seen): (Vec<_>, _) = (answers.into_iter().collect(), Arc::clone(&asked));
        tokio::spawn(async move {
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, answer, &seen).await;
            }
        });
        Self { address, asked }
    }

    /// Over TLS; the file has its authority.
    pub(crate) async fn over_tls(answers: impl IntoIterator<Item = Answer>) -> (Self, impl AsRef<Path>) {
        slipway_testkit::init();
        let authority = Authority::new("test").unwrap();
        let pair = authority.server("slipway", &["localhost"]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, authority.certificate()).unwrap();
        let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (answers, seen): (Vec<_>, _) = (answers.into_iter().collect(), Arc::clone(&asked));
        tokio::spawn(async move {
            let mut answers = answers.into_iter().peekable();
            while answers.peek().is_some() {
                let (stream, _) = listener.accept().await.unwrap();
                // Whoever does not trust us ends the handshake; that costs no answer.
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream, answers.next().unwrap(), &seen).await;
                }
            }
        });
        (Self { address, asked }, file.into_temp_path())
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn client(&self) -> Client {
        Client::builder(&self.address).build().unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: Answer, seen: &Mutex<Vec<Asked>>) {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => text.push(byte),
            Err(_) => return,
        }
    }
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    seen.lock().unwrap().push(Asked { path, headers });
    if let Answer::Text(answer) = answer {
        let _ = stream.write_all(answer.as_bytes()).await;
    }
    let _ = stream.shutdown().await;
}
