use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Header;

use super::*;

const CHART: &str = "apiVersion: v2\nname: greeter\nversion: 1.0.0\n";

/// An archive of anything, with names that a packer would refuse to write.
fn pack(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (kind, name, content) in entries {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_size(0);
            header.as_gnu_mut().unwrap().linkname[..content.len()].copy_from_slice(content);
        }
        header.set_cksum();
        archive.append(&header, if header.size().unwrap() == 0 { &[][..] } else { *content }).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn file<'a>(name: &'a str, content: &'a [u8]) -> (EntryType, &'a str, &'a [u8]) {
    (EntryType::Regular, name, content)
}

fn refused(entries: &[(EntryType, &str, &[u8])]) -> String {
    Chart::read(&pack(entries), &Limits::default()).unwrap_err()
}

#[test]
fn definitions_are_found_in_the_chart_and_in_its_parts() {
    let part =
        pack(&[file("part/Chart.yaml", b"name: part\nversion: 2.0.0\n"), file("part/crds/b.yaml", b"b: 1")]);
    let chart = pack(&[
        file("greeter/Chart.yaml", CHART.as_bytes()),
        file("greeter/crds/a.yaml", b"a: 1"),
        file("greeter/crds/nested/c.json", b"{}"),
        file("greeter/crds/README.md", b"no"),
        file("greeter/charts/loose/crds/d.yml", b"d: 1"),
        file("greeter/charts/part-2.0.0.tgz", &part),
        file("greeter/templates/x.yaml", b"{{ x }}"),
    ]);
    let chart = Chart::read(&chart, &Limits::default()).unwrap();
    assert_eq!((chart.name.as_str(), chart.version.as_str()), ("greeter", "1.0.0"));
    let found: Vec<&str> = chart.crds.keys().map(String::as_str).collect();
    assert_eq!(
        found,
        ["charts/loose/crds/d.yml", "charts/part-2.0.0.tgz/crds/b.yaml", "crds/a.yaml", "crds/nested/c.json"]
    );
}

#[test]
fn paths_that_lead_out_of_the_archive_are_refused() {
    let chart = file("greeter/Chart.yaml", CHART.as_bytes());
    for bad in ["greeter/../../etc/passwd", "/etc/passwd", "../x", "greeter/crds/../../../x.yaml"] {
        let why = refused(&[chart, file(bad, b"x")]);
        assert!(why.contains("leads out of the archive"), "{bad}: {why}");
    }
    assert!(refused(&[chart, file("other/x", b"x")]).contains("outside of the chart's own directory"));
    assert!(refused(&[chart, file("x", b"x")]).contains("outside of the chart's own directory"));
}

#[test]
fn links_and_devices_are_refused() {
    let chart = file("greeter/Chart.yaml", CHART.as_bytes());
    let why = refused(&[chart, (EntryType::Symlink, "greeter/crds/a.yaml", b"/etc/shadow")]);
    assert_eq!(why, "greeter/crds/a.yaml is a link, which a chart must not hold");
    assert!(refused(&[chart, (EntryType::Link, "greeter/x", b"greeter/Chart.yaml")]).contains("is a link"));
    assert!(
        refused(&[chart, (EntryType::Block, "greeter/x", b"")]).contains("neither a file nor a directory")
    );
    assert!(
        refused(&[chart, (EntryType::Fifo, "greeter/x", b"")]).contains("neither a file nor a directory")
    );
}

#[test]
fn what_unpacks_to_too_much_is_refused() {
    let limits = Limits { unpacked: 1 << 20, files: 50, ..Limits::default() };
    let chart = file("greeter/Chart.yaml", CHART.as_bytes());
    let bomb = pack(&[chart, file("greeter/templates/x.yaml", &vec![b' '; 4 << 20])]);
    assert!(bomb.len() < 10_000, "it is small packed");
    assert!(Chart::read(&bomb, &limits).unwrap_err().contains("larger than a chart may be"));
    // Within a part, and spread over parts, it counts the same.
    let part = pack(&[file("p/crds/x.yaml", &vec![b' '; 700 << 10])]);
    let spread = pack(&[chart, file("greeter/charts/a.tgz", &part), file("greeter/charts/b.tgz", &part)]);
    assert!(Chart::read(&spread, &limits).unwrap_err().contains("larger than a chart may be"));
    let many: Vec<String> = (0..60).map(|n| format!("greeter/templates/{n}.yaml")).collect();
    let many: Vec<_> = std::iter::once(chart).chain(many.iter().map(|name| file(name, b"x"))).collect();
    assert_eq!(Chart::read(&pack(&many), &limits).unwrap_err(), "it holds too many files");
    let mut nested = pack(&[file("p/crds/x.yaml", b"x: 1")]);
    for _ in 0..6 {
        nested = pack(&[file("p/charts/p.tgz", &nested)]);
    }
    let nested = pack(&[chart, file("greeter/charts/p.tgz", &nested)]);
    assert!(Chart::read(&nested, &limits).unwrap_err().contains("within each other"));
}

#[test]
fn what_is_no_chart_is_said_to_be_none() {
    assert!(Chart::read(b"not an archive", &Limits::default()).unwrap_err().contains("cannot be unpacked"));
    assert_eq!(refused(&[file("greeter/values.yaml", b"a: 1")]), "it holds no Chart.yaml");
    assert!(refused(&[file("greeter/Chart.yaml", b"[]")]).contains("Chart.yaml cannot be read"));
    let twice = file("greeter/Chart.yaml", CHART.as_bytes());
    assert_eq!(refused(&[twice, twice]), "it holds Chart.yaml twice");
    assert!(refused(&[file("greeter/Chart.yaml", &[0xff, 0xfe])]).contains("is no text"));
    let cut = pack(&[twice]);
    assert!(Chart::read(&cut[..cut.len() / 2], &Limits::default()).is_err());
}

#[test]
fn what_may_render_definitions_is_told_by_its_words() {
    let may = |entries: &[(&str, &str)]| {
        let mut all = vec![file("greeter/Chart.yaml", CHART.as_bytes())];
        all.extend(entries.iter().map(|(name, text)| file(name, text.as_bytes())));
        Chart::read(&pack(&all), &Limits::default()).unwrap().may_render_crds
    };
    let kind = "kind: CustomResourceDefinition";
    // What is in `crds/` is read without helm, and nobody renders a README.
    assert!(!may(&[
        ("greeter/crds/a.yaml", kind),
        ("greeter/README.md", kind),
        ("greeter/templates/x.yaml", "a: 1")
    ]));
    assert!(may(&[("greeter/templates/crds/a.yaml", kind)]));
    assert!(may(&[("greeter/values.yaml", kind)]), "as an object to add");
    assert!(may(&[("greeter/charts/loose/templates/a.tpl", kind)]));
    assert!(may(&[("greeter/templates/a.yaml", "{{ .Files.Get \"crds/a.yaml\" }}")]), "with changes, maybe");
    let part = pack(&[
        file("part/Chart.yaml", b"name: part\nversion: 2.0.0\n"),
        file("part/templates/b.yaml", kind.as_bytes()),
    ]);
    let whole =
        pack(&[file("greeter/Chart.yaml", CHART.as_bytes()), file("greeter/charts/part-2.0.0.tgz", &part)]);
    assert!(Chart::read(&whole, &Limits::default()).unwrap().may_render_crds);
}
