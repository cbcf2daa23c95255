//! Files of media: checked and stored by their hash, and pictures in other sizes and formats.
//!
//! Owns the store of files ([`Files`]), their types and checks, and the pictures made from them ([`Renditions`]). It
//! must not know resources, requests, or the log.

mod accepted;
mod animate;
mod bucket;
mod cache;
mod clean;
mod decode;
mod encode;
mod error;
mod files;
mod folder;
mod geometry;
mod hash;
mod inspect;
mod kind;
mod pixels;
mod render;
mod rendition;
mod renditions;
mod size;
mod svg;
#[cfg(test)]
mod tests;
mod turns;
mod upload;
mod workers;

pub use accepted::Accepted;
pub use error::MediaError;
pub use files::{FileStream, Files, Place, StoredFile, Verdict};
pub use hash::Hash;
pub use rendition::{Fit, Format, MadePicture, Rendition, Source, Wanted};
pub use renditions::{RenditionLimits, Renditions};
pub use upload::{Picture, Taken, Upload};
