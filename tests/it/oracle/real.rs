//! The same comparison on real content, where a folder with it is given.
