//! An API server that answers from a script and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What to do with one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// An empty object.
    Fine,
    /// A failure, with the rest that it asks for in seconds.
    Failure(u16, Option<u32>),
    /// The connection is closed without an answer.
    Dropped,
    /// The connection is closed in the middle of the answer.
    Torn,
    /// No answer ever.
    Silence,
    /// The head of an answer, and then nothing.
    HeadOnly,
}

/// A server on loopback, until the test ends.
pub(crate) struct Server {
    pub(crate) url: String,
    script: Arc<Mutex<VecDeque<Reply>>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts it. When its script has ended, all is fine.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(VecDeque::new()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn({
            let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(answer(stream, Arc::clone(&script), Arc::clone(&seen)));
                }
            }
        });
        Self { url, script, seen }
    }

    /// What to do with the next requests, one after the other.
    pub(crate) fn will(&self, replies: impl IntoIterator<Item = Reply>) {
        self.script.lock().unwrap().extend(replies);
    }

    /// What it was asked since the last time this was called: method and path.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

/// One request for each connection.
async fn answer(
    mut stream: TcpStream,
    script: Arc<Mutex<VecDeque<Reply>>>,
    seen: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut request = Vec::new();
    let head = loop {
        stream.read_buf(&mut request).await.ok().filter(|read| *read > 0)?;
        if let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
        }
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let whole = head.len() + 4 + length.parse::<usize>().unwrap();
    while request.len() < whole {
        stream.read_buf(&mut request).await.ok().filter(|read| *read > 0)?;
    }
    let line = String::from_utf8_lossy(&request).lines().next()?.to_owned();
    let mut words = line.split([' ', '?']);
    seen.lock().unwrap().push(format!("{} {}", words.next()?, words.next()?));

    let reply = script.lock().unwrap().pop_front().unwrap_or(Reply::Fine);
    let text = match reply {
        Reply::Fine => whole_answer("200 OK", "", "{\"metadata\":{\"name\":\"x\"}}"),
        Reply::Failure(code, rest) => {
            let rest = rest.map(|rest| format!("retry-after: {rest}\r\n")).unwrap_or_default();
            whole_answer(
                &format!("{code} Failure"),
                &rest,
                &format!("{{\"code\":{code},\"message\":\"scripted\"}}"),
            )
        }
        Reply::Dropped => return None,
        Reply::Torn | Reply::HeadOnly => "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{".to_owned(),
        Reply::Silence => String::new(),
    };
    stream.write_all(text.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    if matches!(reply, Reply::Silence | Reply::HeadOnly) {
        // Until the client goes.
        let _ = stream.read_buf(&mut request).await;
    }
    Some(())
}

fn whole_answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}
