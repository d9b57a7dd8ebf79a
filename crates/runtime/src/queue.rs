//! The work queue: each object once, one worker at a time, with patience for those that fail.
