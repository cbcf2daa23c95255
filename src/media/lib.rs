//! Files of media.
