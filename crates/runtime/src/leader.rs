//! Leader election on a Lease: who may write.
