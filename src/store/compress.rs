//! Compression of stored values, with or without dictionaries. It knows no keys and no records.
//!
//! A value is read alone, so it is compressed alone. Contents that many values share would then be stored with each
//! value. A dictionary holds such contents once. With one, records of a million articles of 2 to 3 KB take 1.0 instead
//! of 1.4 GB.

use std::cell::RefCell;
use std::io;
use std::num::NonZero;
use std::sync::Arc;

use parking_lot::RwLock;
use zstd::zstd_safe::{
    CCtx, CDict, CParameter, DCtx, DDict, SafeResult, compress_bound, get_dict_id_from_frame, get_error_name,
};

/// The minimum length of a compressed value. For shorter values, a separate frame saves too little. The compressed form
/// is used if it saves at least an eighth.
const FROM_BYTES: usize = 512;
/// The compression level without a dictionary: the fastest of zstd's positive levels.
const LEVEL: i32 = 1;
/// The compression level with a dictionary. It takes hardly longer than the fastest level, and articles become a
/// seventh smaller.
const LEVEL_WITH_DICTIONARY: i32 = 3;
/// The number of bytes of a value's length, which precedes its frame.
const LENGTH_BYTES: usize = 4;

/// A dictionary. zstd notes its id in each frame that needs it.
pub(super) struct Dictionary {
    id: NonZero<u32>,
    encoder: CDict<'static>,
    decoder: DDict<'static>,
}

impl Dictionary {
    /// Makes a dictionary. Returns `None` if these bytes are no dictionary.
    pub(super) fn new(bytes: &[u8]) -> Option<Dictionary> {
        let decoder = DDict::try_create(bytes)?;
        let encoder = CDict::try_create(bytes, LEVEL_WITH_DICTIONARY)?;
        Some(Dictionary { id: decoder.get_dict_id()?, encoder, decoder })
    }
}

/// The dictionaries of a store, oldest first.
#[derive(Default)]
pub(super) struct Dictionaries(RwLock<Vec<Arc<Dictionary>>>);

impl Dictionaries {
    pub(super) fn len(&self) -> usize {
        self.0.read().len()
    }

    pub(super) fn newest(&self) -> Option<Arc<Dictionary>> {
        self.0.read().last().cloned()
    }

    /// Adds the newest dictionary. Values may be compressed with it once it is stored.
    pub(super) fn add(&self, dictionary: Arc<Dictionary>) {
        self.0.write().push(dictionary);
    }

    pub(super) fn knows(&self, dictionary: &Dictionary) -> bool {
        self.get(dictionary.id).is_some()
    }

    fn get(&self, id: NonZero<u32>) -> Option<Arc<Dictionary>> {
        self.0.read().iter().find(|known| known.id == id).cloned()
    }
}

/// Compresses values.
pub(super) struct Compressor(CCtx<'static>);

impl Compressor {
    pub(super) fn new() -> io::Result<Compressor> {
        let mut context = CCtx::create();
        done(context.set_parameter(CParameter::CompressionLevel(LEVEL)))?;
        Ok(Compressor(context))
    }

    /// Returns the body of a record with the compressed value. Returns `None` if the plain value is better.
    pub(super) fn compress(&mut self, value: &[u8], dictionary: Option<&Dictionary>) -> Option<Vec<u8>> {
        if value.len() < FROM_BYTES {
            return None;
        }
        let length = u32::try_from(value.len()).ok()?;
        let mut frame = Vec::with_capacity(compress_bound(value.len()));
        done(match dictionary {
            Some(dictionary) => self.0.compress_using_cdict(&mut frame, value, &dictionary.encoder),
            None => self.0.compress2(&mut frame, value),
        })
        .ok()?;
        if frame.len() + LENGTH_BYTES > value.len() - value.len() / 8 {
            return None;
        }
        let mut body = Vec::with_capacity(LENGTH_BYTES + frame.len());
        body.extend(length.to_le_bytes());
        body.extend(frame);
        Some(body)
    }
}

/// Returns the value in the body of a record. The error states why [`Compressor::compress`] cannot have made it.
pub(super) fn decompress(body: &[u8], dictionaries: &Dictionaries) -> Result<Vec<u8>, &'static str> {
    thread_local! {
        static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    }
    let (length, frame) = body.split_first_chunk::<LENGTH_BYTES>().ok_or("it is too short")?;
    let length = u32::from_le_bytes(*length) as usize;
    let mut value = Vec::with_capacity(length);
    let dictionary = match get_dict_id_from_frame(frame) {
        Some(id) => Some(dictionaries.get(id).ok_or("its dictionary is missing")?),
        None => None,
    };
    let decompressed = CONTEXT.with_borrow_mut(|context| match &dictionary {
        Some(dictionary) => context.decompress_using_ddict(&mut value, frame, &dictionary.decoder),
        None => context.decompress(&mut value, frame),
    });
    match decompressed {
        Ok(_) if value.len() == length => Ok(value),
        _ => Err("it does not decompress"),
    }
}

fn done(result: SafeResult) -> io::Result<usize> {
    result.map_err(|code| io::Error::other(get_error_name(code)))
}
