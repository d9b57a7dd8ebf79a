//! Parts of long lists.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How much of a list is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
pub struct PageQuery {
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// What comes with every list, beside its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageInfo {
    /// How many there are in all.
    pub total: u64,
    /// How many were asked for.
    pub limit: u32,
    /// After how many.
    pub offset: u64,
    /// Whether more follows.
    pub has_more: bool,
    /// The offset of what follows.
    pub next_offset: Option<u64>,
}
