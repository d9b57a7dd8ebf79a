//! The metrics of an operator, and the means for authors to add their own.
