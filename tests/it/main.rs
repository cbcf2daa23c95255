//! Everything that is driven from outside.

