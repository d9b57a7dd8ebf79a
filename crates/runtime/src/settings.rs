//! Flags, environment and configuration file of an operator.
