//! The client that controllers write through: fenced by leadership, limited, retried, counted.
