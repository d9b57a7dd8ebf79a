//! The guide, read as what it asks its reader to do.

use std::fs;
use std::path::Path;

/// The guide, by its blocks.
pub(crate) struct Guide {
    blocks: Vec<(String, String)>,
}

/// A command of the guide, and what it shall print.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) output: String,
}

pub(crate) fn repository_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Name and version of a line in a list of dependencies.
pub(crate) fn dependency(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" = ")?;
    let rest = rest.strip_prefix("{ version = ").unwrap_or(rest);
    rest.strip_prefix('"')?.split_once('"').map(|(version, _)| (name, version))
}

impl Guide {
    pub(crate) fn read() -> Self {
        Self::of("docs/guide/write-an-operator.md")
    }

    pub(crate) fn of(file: &str) -> Self {
        let text = repository_file(file);
        let mut blocks = Vec::new();
        let mut open: Option<(String, String)> = None;
        for line in text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(language)) => open = Some((language.to_owned(), String::new())),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some((_, block)), None) => {
                    block.push_str(line);
                    block.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "a block of the guide has no end");
        Self { blocks }
    }

    /// The first block in a language.
    pub(crate) fn block(&self, language: &str) -> &str {
        let found = self.blocks.iter().find(|(known, _)| known == language);
        found.map_or_else(|| panic!("no block of {language}"), |(_, block)| block.as_str())
    }

    /// What follows these words in a line of any block.
    pub(crate) fn line(&self, beginning: &str) -> Option<&str> {
        self.blocks.iter().flat_map(|(_, block)| block.lines()).find_map(|line| line.strip_prefix(beginning))
    }

    /// The commands with what they print, in their order.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (_, block) in self.blocks.iter().filter(|(language, _)| language == "console") {
            for line in block.lines() {
                if let Some(command) = line.strip_prefix("$ ") {
                    steps.push(Step { command: command.to_owned(), output: String::new() });
                } else if let Some(step) = steps.last_mut() {
                    step.output.push_str(line);
                    step.output.push('\n');
                }
            }
        }
        steps
    }
}

/// Whether a text is what is expected, where `…` stands for anything and columns may be wider.
pub(crate) fn like(expected: &str, text: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (expected, text) = (words(expected), words(text));
    let mut rest = text.as_str();
    for (number, part) in expected.split('…').enumerate() {
        let found = if number == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || expected.ends_with('…')
}

#[test]
fn dots_stand_for_anything_and_nothing_else_does() {
    assert!(like("a  b\n", "a b"));
    assert!(like("{\"x\":\"…\",\"y\":1}", "{\"x\":\"anything\",\"y\":1}"));
    assert!(like("HOLDER AGE\nx …", "HOLDER    AGE\nx   vm-1   3s\n"));
    assert!(!like("a", "ab") && !like("a…c", "ab") && !like("…b", "abc") && !like("", "x"));
}
