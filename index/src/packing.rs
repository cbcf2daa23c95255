//! Compressed texts. It does not know where they are stored.
//!
//! A folded text differs little from the original. So the folded text, which searches read, is compressed on its own,
//! and the original as a continuation of it. This takes less than a third of the space, but reading the original
//! requires the folded text.

use std::cell::RefCell;
use std::io;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, SafeResult, compress_bound, get_error_name, get_frame_content_size};

/// The level of zstd: a fast one.
const COMPRESSION_LEVEL: i32 = 1;

/// Compresses texts.
pub(crate) struct Packer<'a>(CCtx<'a>);

impl<'a> Packer<'a> {
    pub(crate) fn new() -> io::Result<Packer<'a>> {
        let mut context = CCtx::create();
        done(context.set_parameter(CParameter::CompressionLevel(COMPRESSION_LEVEL)))?;
        Ok(Packer(context))
    }

    /// Compresses a text on its own.
    pub(crate) fn pack(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(compress_bound(text.len()));
        done(self.0.compress2(&mut packed, text.as_bytes()))?;
        Ok(packed)
    }

    /// Compresses a text as a continuation of `before`, which is needed to unpack it.
    pub(crate) fn pack_behind(&mut self, before: &'a str, text: &str) -> io::Result<Vec<u8>> {
        done(self.0.ref_prefix(before.as_bytes()))?;
        self.pack(text)
    }
}

/// A decompression context and its output buffer. Both are reused, since most texts are short.
struct Unpacker {
    context: DCtx<'static>,
    text: Vec<u8>,
}

impl Unpacker {
    fn unpack(&mut self, packed: &[u8]) -> Option<&[u8]> {
        self.text.clear();
        self.text.reserve(length(packed)?);
        self.context.decompress(&mut self.text, packed).ok()?;
        Some(&self.text)
    }
}

/// A larger output buffer is not kept.
const KEPT_BYTES: usize = 1 << 18;

/// Unpacks the output of [`Packer::pack`] and passes it to `read`; passes `None` if it is not valid.
pub(crate) fn with_unpacked<T>(packed: &[u8], read: impl FnOnce(Option<&[u8]>) -> T) -> T {
    thread_local! {
        static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) };
    }
    let new = || Unpacker { context: DCtx::create(), text: Vec::new() };
    UNPACKER.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => {
            let unpacker = kept.get_or_insert_with(new);
            let result = read(unpacker.unpack(packed));
            unpacker.text.clear();
            unpacker.text.shrink_to(KEPT_BYTES);
            result
        }
        // `read` is reading another text, so the shared context is in use.
        Err(_) => read(new().unpack(packed)),
    })
}

/// Unpacks the output of [`Packer::pack_behind`]. Returns `None` if it is not valid.
pub(crate) fn unpack_behind(before: &str, packed: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(length(packed)?);
    let mut context = DCtx::create();
    context.ref_prefix(before.as_bytes()).ok()?;
    context.decompress(&mut text, packed).ok()?;
    String::from_utf8(text).ok()
}

/// Returns the length of the text; `None` if it is implausible, as damaged bytes with a matching checksum could claim
/// any length.
fn length(packed: &[u8]) -> Option<usize> {
    let length = get_frame_content_size(packed).ok().flatten()?;
    usize::try_from(length).ok().filter(|&length| length <= u32::MAX as usize)
}

fn done(result: SafeResult) -> io::Result<usize> {
    result.map_err(|code| io::Error::other(get_error_name(code)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn packed_texts_are_unpacked_and_others_are_not() {
        let text = "Some Text, with Capitals. ".repeat(300);
        let folded = text.to_lowercase();
        let mut packer = Packer::new().unwrap();
        let packed = packer.pack(&folded).unwrap();
        let behind = packer.pack_behind(&folded, &text).unwrap();
        // The context must not remember the previous text.
        assert_eq!(packer.pack(&folded).unwrap(), packed);
        assert!(packed.len() < folded.len() / 10 && behind.len() < 200, "{} {}", packed.len(), behind.len());
        let unpack =
            |packed: &[u8]| with_unpacked(packed, |text| text.map(|text| str::from_utf8(text).unwrap().to_owned()));
        assert_eq!(unpack(&packed).unwrap(), folded);
        assert_eq!(unpack_behind(&folded, &behind).unwrap(), text);
        assert_eq!(unpack_behind(&text, &packer.pack_behind(&folded, "").unwrap()).unwrap(), "");
        assert!((0..packed.len()).all(|length| unpack(&packed[..length]).is_none()));
        assert!(unpack_behind("", &behind).is_none());
        let nested = with_unpacked(&packed, |outer| with_unpacked(&packed, |inner| inner == outer));
        assert!(nested);
    }
}
