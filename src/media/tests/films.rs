//! Films and sounds in boxes: metadata is removed, everything else stays in its place.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use super::pictures::SECRET;
use super::{Store, contains};
use crate::clean::{Container, clean_boxes};

/// The samples of the track of pictures.
const PIXELS: &[u8] = b"the pixels of the film";

/// A box with these contents.
fn part(kind: &[u8; 4], contents: &[&[u8]]) -> Vec<u8> {
    let contents = contents.concat();
    [&(contents.len() as u32 + 8).to_be_bytes()[..], kind, &contents].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn handler(kind: &[u8; 4]) -> Vec<u8> {
    part(b"hdlr", &[&[0; 8], kind, &[0; 12]])
}

/// A track with one sample in each chunk. `more` are boxes with metadata.
fn track(kind: &[u8; 4], samples: &[(u32, &[u8])], more: &[&[u8]]) -> Vec<u8> {
    let count = samples.len() as u32;
    let sizes: Vec<u32> = samples.iter().map(|(_, sample)| sample.len() as u32).collect();
    let offsets: Vec<u32> = samples.iter().map(|(offset, _)| *offset).collect();
    let tables = [
        part(b"stsz", &[&numbers(&[0, 0, count]), &numbers(&sizes)]),
        part(b"stsc", &[&numbers(&[0, 1, 1, 1, 1])]),
        part(b"stco", &[&numbers(&[0, count]), &numbers(&offsets)]),
    ];
    let tables = part(b"minf", &[&part(b"stbl", &[&tables.concat()])]);
    let media = part(b"mdia", &[&handler(kind), &tables, &part(b"udta", &[SECRET])]);
    part(b"trak", &[&part(b"tkhd", &[&[0; 84]]), &media, &more.concat()])
}

/// A film with metadata wherever cameras and phones write it.
fn film(brand: &[u8; 4]) -> Vec<u8> {
    let position = part(b"\xA9xyz", &[&[0, 28, 0x15, 0xC7], SECRET]);
    let titles = part(b"meta", &[&[0; 4], &handler(b"mdir"), &part(b"ilst", &[b"the title"])]);
    let begin = part(b"ftyp", &[brand, &[0; 4], b"isommp42"]);
    let (first, last) = (begin.len() as u32 + 8, begin.len() as u32 + 8 + (SECRET.len() + PIXELS.len()) as u32);
    let pixels = first + SECRET.len() as u32;
    let movie = part(
        b"moov",
        &[
            &part(b"mvhd", &[&[0; 100]]),
            &track(b"vide", &[(pixels, PIXELS)], &[&part(b"udta", &[SECRET]), &part(b"uuid", &[SECRET])]),
            &track(b"meta", &[(first, SECRET), (last, SECRET)], &[]),
            &part(b"udta", &[&position, &titles]),
            &part(b"meta", &[&handler(b"mdta"), &part(b"keys", &[b"com.apple.quicktime.location.ISO6709", SECRET])]),
            &part(b"gps ", &[SECRET]),
        ],
    );
    [
        begin,
        part(b"mdat", &[SECRET, PIXELS, SECRET]),
        part(b"free", &[SECRET]),
        movie,
        part(b"uuid", &[SECRET]),
        part(b"mpvd", &[SECRET]),
    ]
    .concat()
}

#[tokio::test]
async fn positions_are_removed_and_nothing_moves() {
    let store = Store::new();
    for (brand, mime) in
        [(b"isom", "video/mp4"), (b"qt  ", "video/quicktime"), (b"3gp4", "video/3gpp"), (b"M4A ", "audio/mp4")]
    {
        let film = film(brand);
        let taken = store.upload("film", &[&film[..], SECRET, b"behind the end"].concat()).await.unwrap();
        let stored = store.read(&taken.hash).await.unwrap();
        assert_eq!((taken.mime.as_str(), taken.bytes), (mime, film.len() as u64));
        assert!(contains(&film, SECRET) && !contains(&stored, SECRET), "{mime}");
        assert_eq!(contains(&stored, b"the title"), mime == "audio/mp4", "{mime}");
        assert_eq!(stored.len(), film.len());
        for (at, (stored, sent)) in stored.iter().zip(&film).enumerate() {
            assert!(stored == sent || *stored == 0 || b"free".contains(stored), "byte {at} of {mime}");
        }
        let pixels = film.windows(PIXELS.len()).position(|window| window == PIXELS).unwrap();
        assert_eq!(&stored[pixels..pixels + PIXELS.len()], PIXELS);
        // A file that was cleaned is not changed again.
        assert_eq!(store.upload("film", &stored).await.unwrap().hash, taken.hash, "{mime}");
    }
}

#[tokio::test]
async fn a_film_that_is_cut_off_keeps_what_it_has() {
    let store = Store::new();
    let film = part(b"ftyp", &[b"isom", &[0; 4], b"isommp42"]);
    let cut = [film, part(b"mdat", &[PIXELS])[..20].to_vec()].concat();
    let taken = store.upload("film", &cut).await.unwrap();
    assert_eq!(store.read(&taken.hash).await.unwrap(), cut);
}

#[tokio::test]
async fn damaged_films_are_taken_as_they_are_or_cleaned() {
    let store = Store::new();
    let film = film(b"isom");
    for (number, at) in (0..film.len()).step_by(5).enumerate() {
        let mut damaged = film.clone();
        damaged[at] = [0xFF, 0x00, 0x7F][number % 3];
        store.upload("film", &damaged).await.unwrap();
        store.upload("film", &film[..=at]).await.unwrap();
    }
}

/// A file that notes the length of the longest read.
struct Watched {
    file: Cursor<Vec<u8>>,
    longest: usize,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.longest = self.longest.max(read);
        Ok(read)
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Watched {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

#[test]
fn the_tables_of_a_long_track_are_not_in_memory_at_once() {
    let begin = part(b"ftyp", &[b"isom", &[0; 4], b"isommp42"]);
    let first = begin.len() as u32 + 8;
    let pixels = first + SECRET.len() as u32;
    let mut samples = vec![(pixels, &b""[..]); 300_000];
    (samples[0], samples[299_999]) = ((first, SECRET), (pixels + PIXELS.len() as u32, SECRET));
    let movie = part(b"moov", &[&track(b"meta", &samples, &[])]);
    let film = [begin, part(b"mdat", &[SECRET, PIXELS, SECRET]), movie].concat();
    let mut watched = Watched { file: Cursor::new(film), longest: 0 };
    assert!(clean_boxes(&mut watched, Container::Video).unwrap().is_changed);
    assert!(watched.longest <= 64 * 1024, "{} bytes were read at once", watched.longest);
    let cleaned = watched.file.into_inner();
    assert!(!contains(&cleaned, SECRET) && contains(&cleaned, PIXELS));
}
