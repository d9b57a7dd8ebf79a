//! Brings children to what they should be: creates, applies, prunes, and writes nothing when nothing differs.
