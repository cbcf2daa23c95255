//! The files of the dashboard, embedded in the binary. `npm run build` in `dashboard/` writes them to
//! `src/dashboard/dist`, where they are committed, so that building the server needs no Node. Must not know HTTP.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::Embed;

/// The page that all screens of the dashboard are shown in.
const INDEX: &str = "index.html";

/// The folder of the files whose names contain a hash of their content. Vite writes them.
const HASHED_FOLDER: &str = "assets/";

/// The number of bytes of a file's hash that its entity tag contains.
const TAG_BYTES: usize = 16;

#[derive(Embed)]
#[folder = "dist"]
struct Dist;

static FILES: LazyLock<BTreeMap<String, DashboardFile>> = LazyLock::new(|| {
    Dist::iter().filter_map(|path| Some((path.to_string(), DashboardFile::new(&path, Dist::get(&path)?)))).collect()
});

/// A file of the dashboard.
pub struct DashboardFile {
    /// The contents.
    pub bytes: Bytes,
    /// The media type, for `Content-Type`.
    pub media_type: &'static str,
    /// True if the name of the file contains a hash of its content, so that the file can be cached for ever.
    pub is_hashed: bool,
    /// A hash of its content.
    pub tag: String,
    /// The gzip form of the contents, made at the first request for it. `None` if it is not smaller.
    gzip: OnceLock<Option<Bytes>>,
}

/// Returns the file for a path below `/admin`. A path without an extension is a screen, for which the index page is
/// returned.
pub fn file(path: &str) -> Option<&'static DashboardFile> {
    let has_extension = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    FILES.get(if has_extension { path } else { INDEX })
}

impl DashboardFile {
    fn new(path: &str, file: rust_embed::EmbeddedFile) -> DashboardFile {
        let hash = file.metadata.sha256_hash();
        DashboardFile {
            bytes: match file.data {
                std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
            },
            media_type: media_type(path),
            is_hashed: path.starts_with(HASHED_FOLDER),
            tag: hash.iter().take(TAG_BYTES).map(|byte| format!("{byte:02x}")).collect(),
            gzip: OnceLock::new(),
        }
    }

    /// Returns the gzip form of the contents, if it is smaller. It is compressed at the first call only.
    pub fn gzip(&self) -> Option<&Bytes> {
        let compressed = self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&self.bytes).ok()?;
            encoder.finish().ok().filter(|bytes| bytes.len() < self.bytes.len()).map(Bytes::from)
        });
        compressed.as_ref()
    }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
