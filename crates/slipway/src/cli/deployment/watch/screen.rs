//! A terminal that is drawn again and again, over what was there before.

use std::io::{Write as _, stdout};

use anyhow::Context as _;
use jiff::Timestamp;
use slipway_contract::deployments::DeploymentDetailReply;

use super::super::view::{Look, view};
use crate::cli::output::colours;

/// What is on the screen.
#[derive(Debug)]
pub(super) struct Screen {
    lines: Vec<String>,
    tick: usize,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), tick: 0 }
    }

    /// Draws it over what is there.
    pub(super) fn draw(
        &mut self,
        detail: &DeploymentDetailReply,
        trouble: Option<&str>,
        now: Timestamp,
        followed: bool,
    ) -> anyhow::Result<()> {
        self.tick = self.tick.wrapping_add(1);
        let (width, height) = size();
        let look = Look { glyphs: true, width, tick: self.tick, followed };
        let mut lines = view(detail, now, look);
        if let Some(trouble) = trouble {
            lines.push(format!("  {}", trouble.chars().take(width.saturating_sub(3)).collect::<String>()));
        }
        // What has scrolled away cannot be drawn over: only as much as fits, the end of it first.
        if followed && lines.len() >= height {
            let heading = lines.first().cloned().unwrap_or_default();
            let hidden = lines.len() + 1 - height.saturating_sub(1).max(3);
            lines.drain(..=hidden.min(lines.len() - 1));
            lines.insert(0, heading);
        }
        if lines == self.lines {
            return Ok(());
        }
        let mut text = String::new();
        if !self.lines.is_empty() {
            text.push_str(&format!("\u{1b}[{}A", self.lines.len()));
        }
        for line in &lines {
            text.push_str(&format!("\r{}\u{1b}[K\n", if colours() { painted(line) } else { line.clone() }));
        }
        text.push_str("\u{1b}[J");
        self.lines = lines;
        let mut out = stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("drawing on the terminal")
    }
}

/// The size of the terminal, with what is usual where nobody says.
fn size() -> (usize, usize) {
    let known =
        rustix::termios::tcgetwinsize(stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or((100, 40), |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Colour for signs alone: words are the same everywhere.
pub(super) fn painted(line: &str) -> String {
    line.replace('✓', "\u{1b}[32m✓\u{1b}[0m").replace('✗', "\u{1b}[31m✗\u{1b}[0m")
}
