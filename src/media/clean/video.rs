//! Removes metadata of MP4, MOV, 3GP and M4A, and of the boxes around the picture in AVIF and HEIC: positions, names,
//! texts, the tracks with what sensors measured, and what stands behind the end.
//!
//! Everything is overwritten with zeros in its place, as a box of the type `free`, so that no offset changes. A file
//! that this does not understand stays as it is from there on: nothing here decodes it.

mod samples;

use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bounds the boxes that are looked at, each of which costs a read. A day in fragments of a second has 180,000.
const MAX_BOXES: usize = 200_000;
const PIECE_BYTES: usize = 64 * 1024;
static ZEROS: [u8; PIECE_BYTES] = [0; PIECE_BYTES];

/// Boxes of the file that a player needs. Others hold metadata, or what a phone adds to a picture, such as a short
/// video.
const OF_FILE: &[&[u8; 4]] =
    &[b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"mfra", b"sidx", b"ssix", b"pdin", b"prft", b"imda", b"wide"];
/// Boxes with metadata of a film or of one of its tracks.
const PRIVATE: &[&[u8; 4]] = &[b"udta", b"meta", b"uuid", b"gps ", b"free", b"skip"];
/// Kinds of tracks that stay: pictures, sound, texts, times.
const KEPT_TRACKS: &[&[u8; 4]] = &[
    b"vide", b"soun", b"auxv", b"pict", b"text", b"sbtl", b"subt", b"subp", b"clcp", b"tmcd", b"hint", b"sdsm", b"odsm",
];

/// A file with boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Video,
    /// Its title, its artist and its cover stay.
    Audio,
    /// A picture whose items are cleaned elsewhere.
    Picture,
}

/// The result of cleaning a file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InPlace {
    /// True if a byte was changed.
    pub(crate) is_changed: bool,
    /// The length that the file has to be cut to.
    pub(crate) bytes: u64,
    /// True if the last box is longer than what is there of it.
    pub(crate) is_cut_off: bool,
}

/// Overwrites the metadata of a file.
///
/// # Errors
/// If the file cannot be read or written.
pub(crate) fn clean<F: Read + Write + Seek>(file: &mut F, container: Container) -> io::Result<InPlace> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut cleaner = Cleaner { file, bytes, container, is_changed: false, is_cut_off: false, seen: 0, cleared: 0 };
    let bytes = cleaner.clean_file()?;
    let Cleaner { is_changed, is_cut_off, .. } = cleaner;
    Ok(InPlace { is_changed: is_changed || bytes < cleaner.bytes, bytes, is_cut_off })
}

/// A box: where it begins, where its contents do, and where it ends.
#[derive(Debug, Clone, Copy)]
struct Part {
    kind: [u8; 4],
    start: u64,
    contents: u64,
    end: u64,
}

struct Cleaner<'a, F> {
    file: &'a mut F,
    bytes: u64,
    container: Container,
    is_changed: bool,
    is_cut_off: bool,
    /// The number of boxes so far.
    seen: usize,
    /// The number of bytes of samples that were overwritten.
    cleared: u64,
}

impl<F: Read + Write + Seek> Cleaner<'_, F> {
    /// Cleans the whole file, and returns where its last box ends.
    fn clean_file(&mut self) -> io::Result<u64> {
        let mut at = 0;
        while at < self.bytes {
            let Some(part) = self.part(at, self.bytes)? else {
                // A film may be cut off. Other bytes without a box are appended by cameras.
                self.is_cut_off = self.kind_at(at)?.is_some_and(|kind| self.is_of_file(&kind));
                return Ok(if self.is_cut_off || self.seen > MAX_BOXES { self.bytes } else { at });
            };
            match &part.kind {
                b"moov" => self.clean_parts(part, Self::clean_movie)?,
                kind if self.is_of_file(kind) => {}
                _ => self.blank(part)?,
            }
            at = part.end;
        }
        Ok(self.bytes)
    }

    fn clean_movie(&mut self, part: Part) -> io::Result<()> {
        match &part.kind {
            b"trak" => self.clean_track(part),
            b"udta" if self.container == Container::Audio => self.clean_parts(part, Self::clean_titles),
            kind if PRIVATE.contains(&kind) => self.blank(part),
            _ => Ok(()),
        }
    }

    /// Keeps the title and so on, which players show, in the form of iTunes: the handler stands behind the first 20
    /// bytes.
    fn clean_titles(&mut self, part: Part) -> io::Result<()> {
        let is_titles = part.kind == *b"meta" && self.read(part.contents + 20, 4)? == b"mdir";
        if is_titles { Ok(()) } else { self.blank(part) }
    }

    fn clean_track(&mut self, track: Part) -> io::Result<()> {
        let media = self.find(track, b"mdia")?;
        let handler = media.map(|media| self.find(media, b"hdlr")).transpose()?.flatten();
        let kind = handler.map(|handler| self.read(handler.contents + 8, 4)).transpose()?.unwrap_or_default();
        if KEPT_TRACKS.iter().any(|kept| kept.as_slice() == kind) {
            self.clean_parts(track, Self::clean_within)?;
            return media.map_or(Ok(()), |media| self.clean_parts(media, Self::clean_within));
        }
        if let Some(media) = media {
            self.clear_samples(media)?;
        }
        self.blank(track)
    }

    fn clean_within(&mut self, part: Part) -> io::Result<()> {
        if PRIVATE.contains(&&part.kind) { self.blank(part) } else { Ok(()) }
    }

    /// Calls a function with each box in another one.
    fn clean_parts(&mut self, outer: Part, clean: fn(&mut Self, Part) -> io::Result<()>) -> io::Result<()> {
        let mut at = outer.contents;
        while let Some(part) = self.part(at, outer.end)? {
            clean(self, part)?;
            at = part.end;
        }
        Ok(())
    }

    fn find(&mut self, outer: Part, kind: &[u8; 4]) -> io::Result<Option<Part>> {
        let mut at = outer.contents;
        while let Some(part) = self.part(at, outer.end)? {
            if part.kind == *kind {
                return Ok(Some(part));
            }
            at = part.end;
        }
        Ok(None)
    }

    /// Reads the beginning of a box; `None` at the end, and if its length is invalid.
    fn part(&mut self, at: u64, end: u64) -> io::Result<Option<Part>> {
        self.seen += 1;
        if self.seen > MAX_BOXES || end.saturating_sub(at) < 8 {
            return Ok(None);
        }
        let head = self.read(at, 16)?;
        let Some(kind) = kind_of(&head) else { return Ok(None) };
        let (contents, length) = match number(&head[..4]) {
            0 => (8, end - at),
            1 if head.len() == 16 => (16, number(&head[8..])),
            length => (8, length),
        };
        let is_valid = length >= contents && length <= end - at;
        Ok(is_valid.then(|| Part { kind, start: at, contents: at + contents, end: at + length }))
    }

    fn is_of_file(&self, kind: &[u8; 4]) -> bool {
        OF_FILE.contains(&kind) || (self.container == Container::Picture && kind == b"meta")
    }

    fn kind_at(&mut self, at: u64) -> io::Result<Option<[u8; 4]>> {
        Ok(kind_of(&self.read(at, 8)?))
    }

    /// Reads some bytes, fewer at the end of the file.
    fn read(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::with_capacity(length);
        Read::take(&mut *self.file, length as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a box one that says nothing.
    fn blank(&mut self, part: Part) -> io::Result<()> {
        if part.kind != *b"free" {
            self.file.seek(SeekFrom::Start(part.start + 4))?;
            self.file.write_all(b"free")?;
            self.is_changed = true;
        }
        self.clear(part.contents, part.end)
    }

    /// Overwrites bytes with zeros, unless they are zeros.
    fn clear(&mut self, start: u64, end: u64) -> io::Result<()> {
        let mut at = start;
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            if self.read(at, length)?.iter().any(|byte| *byte != 0) {
                self.file.seek(SeekFrom::Start(at))?;
                self.file.write_all(&ZEROS[..length])?;
                self.is_changed = true;
            }
            at += length as u64;
        }
        Ok(())
    }
}

fn kind_of(head: &[u8]) -> Option<[u8; 4]> {
    head.get(4..8)?.try_into().ok()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
