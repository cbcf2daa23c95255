//! Makes an animated WebP of an animation, frame by frame, so that only two frames are in memory.

use image::RgbaImage;

use crate::decode::{Animation, failed};
use crate::encode;
use crate::error::MediaError;

/// Browsers show frames with a shorter time for this time.
const DEFAULT_MILLISECONDS: u32 = 100;
const SHORTEST_MILLISECONDS: u32 = 10;
/// The time of a frame has 24 bits.
const LONGEST_MILLISECONDS: u32 = 0xFF_FFFF;

/// Flags of the chunk `VP8X`.
const HAS_ANIMATION: u8 = 0x02;
const HAS_ALPHA: u8 = 0x10;
/// The flag of a frame that replaces the pixels under it.
const REPLACES: u8 = 0x02;

/// Encodes the frames of an animation after `change`, which gives all of them the same size.
pub(crate) fn encode(
    animation: Animation<'_>,
    quality: u8,
    max_frames: usize,
    mut change: impl FnMut(RgbaImage) -> Result<RgbaImage, MediaError>,
) -> Result<Vec<u8>, MediaError> {
    let mut writer = Writer::default();
    for frame in animation.frames.take(max_frames) {
        let frame = frame.map_err(failed)?;
        let (numerator, denominator) = frame.delay().numer_denom_ms();
        let milliseconds = match numerator / denominator.max(1) {
            short if short <= SHORTEST_MILLISECONDS => DEFAULT_MILLISECONDS,
            long => long.min(LONGEST_MILLISECONDS),
        };
        writer.add(change(frame.into_buffer())?, milliseconds, quality)?;
    }
    writer.finish(animation.repetitions)
}

#[derive(Default)]
struct Writer {
    frames: Vec<Frame>,
    last: Option<RgbaImage>,
}

struct Frame {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
    milliseconds: u32,
    /// The chunks of the encoded frame.
    chunks: Vec<u8>,
    has_alpha: bool,
}

impl Writer {
    /// Adds a frame. Only the rectangle that differs from the frame before is encoded.
    fn add(&mut self, image: RgbaImage, milliseconds: u32, quality: u8) -> Result<(), MediaError> {
        let changed = match &self.last {
            Some(last) => changed(last, &image),
            None => Some((0, 0, image.width(), image.height())),
        };
        match (changed, self.frames.last_mut()) {
            (None, Some(last)) => {
                last.milliseconds = last.milliseconds.saturating_add(milliseconds).min(LONGEST_MILLISECONDS);
            }
            (changed, _) => {
                let (left, top, width, height) = changed.unwrap_or((0, 0, image.width(), image.height()));
                let part = image::imageops::crop_imm(&image, left, top, width, height).to_image();
                let file = encode::webp(&part, quality)?;
                let (chunks, has_alpha) = frame_chunks(&file);
                self.frames.push(Frame { left, top, width, height, milliseconds, chunks, has_alpha });
            }
        }
        self.last = Some(image);
        Ok(())
    }

    fn finish(self, repetitions: u16) -> Result<Vec<u8>, MediaError> {
        let Some(last) = self.last else { return Err(MediaError::broken("it has no frames")) };
        let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
        let mut extended = vec![HAS_ANIMATION, 0, 0, 0];
        if self.frames.iter().any(|frame| frame.has_alpha) {
            extended[0] |= HAS_ALPHA;
        }
        push_24(&mut extended, last.width() - 1);
        push_24(&mut extended, last.height() - 1);
        push_chunk(&mut bytes, b"VP8X", &[&extended]);
        push_chunk(&mut bytes, b"ANIM", &[&[0, 0, 0, 0], &repetitions.to_le_bytes()]);
        for frame in &self.frames {
            let mut header = Vec::new();
            // Positions are stored in units of two pixels.
            for number in [frame.left / 2, frame.top / 2, frame.width - 1, frame.height - 1, frame.milliseconds] {
                push_24(&mut header, number);
            }
            header.push(REPLACES);
            push_chunk(&mut bytes, b"ANMF", &[&header, &frame.chunks]);
        }
        let length = (bytes.len() - 8) as u32;
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }
}

/// Returns the rectangle in which two pictures differ, with an even position.
fn changed(before: &RgbaImage, after: &RgbaImage) -> Option<(u32, u32, u32, u32)> {
    let width = after.width() as usize;
    let rows = |image: &'_ RgbaImage, y: u32| {
        let start = y as usize * width * 4;
        start..start + image.width() as usize * 4
    };
    let is_changed = |&y: &u32| before.as_raw()[rows(before, y)] != after.as_raw()[rows(after, y)];
    let top = (0..after.height()).find(is_changed)?;
    let bottom = (top..after.height()).rev().find(is_changed)?;
    let (mut left, mut right) = (after.width(), 0);
    for y in top..=bottom {
        let differs = |&x: &u32| before.get_pixel(x, y) != after.get_pixel(x, y);
        left = (0..left).find(differs).unwrap_or(left);
        right = (right..after.width()).rev().find(differs).unwrap_or(right);
    }
    let (left, top) = (left / 2 * 2, top / 2 * 2);
    Some((left, top, right - left + 1, bottom - top + 1))
}

/// Returns the chunks of the pixels in a WebP file, and true if they have transparency.
fn frame_chunks(file: &[u8]) -> (Vec<u8>, bool) {
    let mut rest = file.get(12..).unwrap_or_default();
    let (mut chunks, mut has_alpha) = (Vec::new(), false);
    while rest.len() >= 8 {
        let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
        let end = (8 + length.next_multiple_of(2)).min(rest.len());
        if matches!(&rest[..4], b"ALPH" | b"VP8 " | b"VP8L") {
            chunks.extend_from_slice(&rest[..end]);
        }
        has_alpha |= matches!(&rest[..4], b"ALPH" | b"VP8L");
        rest = &rest[end..];
    }
    (chunks, has_alpha)
}

fn push_24(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes()[..3]);
}

fn push_chunk(bytes: &mut Vec<u8>, kind: &[u8; 4], contents: &[&[u8]]) {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    contents.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes.resize(bytes.len().next_multiple_of(2), 0);
}
