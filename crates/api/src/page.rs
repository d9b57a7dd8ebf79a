//! Parts of lists on the wire.

use slipway_contract::page::PageInfo;
use slipway_domain::problem::Problems;
use slipway_orchestrator::page::{Page, Window};

/// The part that is asked for, or what is wrong with the question beside other problems.
pub(crate) fn window(limit: Option<i64>, offset: Option<i64>, problems: &mut Problems) -> Window {
    Window::new(limit, offset).unwrap_or_else(|wrong| {
        for problem in &wrong {
            problems.add(problem.path.clone(), &problem.message);
        }
        Window { limit: 1, offset: 0 }
    })
}

/// What comes with a part of a list.
pub(crate) fn info<T>(page: &Page<T>) -> PageInfo {
    let has_more = page.has_more();
    PageInfo {
        total: page.total,
        limit: page.window.limit,
        offset: page.window.offset,
        has_more,
        next_offset: has_more.then(|| page.window.offset + page.items.len() as u64),
    }
}
