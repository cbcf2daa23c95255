//! Measures the prefix codes of a lossless stream of WebP. The decoder builds the tables of all groups of codes before
//! it decodes pixels, without a limit: a small file could take more than a gigabyte. The number of groups is known only
//! from an image in the stream, so this reads the stream as the decoder does, up to the pixels.

use crate::workers::MEMORY_BYTES;

/// The symbols of the five codes of a group: green with lengths, red, blue, alpha, distances.
const ALPHABETS: [usize; 5] = [256 + LENGTHS, 256, 256, 256, 40];
/// The symbols for lengths. Behind them are those for colors of the cache.
const LENGTHS: usize = 24;
/// The order in which the lengths of the code for lengths of codes are stored.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The longest code, and the longest that the decoder has in a table. It has longer ones in a tree.
const MAX_LENGTH: usize = 15;
const TABLE_LENGTH: usize = 10;
/// The bytes that the decoder takes for any code, and more of them in the tree for a long one.
const CODE_BYTES: u64 = 200;
const NODE_BYTES: u64 = 32;

/// The pixels (columns to the left, rows above) that the first distances stand for.
#[rustfmt::skip]
const NEAR: [(i32, i32); 120] = [
    (0, 1), (1, 0), (1, 1), (-1, 1), (0, 2), (2, 0), (1, 2), (-1, 2), (2, 1), (-2, 1), (2, 2), (-2, 2),
    (0, 3), (3, 0), (1, 3), (-1, 3), (3, 1), (-3, 1), (2, 3), (-2, 3), (3, 2), (-3, 2), (0, 4), (4, 0),
    (1, 4), (-1, 4), (4, 1), (-4, 1), (3, 3), (-3, 3), (2, 4), (-2, 4), (4, 2), (-4, 2), (0, 5), (3, 4),
    (-3, 4), (4, 3), (-4, 3), (5, 0), (1, 5), (-1, 5), (5, 1), (-5, 1), (2, 5), (-2, 5), (5, 2), (-5, 2),
    (4, 4), (-4, 4), (3, 5), (-3, 5), (5, 3), (-5, 3), (0, 6), (6, 0), (1, 6), (-1, 6), (6, 1), (-6, 1),
    (2, 6), (-2, 6), (6, 2), (-6, 2), (4, 5), (-4, 5), (5, 4), (-5, 4), (3, 6), (-3, 6), (6, 3), (-6, 3),
    (0, 7), (7, 0), (1, 7), (-1, 7), (5, 5), (-5, 5), (7, 1), (-7, 1), (4, 6), (-4, 6), (6, 4), (-6, 4),
    (2, 7), (-2, 7), (7, 2), (-7, 2), (3, 7), (-3, 7), (7, 3), (-7, 3), (5, 6), (-5, 6), (6, 5), (-6, 5),
    (8, 0), (4, 7), (-4, 7), (7, 4), (-7, 4), (8, 1), (8, 2), (6, 6), (-6, 6), (8, 3), (5, 7), (-5, 7),
    (7, 5), (-7, 5), (8, 4), (6, 7), (-6, 7), (7, 6), (-7, 6), (8, 5), (7, 7), (-7, 7), (8, 6), (8, 7),
];

/// Returns the bytes that the decoder takes for the codes of a stream, which begins with its transforms. Stops counting
/// beyond the memory for all pictures. Returns `None` for an invalid stream.
pub(super) fn memory(stream: &[u8], width: usize, height: usize) -> Option<u64> {
    let mut bits = Bits { bytes: stream, position: 0 };
    let width = skip_transforms(&mut bits, width, height)?;
    let cache_bits = read_cache_bits(&mut bits)?;
    let mut groups = 1;
    if bits.read(1)? == 1 {
        let numbers = read_blocks(&mut bits, width, height)?;
        groups += numbers.iter().map(|color| color >> 8 & 0xFFFF).max().unwrap_or(0);
    }
    let mut memory = 0;
    for _ in 0..groups {
        memory += read_group(&mut bits, cache_bits)?.iter().map(Code::memory).sum::<u64>();
        if memory > MEMORY_BYTES {
            break;
        }
    }
    Some(memory)
}

/// Skips the transforms. Returns the width of the picture that is stored: a pixel may hold several of few colors.
fn skip_transforms(bits: &mut Bits<'_>, mut width: usize, height: usize) -> Option<usize> {
    let mut seen = [false; 4];
    while bits.read(1)? == 1 {
        let kind = bits.read(2)?;
        // Each is allowed once. Otherwise a short stream could have many images of one color, which take time.
        if std::mem::replace(&mut seen[kind], true) {
            return None;
        }
        match kind {
            0 | 1 => {
                read_blocks(bits, width, height)?;
            }
            2 => {}
            _ => {
                let colors = bits.read(8)? + 1;
                read_image(bits, colors, 1)?;
                let pixels_in_one = match colors {
                    ..=2 => 8,
                    3..=4 => 4,
                    5..=16 => 2,
                    _ => 1,
                };
                width = width.div_ceil(pixels_in_one);
            }
        }
    }
    Some(width)
}

/// Reads an image with a pixel for each block of the picture.
fn read_blocks(bits: &mut Bits<'_>, width: usize, height: usize) -> Option<Vec<u32>> {
    let side = 4 << bits.read(3)?;
    read_image(bits, width.div_ceil(side), height.div_ceil(side))
}

/// Reads an image in the stream, which has one group of codes.
fn read_image(bits: &mut Bits<'_>, width: usize, height: usize) -> Option<Vec<u32>> {
    let cache_bits = read_cache_bits(bits)?;
    let codes = read_group(bits, cache_bits)?;
    let mut cache = Cache { colors: vec![0; 1 << cache_bits], bits: cache_bits };
    let pixels = width * height;
    let mut image: Vec<u32> = Vec::with_capacity(pixels);
    while image.len() < pixels {
        let green = codes[0].read(bits)?;
        if green < 256 {
            let (red, blue, alpha) = (codes[1].read(bits)?, codes[2].read(bits)?, codes[3].read(bits)?);
            let color = (alpha << 24 | red << 16 | green << 8 | blue) as u32;
            image.push(color);
            cache.add(color);
        } else if green < 256 + LENGTHS {
            let length = read_number(bits, green - 256)?;
            let symbol = codes[4].read(bits)?;
            let distance = distance(read_number(bits, symbol)?, width);
            if distance > image.len() || length > pixels - image.len() {
                return None;
            }
            for _ in 0..length {
                let color = image[image.len() - distance];
                image.push(color);
                // The decoder does not add a color again that is repeated at once.
                if distance > 1 {
                    cache.add(color);
                }
            }
        } else {
            image.push(*cache.colors.get(green - 256 - LENGTHS)?);
        }
    }
    Some(image)
}

/// Reads the number of bits of an index into the cache of colors; 0 without one.
fn read_cache_bits(bits: &mut Bits<'_>) -> Option<usize> {
    if bits.read(1)? == 0 { Some(0) } else { bits.read(4).filter(|bits| (1..=11).contains(bits)) }
}

fn read_group(bits: &mut Bits<'_>, cache_bits: usize) -> Option<Vec<Code>> {
    let mut alphabets = ALPHABETS;
    if cache_bits > 0 {
        alphabets[0] += 1 << cache_bits;
    }
    alphabets.into_iter().map(|alphabet| Code::read_from(bits, alphabet)).collect()
}

/// Reads the rest of a length or distance that begins with a symbol.
fn read_number(bits: &mut Bits<'_>, symbol: usize) -> Option<usize> {
    if symbol < 4 {
        return Some(symbol + 1);
    }
    let length = (symbol - 2) / 2;
    Some(((2 + symbol % 2) << length) + bits.read(length)? + 1)
}

/// Returns how many pixels ago the one was that a number stands for.
fn distance(number: usize, width: usize) -> usize {
    match NEAR.get(number - 1) {
        Some((columns, rows)) => usize::try_from(columns + rows * width as i32).unwrap_or(0).max(1),
        None => number - NEAR.len(),
    }
}

/// The colors that were used lately.
struct Cache {
    colors: Vec<u32>,
    bits: usize,
}

impl Cache {
    fn add(&mut self, color: u32) {
        if self.bits > 0 {
            let index = color.wrapping_mul(0x1E35_A7BD) >> (32 - self.bits);
            self.colors[index as usize] = color;
        }
    }
}

/// A prefix code.
struct Code {
    /// The number of codes of each length.
    counts: [usize; MAX_LENGTH + 1],
    /// The symbols by the length of their codes.
    symbols: Vec<usize>,
}

impl Code {
    fn read_from(bits: &mut Bits<'_>, alphabet: usize) -> Option<Code> {
        if bits.read(1)? == 0 {
            let mut lengths = [0; ORDER.len()];
            for symbol in &ORDER[..4 + bits.read(4)?] {
                lengths[*symbol] = bits.read(3)?;
            }
            let code = Code::of(&lengths)?;
            return Code::of(&code.read_lengths(bits, alphabet)?);
        }
        let has_two = bits.read(1)? == 1;
        let length = if bits.read(1)? == 1 { 8 } else { 1 };
        let mut symbols = vec![bits.read(length)?];
        if has_two {
            symbols.push(bits.read(8)?);
        }
        let mut counts = [0; MAX_LENGTH + 1];
        counts[1] = symbols.len();
        symbols.iter().all(|symbol| *symbol < alphabet).then_some(Code { counts, symbols })
    }

    /// Makes a code of the lengths of the symbols' codes, of which no sequence of bits may be left over.
    fn of(lengths: &[usize]) -> Option<Code> {
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|symbol| lengths[*symbol] > 0).collect();
        symbols.sort_by_key(|symbol| lengths[*symbol]);
        let mut counts = [0; MAX_LENGTH + 1];
        symbols.iter().for_each(|symbol| counts[lengths[*symbol]] += 1);
        let sequences: usize = counts.iter().enumerate().map(|(length, count)| count << (MAX_LENGTH - length)).sum();
        (symbols.len() == 1 || sequences == 1 << MAX_LENGTH).then_some(Code { counts, symbols })
    }

    /// Reads the lengths of the codes of an alphabet, which are stored with this code.
    fn read_lengths(&self, bits: &mut Bits<'_>, alphabet: usize) -> Option<Vec<usize>> {
        let mut stored = alphabet;
        if bits.read(1)? == 1 {
            let length = 2 + 2 * bits.read(3)?;
            stored = 2 + bits.read(length)?;
        }
        if stored > alphabet {
            return None;
        }
        let (mut lengths, mut last) = (Vec::with_capacity(alphabet), 8);
        while lengths.len() < alphabet && stored > 0 {
            stored -= 1;
            let (length, times) = match self.read(bits)? {
                16 => (last, 3 + bits.read(2)?),
                17 => (0, 3 + bits.read(3)?),
                18 => (0, 11 + bits.read(7)?),
                length => (length, 1),
            };
            if length > 0 {
                last = length;
            }
            lengths.resize(lengths.len() + times, length);
        }
        if lengths.len() > alphabet {
            return None;
        }
        lengths.resize(alphabet, 0);
        Some(lengths)
    }

    /// Reads a symbol. If it is the only one, it takes no bits.
    fn read(&self, bits: &mut Bits<'_>) -> Option<usize> {
        if let [symbol] = self.symbols[..] {
            return Some(symbol);
        }
        // The codes of a length follow each other, and begin behind those of the length before.
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in &self.counts[1..] {
            code += bits.read(1)?;
            if code < first + count {
                return self.symbols.get(index + code - first).copied();
            }
            index += count;
            (first, code) = ((first + count) * 2, code * 2);
        }
        None
    }

    /// Returns the bytes that the decoder takes for this code.
    fn memory(&self) -> u64 {
        let longest = self.counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let long: usize = self.counts[TABLE_LENGTH + 1..].iter().sum();
        CODE_BYTES + (4_u64 << longest.min(TABLE_LENGTH)) + long as u64 * NODE_BYTES
    }
}

/// The bits of a stream.
struct Bits<'a> {
    bytes: &'a [u8],
    /// The number of bits that were read.
    position: usize,
}

impl Bits<'_> {
    /// Reads a number of so many bits, the lowest first.
    fn read(&mut self, length: usize) -> Option<usize> {
        let mut number = 0;
        for place in 0..length {
            let byte = self.bytes.get(self.position / 8)?;
            number |= usize::from(byte >> (self.position % 8) & 1) << place;
            self.position += 1;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::clean::clean_webp;
    use crate::decode::{self, Raster};
    use crate::workers::Memory;

    /// Writes bits, of each number the lowest first.
    fn write(bits: &mut Vec<bool>, numbers: &[(usize, usize)]) {
        for (number, length) in numbers {
            bits.extend((0..*length).map(|place| number >> place & 1 == 1));
        }
    }

    /// A stream for a small picture, with so many groups of codes of up to 10 bits.
    fn stream_of_groups(groups: usize) -> Vec<u8> {
        // No transform, no cache; the numbers of groups in an image, of which each pixel has the last one.
        let (mut bits, last) = (Vec::new(), groups - 1);
        write(&mut bits, &[(0, 1), (0, 1), (1, 1), (0, 3), (0, 1)]);
        for symbol in [last & 0xFF, last >> 8, 0, 0, 0] {
            write(&mut bits, &[(1, 1), (0, 1), (1, 1), (symbol, 8)]);
        }
        // Lengths of codes have a code themselves, of 3 bits for 1 to 6, and of 4 bits for 7 to 10.
        let mut code = vec![(0, 1), (10, 4)];
        code.extend(ORDER[..14].iter().map(|length| match length {
            1..=6 => (3, 3),
            7..=10 => (4, 3),
            _ => (0, 3),
        }));
        code.extend([(1, 1), (1, 3), (9, 4)]);
        for length in (1..=10).chain([10]) {
            // The highest bit of a code comes first.
            let (sequence, bits) = if length <= 6 { (length - 1, 3) } else { (12 + length - 7, 4) };
            code.extend((0..bits).rev().map(|place| (sequence >> place & 1, 1)));
        }
        let start = bits.len();
        let mut group = Vec::new();
        (0..5).for_each(|_| write(&mut group, &code));
        // After 8 groups, which are a whole number of bytes, the bytes repeat.
        bits.extend(group.iter().cycle().take((2 * 8 * group.len()).next_multiple_of(8)));
        let mut bytes: Vec<u8> = bits
            .chunks_exact(8)
            .map(|bits| bits.iter().enumerate().fold(0, |byte, (place, bit)| byte | u8::from(*bit) << place))
            .collect();
        let end = (start + groups * group.len()).div_ceil(8) + 1;
        while bytes.len() < end {
            bytes.push(bytes[bytes.len() - group.len()]);
        }
        bytes
    }

    #[test]
    fn all_groups_are_counted() {
        for groups in [1, 2, 300, 5000] {
            let stream = stream_of_groups(groups);
            assert_eq!(memory(&stream, 8, 8), Some(groups as u64 * 5 * (CODE_BYTES + 4096)), "{groups}");
        }
        let stream = stream_of_groups(300);
        assert_eq!(memory(&stream[..stream.len() / 2], 8, 8), None);
    }

    #[test]
    fn a_small_picture_with_very_many_groups_is_refused_before_it_is_decoded() {
        // 8 × 8 pixels.
        let mut pixels = [&[0x2F, 7, 0xC0, 1, 0][..], &stream_of_groups(65_536)].concat();
        pixels.resize(pixels.len().next_multiple_of(2), 0);
        let length = |bytes: usize| (bytes as u32).to_le_bytes();
        let chunk = [&b"WEBPVP8L"[..], &length(pixels.len()), &pixels].concat();
        let file = [&b"RIFF"[..], &length(chunk.len()), &chunk].concat();
        let cleaned = clean_webp(&file).unwrap();
        let header = decode::header(Raster::Webp, &cleaned.bytes, cleaned.scratch).unwrap();
        let memory = Memory::default();
        let error = decode::decode(Raster::Webp, &cleaned.bytes, &header, &memory).err().unwrap();
        assert!(error.to_string().contains("MiB of memory; at most 512 MiB"), "{error}");
    }

    #[test]
    fn the_streams_of_an_encoder_are_read_to_their_codes() {
        const ROWS: u32 = 257;
        let noise = |place: u32| place.wrapping_mul(2_654_435_761) >> 8;
        let of_colors = |(columns, colors): (u32, u32)| {
            let color = |place: u32| noise(place / 3) % colors * (0xFF_FFFF / colors);
            (columns, (0..columns * ROWS).map(color).collect::<Vec<u32>>())
        };
        let mut pictures: Vec<(u32, Vec<u32>)> =
            [(1, 256), (64, 2), (65, 4), (200, 16), (331, 256), (331, 65_536)].map(of_colors).into();
        // Each half has codes of its own, since its colors differ so much from those of the other.
        let half = |place: u32| if place % 512 < 256 { noise(place) & 0x03_0303 } else { noise(place) | 0xF0_00F0 };
        pictures.push((512, (0..512 * ROWS).map(half).collect()));
        let mut largest = 0;
        for (columns, colors) in pictures {
            let pixels: Vec<u8> = colors.iter().flat_map(|color| (color << 8 | 0xFF).to_be_bytes()).collect();
            let encoder = webp::Encoder::new(&pixels, webp::PixelLayout::Rgba, columns, ROWS);
            let file = encoder.encode_lossless();
            let at = file.windows(4).position(|kind| kind == b"VP8L").unwrap() + 8;
            let memory = memory(&file[at + 5..], columns as usize, ROWS as usize).unwrap();
            assert!((5 * CODE_BYTES..2 << 20).contains(&memory), "{columns}: {memory}");
            largest = memory.max(largest);
        }
        assert!(largest > 5 * (CODE_BYTES + 4096), "no picture had several groups: {largest}");
    }
}
