//! Holds real things until it is killed, for tests of what a killed process leaves behind.
//!
//! `hold parts` holds a control plane with a kwok node and a PostgreSQL server, `hold cluster` one
//! with a real node. Its last line says what it holds, as JSON.

use anyhow::bail;
use serde_json::json;
use slipway_testkit::image::Image;
use slipway_testkit::postgres::Postgres;
use slipway_testkit::{ControlPlane, RealCluster};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    slipway_testkit::init();
    match std::env::args().nth(1).as_deref() {
        Some("parts") => {
            let plane = ControlPlane::builder().nodes(1).start().await?;
            let postgres = Postgres::start().await?;
            println!(
                "{}",
                json!({
                    "logs": plane.info().logs,
                    "kubeconfig": plane.kubeconfig_file(),
                    "server": plane.server(),
                    "postgres": postgres.info(),
                })
            );
            std::future::pending::<()>().await;
        }
        Some("cluster") => {
            let cluster = RealCluster::start("orphan").await?;
            let probe = std::env::current_exe()?.with_file_name("probe");
            cluster.load_image(&Image::from_binary("localhost/slipway/probe:1", probe)?).await?;
            println!("{}", serde_json::to_string(cluster.info())?);
            std::future::pending::<()>().await;
        }
        _ => bail!("usage: hold parts|cluster"),
    }
    Ok(())
}
