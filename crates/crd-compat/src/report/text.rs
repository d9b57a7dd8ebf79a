//! Reports for people at a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::group::{Group, groups};
use super::{Report, SetReport, counted, yaml};
use crate::finding::{Finding, Outcome, Severity, Witness};
use crate::rollback::Verdict;

/// How a report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// With colours.
    pub color: bool,
    /// With every finding, instead of what matters.
    pub all: bool,
}

/// Groups of one severity that are shown; the rest is counted.
const SHOWN: usize = 12;

/// Places named beside the first.
const ALIKE: usize = 3;

/// Witnesses that are shown for one definition; the others are in the JSON report.
const WITNESSES: usize = 3;

/// Lines of one witness.
const WITNESS_LINES: usize = 14;

/// Where the text of a finding begins.
const MARGIN: usize = 12;

/// The width lines are broken at.
const WIDTH: usize = 108;

/// The report for people.
pub fn text(report: &SetReport, options: TextOptions) -> String {
    let mut page = Page { out: String::new(), options };
    for crd in &report.crds {
        page.crd(crd);
        page.out.push('\n');
    }
    page.going_back(report);
    page.verdict(report);
    page.out
}

struct Page {
    out: String,
    options: TextOptions,
}

impl Page {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.options.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn severity(&self, severity: Severity) -> String {
        let code = match severity {
            Severity::Breaking => "1;31",
            Severity::Risky => "33",
            Severity::Safe => "32",
        };
        self.paint(code, &format!("{severity:<10}"))
    }

    fn crd(&mut self, crd: &Report) {
        let mut versions: Vec<&str> =
            crd.findings.iter().filter_map(|finding| finding.version.as_deref()).collect();
        versions.sort_unstable();
        versions.dedup();
        let name = self.paint("1", &crd.name);
        let _ = writeln!(self.out, "{}", format!("{name}  {}", versions.join(", ")).trim_end());
        let several = versions.len() > 1;
        self.section(crd, Severity::Breaking, several);
        self.section(crd, Severity::Risky, several);
        self.safe(crd, several);
        self.waived(crd);
    }

    fn section(&mut self, crd: &Report, severity: Severity, several: bool) {
        let mut topics = topics(&crd.findings, severity, self.options.all);
        // What is lost without a word is worse than what is refused with one.
        topics.sort_by_key(|topic| !loses(topic));
        let shown = if self.options.all { topics.len() } else { SHOWN };
        let mut witnesses = 0;
        for topic in topics.iter().take(shown) {
            self.topic(topic, severity, several, &mut witnesses);
        }
        if topics.len() > shown {
            let rest = topics.len() - shown;
            self.line(&format!("and {rest} more of these; --all shows them"));
        }
    }

    fn topic(&mut self, topic: &[Group<'_>], severity: Severity, several: bool, witnesses: &mut usize) {
        let Some((group, alike)) = topic.split_first() else { return };
        let finding = group.first;
        let version = match &finding.version {
            // What is said of a version names it; what is said of a field does not.
            Some(version) if several && finding.path.starts_with('.') => format!("{version} "),
            _ => String::new(),
        };
        let more = match group.others.len() {
            0 => String::new(),
            others => format!(", and at {}", counted(others, "other place", "other places")),
        };
        let headline = format!("{version}{}{more}", short(&finding.headline));
        let follows = full_stop(&capital(&short(&finding.consequence)));
        let label = self.severity(severity);
        // A short consequence stands beside its cause.
        let beside = severity != Severity::Breaking
            && headline.chars().count() + follows.chars().count() + 4 <= WIDTH - MARGIN;
        let first = if beside { format!("{headline}    {}", short(&finding.consequence)) } else { headline };
        let mut lines = wrap(&first, WIDTH - MARGIN).into_iter();
        let _ = writeln!(self.out, "  {label}{}", lines.next().unwrap_or_default());
        for line in lines {
            self.line(&line);
        }
        if severity == Severity::Breaking {
            let whom: Vec<&str> = finding.hits.iter().map(|hit| hit.whom()).collect();
            let hits = if whom.is_empty() { String::new() } else { format!("Hits {}.", join(&whom)) };
            let sentences = [follows, hits, finding.remedy.clone()];
            let told: Vec<String> = sentences.into_iter().filter(|part| !part.is_empty()).collect();
            self.paragraph(&told.join(" "));
        } else if !beside {
            self.paragraph(&follows);
        }
        if self.options.all {
            for other in &group.others {
                self.line(&format!("also {}", other.path));
            }
        }
        if !alike.is_empty() {
            let mut named: Vec<&str> = Vec::new();
            for group in alike {
                // Findings about the definition share a place; what they say tells them apart.
                let of_object = group.first.path.starts_with('.');
                named.push(if of_object { &group.first.path } else { &group.first.headline });
            }
            let places: usize = alike.iter().skip(ALIKE).map(Group::places).sum();
            named.truncate(ALIKE);
            let rest = if places > 0 { format!(" and {places} more") } else { String::new() };
            self.paragraph(&format!("Likewise {}{rest}.", named.join(", ")));
        }
        if severity == Severity::Breaking {
            self.proof(finding, witnesses);
        }
    }

    fn paragraph(&mut self, text: &str) {
        for line in wrap(text, WIDTH - MARGIN) {
            self.line(&line);
        }
    }

    fn proof(&mut self, finding: &Finding, witnesses: &mut usize) {
        match (&finding.witness, &finding.witness_missing_reason) {
            (Some(witness), _) if self.options.all || *witnesses < WITNESSES => {
                *witnesses += 1;
                self.witness(witness);
            }
            (None, Some(reason)) => {
                self.paragraph(&format!("No object shows it: {reason}."));
            }
            _ => {}
        }
    }

    fn witness(&mut self, witness: &Witness) {
        let mut lines = yaml::lines(&witness.object);
        if lines.len() > WITNESS_LINES && !self.options.all {
            let rest = lines.len() - WITNESS_LINES;
            lines.truncate(WITNESS_LINES);
            lines.push(format!("# {rest} more lines"));
        }
        let fate = match witness.outcome {
            Outcome::Refused => "accepted before, refused now".to_owned(),
            Outcome::Pruned => format!("kept whole before, now loses {}", witness.reasons.join(", ")),
        };
        let last = lines.len().saturating_sub(1);
        let mut told = false;
        for (index, line) in lines.iter().enumerate() {
            let bar = self.paint("2", "│");
            let fits = MARGIN + line.chars().count() + fate.chars().count() + 6 <= WIDTH;
            told |= index == last && fits;
            let note = if told { format!("    {}", self.paint("3", &fate)) } else { String::new() };
            let _ = writeln!(self.out, "{}{bar} {line}{note}", " ".repeat(MARGIN));
        }
        if !told {
            let end = self.paint("2", "└");
            let fate = self.paint("3", &fate);
            let _ = writeln!(self.out, "{}{end} {fate}", " ".repeat(MARGIN));
        }
    }

    fn safe(&mut self, crd: &Report, several: bool) {
        let findings: Vec<&Finding> = crd
            .findings
            .iter()
            .filter(|finding| finding.counts() && finding.severity == Severity::Safe)
            .collect();
        let label = self.severity(Severity::Safe);
        if self.options.all && !findings.is_empty() {
            for finding in findings {
                let version = finding.version.as_deref().filter(|_| several).unwrap_or_default();
                let text = format!("{version} {}", short(&finding.message));
                let _ = writeln!(self.out, "  {label}{}", text.trim_start());
            }
            return;
        }
        if findings.is_empty() {
            if crd.findings.is_empty() {
                let _ = writeln!(self.out, "  {label}no difference that matters");
            }
            return;
        }
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &findings {
            *kinds.entry(finding.id).or_default() += 1;
        }
        let mut counts: Vec<(usize, &str)> = kinds.into_iter().map(|(id, count)| (count, id)).collect();
        counts.sort_by_key(|(count, id)| (std::cmp::Reverse(*count), *id));
        let phrases: Vec<String> = counts.iter().take(6).map(|(count, id)| phrase(*count, id)).collect();
        let more: usize = counts.iter().skip(6).map(|(count, _)| count).sum();
        let more = if more > 0 { format!(", {}", counted(more, "other", "others")) } else { String::new() };
        let sentence = format!("{}{more}    --all shows them", phrases.join(", "));
        let mut lines = wrap(&sentence, WIDTH - MARGIN).into_iter();
        let _ = writeln!(self.out, "  {label}{}", lines.next().unwrap_or_default());
        for line in lines {
            self.line(&line);
        }
    }

    fn waived(&mut self, crd: &Report) {
        for finding in &crd.findings {
            let Some(waiver) = &finding.waived_by else { continue };
            let until = waiver.expires.strftime("%Y-%m-%d");
            let label = self.paint("2", "waived    ");
            let headline = short(&finding.headline);
            let _ = writeln!(self.out, "  {label}{headline}");
            self.line(&format!("{} accepts it until {until}: {}", waiver.who, waiver.reason));
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", " ".repeat(MARGIN));
    }

    fn going_back(&mut self, report: &SetReport) {
        let worst = report.crds.iter().map(|crd| crd.rollback.verdict).max().unwrap_or(Verdict::Reversible);
        let mut told: Vec<String> = Vec::new();
        let several = report.crds.len() > 1;
        let affected: Vec<&Report> = report.crds.iter().filter(|crd| crd.rollback.verdict == worst).collect();
        if worst > Verdict::Reversible {
            for crd in affected.iter().take(3) {
                let reasons: Vec<String> = crd.rollback.reasons.iter().map(|reason| short(reason)).collect();
                let reasons = reasons.join("; ");
                told.push(if several { format!("{}: {reasons}", crd.name) } else { reasons });
            }
            if affected.len() > 3 {
                told.push(format!("and so for {} more", affected.len() - 3));
            }
        } else if let Some(reason) = affected.first().and_then(|crd| crd.rollback.reasons.first()) {
            told.push(if several {
                "every object the new definitions allow is fine under the old ones".into()
            } else {
                reason.clone()
            });
        }
        let mut lines: Vec<String> = Vec::new();
        for (index, part) in told.iter().enumerate() {
            let lead = if index == 0 { format!("{}: ", worst.as_str()) } else { String::new() };
            lines.extend(wrap(&format!("{lead}{part}"), WIDTH - MARGIN));
        }
        let label = self.paint("1", "Going back");
        for (index, line) in lines.iter().enumerate() {
            if index == 0 {
                let _ = writeln!(self.out, "{label}  {line}");
            } else {
                self.line(line);
            }
        }
    }

    fn verdict(&mut self, report: &SetReport) {
        let (breaking, risky) = (report.count(Severity::Breaking), report.count(Severity::Risky));
        let mut counts = Vec::new();
        if breaking > 0 {
            counts.push(format!("{breaking} breaking"));
        }
        if risky > 0 {
            counts.push(format!("{risky} risky"));
        }
        let crds = counted(report.crds.len(), "CRD", "CRDs");
        let (word, code) = match report.verdict {
            Severity::Breaking => ("breaking", 1),
            Severity::Risky => ("compatible, with risks", 0),
            Severity::Safe => ("compatible", 0),
        };
        let word = match report.verdict {
            Severity::Breaking => self.paint("1;31", word),
            Severity::Risky => self.paint("33", word),
            Severity::Safe => self.paint("32", word),
        };
        let counts = if counts.is_empty() { "no finding that matters".to_owned() } else { counts.join(", ") };
        let label = self.paint("1", "Verdict");
        let _ = writeln!(self.out, "{label}     {word}: {counts} in {crds}    exit {code}");
    }
}

/// Groups that come from the same rule; with `all`, every group on its own.
fn topics(findings: &[Finding], severity: Severity, all: bool) -> Vec<Vec<Group<'_>>> {
    let mut topics: Vec<Vec<Group<'_>>> = Vec::new();
    for group in groups(findings, severity) {
        let about =
            |group: &Group<'_>| (group.first.id, group.first.version.clone(), group.first.hits.clone());
        let same = |topic: &&mut Vec<Group<'_>>| topic.first().map(about) == Some(about(&group));
        match topics.iter_mut().find(same).filter(|_| !all) {
            Some(topic) => topic.push(group),
            None => topics.push(vec![group]),
        }
    }
    topics
}

fn loses(topic: &[Group<'_>]) -> bool {
    let witness = topic.first().and_then(|group| group.first.witness.as_ref());
    witness.is_some_and(|witness| witness.outcome == Outcome::Pruned)
}

/// A few words for a number of safe findings.
fn phrase(count: usize, id: &str) -> String {
    let (one, many) = match id {
        "field-added" => ("field added", "fields added"),
        "description-changed" => ("description changed", "descriptions changed"),
        "required-removed" => ("field no longer required", "fields no longer required"),
        "required-added" => ("field required but filled in", "fields required but filled in"),
        "printer-column-added" => ("column added", "columns added"),
        "crd-metadata-changed" => ("label or annotation changed", "labels or annotations changed"),
        "pattern-removed" => ("pattern removed", "patterns removed"),
        "cel-rule-removed" => ("rule removed", "rules removed"),
        "version-added" => ("version added", "versions added"),
        other => {
            let words = other.replace('-', " ");
            return format!("{count} × {words}");
        }
    };
    counted(count, one, many)
}

/// Long texts, such as patterns and rules, are cut.
fn short(text: &str) -> String {
    const MOST: usize = 260;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= MOST {
        return text;
    }
    format!("{}…", text.chars().take(MOST).collect::<String>())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn full_stop(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn join(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.join(""),
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += size;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}
