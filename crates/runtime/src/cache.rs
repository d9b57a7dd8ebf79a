//! What the API server said last, held whole and small.
//!
//! Objects are kept as the text of their JSON, without the field managers' books, beside the few facts
//! that are asked of every object; whoever needs one as its type decodes it then. That takes a fraction of
//! the memory of decoded objects, and an object that cannot be decoded is the trouble of whoever asks for
//! it, never of the watch. What this process itself wrote is put in from the reply, so that it reads its
//! own writes.

mod held;
mod informer;
mod key;
mod store;
mod text;

pub use held::{Held, Meta, Owner};
pub use informer::{Informer, InformerOptions, Scope};
pub use key::ObjectKey;
pub use store::{Change, Store};
