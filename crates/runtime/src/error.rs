//! What can go wrong in a reconcile, by what to do about it.
