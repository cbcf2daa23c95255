//! Removes metadata from pictures without decoding them: positions, names of cameras and people, texts, thumbnails.
//!
//! - JPEG, PNG and WebP: only the parts that a viewer needs stay, with the color profile. A rotation is kept as EXIF
//!   data with only this one entry, because browsers apply it.
//! - GIF: comments, texts and data of applications are removed. The number of repetitions and the profile stay.
//! - AVIF, HEIC: EXIF and XMP items are overwritten with zeros, so that no offset changes, and so is what a phone adds,
//!   such as a short video.
//! - TIFF: all values are overwritten with zeros that do not say how the pixels are stored. CR2: the position, XMP and
//!   IPTC.
//! - MP4, MOV, 3GP, M4A: metadata and the tracks of sensors are overwritten with zeros.
//!
//! Bytes behind the end are dropped, except those of a TIFF. Not cleaned: color profiles, SVG, pictures in other
//! formats (BMP, ICO, other raw ones), other video and audio, and files that are neither: PDF, office documents.

mod exif;
mod gif;
mod heif;
mod jpeg;
mod png;
mod tiff;
mod video;
mod webp;

use crate::decode::Raster;

pub(crate) use gif::clean as clean_gif;
pub(crate) use heif::{clean as clean_heif, size as size_of_heif};
pub(crate) use jpeg::{clean as clean_jpeg, scratch as scratch_of_jpeg};
pub(crate) use png::clean as clean_png;
pub(crate) use tiff::{check as check_tiff, clean as clean_tiff, clean_raw};
pub(crate) use video::{Container, InPlace, clean as clean_boxes};
pub(crate) use webp::clean as clean_webp;

use crate::error::MediaError;

/// A picture without metadata.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// The file.
    pub(crate) bytes: Vec<u8>,
    /// The number of frames. It is 1 for formats without animation.
    pub(crate) frames: u64,
    /// The number of times that a decoder visits each pixel: more than one for a progressive JPEG.
    pub(crate) scans: u64,
    /// The bytes for each pixel that the decoder needs beside its result.
    pub(crate) scratch: u64,
}

/// Returns true if a picture has more than one frame. `head` are the first bytes of the file.
///
/// # Errors
/// `BrokenPicture` if that depends on bytes behind them.
pub(crate) fn is_animated(kind: Raster, head: &[u8]) -> Result<bool, MediaError> {
    match kind {
        Raster::Gif => gif::is_animated(head),
        Raster::Webp => webp::is_animated(head),
        Raster::Png => png::is_animated(head),
        Raster::Jpeg | Raster::Tiff => Ok(false),
    }
}

impl Cleaned {
    fn still(bytes: Vec<u8>) -> Cleaned {
        Cleaned { bytes, frames: 1, scans: 1, scratch: 0 }
    }
}

/// A position in a file. Reads fail with `BrokenPicture` at its end.
struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0 }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], MediaError> {
        let end = self.position.checked_add(length).filter(|&end| end <= self.bytes.len()).ok_or_else(cut_off)?;
        let taken = &self.bytes[self.position..end];
        self.position = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MediaError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, MediaError> {
        Ok(self.array::<1>()?[0])
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }
}

fn cut_off() -> MediaError {
    MediaError::broken("the file ends before the picture does")
}
