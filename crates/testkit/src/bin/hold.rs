//! Holds one real thing until it is killed, for tests of what a killed process leaves behind.
//! It prints a word for each directory, port or process that must be gone afterwards.

use slipway_testkit::{ControlPlane, postgres::Postgres};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    slipway_testkit::init();
    let plane = ControlPlane::builder().nodes(1).start().await?;
    let postgres = Postgres::start().await?;
    for log in plane.info().logs.values() {
        println!("{}", log.display());
    }
    println!("{}", plane.kubeconfig_file().display());
    println!("held {} {}", plane.server(), postgres.info().admin_url);
    std::future::pending::<()>().await;
    Ok(())
}
