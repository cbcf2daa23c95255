//! Computes the part of a picture that is shown, and its size. Must not know pixels.

use image::metadata::Orientation;

use crate::rendition::{Fit, Wanted};

/// The longest side of a rendition, which is the limit of WebP.
const MAX_SIDE: f64 = 16_383.0;
/// The number of pixels of a rendition. Encoding one as AVIF takes some 20 bytes and a microsecond for each.
const MAX_PIXELS: f64 = 16_000_000.0;

/// A rectangle in pixels of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rectangle {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// The way from a source to a rendition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// The part of the source that is shown, in the source as it is shown.
    pub(crate) crop: Rectangle,
    /// The size to which this part is resized.
    pub(crate) size: (u32, u32),
    /// The size of the result, in the middle of which the part is put.
    pub(crate) canvas: (u32, u32),
}

/// Plans a rendition of a source of this size.
pub(crate) fn plan(width: u32, height: u32, wanted: &Wanted) -> Plan {
    let whole = Rectangle { left: 0.0, top: 0.0, width: f64::from(width), height: f64::from(height) };
    let (wanted_width, wanted_height) = (wanted.width.map(at_least_one), wanted.height.map(at_least_one));
    match (wanted_width, wanted_height) {
        (Some(w), Some(h)) => match wanted.fit {
            Fit::Cover => cover(whole, w, h, wanted.focal),
            Fit::Contain => contain(whole, w, h),
            Fit::Inside => scaled(whole, (w / whole.width).min(h / whole.height)),
        },
        (Some(w), None) => scaled(whole, w / whole.width),
        (None, Some(h)) => scaled(whole, h / whole.height),
        (None, None) => scaled(whole, 1.0),
    }
}

fn at_least_one(length: u32) -> f64 {
    f64::from(length.max(1))
}

/// Resizes a part by a factor, but never enlarges it.
fn scaled(crop: Rectangle, factor: f64) -> Plan {
    let factor = factor.min(1.0).min(bound(crop.width, crop.height));
    let size = rounded(crop.width * factor, crop.height * factor);
    Plan { crop, size, canvas: size }
}

/// The largest part with the wanted proportions, as close to the focal point as possible.
fn cover(whole: Rectangle, w: f64, h: f64, focal: (f32, f32)) -> Plan {
    let width = whole.width.min(whole.height * w / h);
    let height = whole.height.min(whole.width * h / w);
    let start = |focal: f32, all: f64, part: f64| {
        let middle = if focal.is_finite() { f64::from(focal.clamp(0.0, 1.0)) } else { 0.5 } * all;
        (middle - part / 2.0).clamp(0.0, (all - part).max(0.0))
    };
    let (left, top) = (start(focal.0, whole.width, width), start(focal.1, whole.height, height));
    scaled(Rectangle { left, top, width, height }, w / width)
}

/// The whole picture in a canvas with the wanted proportions. If the canvas is larger than the picture on both sides,
/// it becomes smaller until they touch.
fn contain(whole: Rectangle, w: f64, h: f64) -> Plan {
    let shrink = (whole.width / w).max(whole.height / h).min(1.0).min(bound(w, h));
    let (w, h) = (w * shrink, h * shrink);
    let plan = scaled(whole, (w / whole.width).min(h / whole.height));
    let canvas = rounded(w, h);
    Plan { canvas: (canvas.0.max(plan.size.0), canvas.1.max(plan.size.1)), ..plan }
}

/// Returns the largest factor by which a size stays within the bounds of a rendition.
fn bound(width: f64, height: f64) -> f64 {
    (MAX_SIDE / width.max(height)).min((MAX_PIXELS / (width * height)).sqrt())
}

fn rounded(width: f64, height: f64) -> (u32, u32) {
    (width.round().max(1.0) as u32, height.round().max(1.0) as u32)
}

/// Returns where a part of the shown picture is in the stored one. `size` is the size of the shown picture.
pub(crate) fn stored(part: Rectangle, size: (u32, u32), orientation: Orientation) -> Rectangle {
    let Rectangle { left, top, width, height } = part;
    let right = (f64::from(size.0) - left - width).max(0.0);
    let bottom = (f64::from(size.1) - top - height).max(0.0);
    let turned = Rectangle { left: top, top: left, width: height, height: width };
    match orientation {
        Orientation::NoTransforms => part,
        Orientation::FlipHorizontal => Rectangle { left: right, ..part },
        Orientation::Rotate180 => Rectangle { left: right, top: bottom, ..part },
        Orientation::FlipVertical => Rectangle { top: bottom, ..part },
        Orientation::Rotate90FlipH => turned,
        Orientation::Rotate90 => Rectangle { top: right, ..turned },
        Orientation::Rotate270FlipH => Rectangle { left: bottom, top: right, ..turned },
        Orientation::Rotate270 => Rectangle { left: bottom, ..turned },
    }
}
