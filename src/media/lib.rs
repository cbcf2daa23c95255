//! Files of media: checked and stored by their hash, and pictures in other sizes and formats.
//!
//! Owns the store of files ([`Files`]), their types and checks, and the pictures made from them ([`Renditions`]). It must
//! not know resources, requests, or the log.

mod accepted;
mod bucket;
mod error;
mod files;
mod folder;
mod hash;
mod inspect;
mod kind;
mod rendition;
mod renditions;
mod upload;
mod workers;

pub use accepted::Accepted;
pub use error::MediaError;
pub use files::{FileStream, Files, Place, StoredFile, Verdict};
pub use hash::Hash;
pub use rendition::{Fit, Format, MadePicture, Rendition, Source, Wanted};
pub use renditions::{RenditionLimits, Renditions};
pub use upload::{Picture, Taken, Upload};
