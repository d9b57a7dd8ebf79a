//! A way to the API server that can be cut: bytes pass as they are, encrypted.

use std::net::{Ipv4Addr, SocketAddr};

use kube::Config;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way that can be cut. It ends with this value.
pub(crate) struct Proxy {
    address: SocketAddr,
    gate: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A way to where a configuration leads.
    pub(crate) async fn to(config: &Config) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let port = config.cluster_url.port_u16().unwrap();
        let gate = watch::Sender::new(true);
        let open = gate.subscribe();
        let accepting = tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let mut open = open.clone();
                if *open.borrow_and_update() {
                    tokio::spawn(carry(near, port, open));
                }
            }
        });
        Self { address, gate, accepting }
    }

    /// The configuration of somebody who goes this way.
    pub(crate) fn config(&self, mut config: Config) -> Config {
        config.cluster_url = format!("https://{}", self.address).parse().unwrap();
        config
    }

    /// Cuts all connections; new ones may be made.
    pub(crate) fn cut(&self) {
        self.gate.send_replace(true);
    }

    /// Cuts all connections, and new ones at once.
    pub(crate) fn shut(&self) {
        self.gate.send_replace(false);
    }

    /// Lets new connections through again.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn carry(mut near: TcpStream, port: u16, mut gate: watch::Receiver<bool>) {
    let Ok(mut far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = gate.changed() => {}
    }
}
