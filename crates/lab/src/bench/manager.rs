//! The manager: its interface under a steady load with as much registered as the specification allows, and its
//! looks at operators on real control planes.

mod fleet;
mod health;
mod load;
mod table;

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use slipway_testkit::charts::{ChartBuilder, ChartRepository};

use self::fleet::{Harbour, OPERATOR};
use self::load::Load;
use super::record;
use super::seen::Seen;
use super::server::Server;

/// How much the manager is given.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Options {
    /// A small run, to try the measurement itself; nothing is written down.
    #[arg(long)]
    pub(super) small: bool,
}

/// The sizes of a run.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    operators: usize,
    clusters: usize,
    planes: usize,
    objects: usize,
    many_objects: usize,
    rounds: usize,
    rate: u32,
    length: Duration,
}

const WHOLE: Sizes = Sizes {
    operators: 500,
    clusters: 100,
    planes: 12,
    objects: 1_000,
    many_objects: 10_000,
    rounds: 30,
    rate: 200,
    length: Duration::from_mins(1),
};

const SMALL: Sizes = Sizes {
    operators: 20,
    clusters: 5,
    planes: 2,
    objects: 50,
    many_objects: 200,
    rounds: 5,
    rate: 50,
    length: Duration::from_secs(5),
};

pub(crate) async fn measure(options: &Options) -> anyhow::Result<()> {
    let sizes = if options.small { SMALL } else { WHOLE };
    let program = super::build("slipway")?;
    println!("starting {} control planes with their objects …", sizes.planes + 1);
    let harbour = Harbour::start(sizes.planes, sizes.objects, sizes.many_objects).await?;
    let server = Server::start(&program, sizes.operators.max(sizes.rate as usize) + 50).await?;
    let empty = server.memory()?;

    let repository = ChartRepository::start().await?;
    repository.add(harbour.chart());
    println!("registering {} clusters …", sizes.clusters);
    let clusters = register_clusters(&server, &harbour, sizes.clusters).await?;
    println!("registering {} operators …", sizes.operators);
    let operators = register_operators(&server, &repository, sizes.operators).await?;
    server.until_seen(OPERATOR, sizes.planes).await?;

    println!("looking at the operator on {} control planes …", sizes.planes);
    let looks = health::measure(&harbour, sizes.rounds).await?;

    let load = Load { rate: sizes.rate, length: sizes.length };
    let mut lists = Vec::new();
    for path in ["operators?limit=20", "operators?limit=100", "clusters?limit=20", "clusters?limit=100"] {
        println!("GET /{path} at {} a second …", sizes.rate);
        let used = server.processor_time()?;
        let seen = load.get(&server, path).await?;
        let used = server.processor_time()?.saturating_sub(used);
        lists.push((path, seen, used.as_secs_f64() / sizes.length.as_secs_f64()));
    }
    let full = server.memory()?;

    let table = table::Table { sizes, clusters, operators, lists, looks, empty, full };
    let text = table.text()?;
    println!("\n{text}");
    if options.small {
        return Ok(());
    }
    record::write("manager", "The manager", &table.explanation(), &text)
}

async fn register_clusters(server: &Server, harbour: &Harbour, wanted: usize) -> anyhow::Result<Seen> {
    let mut bodies: Vec<_> = harbour.occupied().enumerate().map(|(n, plane)| (n, plane, false)).collect();
    // More names for one that is empty: what it costs to know a cluster does not depend on its address.
    let taken = bodies.len();
    bodies.extend((taken..wanted).map(|n| (n, harbour.empty(), n > taken)));
    let bodies = bodies.into_iter().map(|(n, plane, again)| fleet::registration(n, plane, again)).collect();
    server.post_all("clusters", bodies).await.context("registering the clusters")
}

async fn register_operators(
    server: &Server,
    repository: &ChartRepository,
    wanted: usize,
) -> anyhow::Result<Seen> {
    let mut names = vec![OPERATOR.to_owned()];
    for number in 1..wanted {
        let name = format!("operator-{number:03}");
        for version in ["1.0.0", "1.1.0"] {
            let chart = ChartBuilder::new(&name, version).crd("thing.yaml", &fleet::other_crd(number));
            repository.add(&chart.build()?);
        }
        names.push(name);
    }
    let bodies = names.iter().map(|name| fleet::operator(name, &repository.url())).collect();
    server.post_all("operators", bodies).await.context("registering the operators")
}
