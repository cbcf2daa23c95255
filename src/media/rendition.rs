//! Requests for a picture in another size or format.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// The picture that renditions are made of, with the properties that its upload found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The hash of the stored file.
    pub hash: Hash,
    /// Its type.
    pub mime: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The width in pixels, as the picture is shown.
    pub width: u32,
    /// The height in pixels, as the picture is shown.
    pub height: u32,
    /// Is true if the picture has more than one frame.
    pub is_animated: bool,
}

/// The wanted picture. A picture is never enlarged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// The width in pixels. If only one of width and height is set, the other follows from the proportions.
    pub width: Option<u32>,
    /// The height in pixels.
    pub height: Option<u32>,
    /// The treatment of other proportions.
    pub fit: Fit,
    /// The format.
    pub format: Format,
    /// 1 to 100; the default of the format if it is not set. Ignored for PNG.
    pub quality: Option<u8>,
    /// The point that `Fit::Cover` keeps in view: 0 to 1 from the left, and 0 to 1 from the top.
    pub focal: (f32, f32),
}

/// The treatment of a picture whose proportions differ from those of the wanted size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// Fills the wanted size, and cuts off what does not fit, around the focal point.
    Cover,
    /// Fits into the wanted size, and fills the rest: transparent, or white for JPEG.
    Contain,
    /// Fits into the wanted size. The result may be smaller on one side.
    Inside,
}

/// The format of a rendition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// AVIF. Smallest, and slowest to make.
    Avif,
    /// WebP. The only one in which animated pictures stay animated.
    Webp,
    /// JPEG. Transparent parts become white.
    Jpeg,
    /// PNG, without losses.
    Png,
}

impl Format {
    /// Returns the media type.
    pub fn mime(self) -> &'static str {
        match self {
            Format::Avif => "image/avif",
            Format::Webp => "image/webp",
            Format::Jpeg => "image/jpeg",
            Format::Png => "image/png",
        }
    }
}

/// The answer to a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendition {
    /// A picture in the wanted size and format.
    Made(MadePicture),
    /// The original file, to be served as it is: its format is not decoded (SVG, AVIF, HEIC, BMP, ICO), it has too many
    /// frames, or it is smaller than a rendition of the same size and format.
    Original,
    /// The original file, because it cannot be decoded any more. It may be damaged, so this answer must not be cached
    /// for long.
    Failed,
}

/// A picture that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePicture {
    /// The media type.
    pub mime: &'static str,
    /// The contents.
    pub bytes: Bytes,
    /// A text that is the same for the same source and wish, for an `ETag`. It has only hexadecimal digits.
    pub tag: String,
}
