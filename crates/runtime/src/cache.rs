//! What the API server said last, held whole and small.
