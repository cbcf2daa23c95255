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

/// Vite writes files here whose names have a hash of their content.
const HASHED_FOLDER: &str = "assets/";

/// The number of bytes of a file's hash its tag has.
const TAG_BYTES: usize = 16;

#[derive(Embed)]
#[folder = "dist"]
struct Dist;

static FILES: LazyLock<BTreeMap<String, DashboardFile>> = LazyLock::new(|| {
    Dist::iter().filter_map(|path| Some((path.to_string(), DashboardFile::new(&path, Dist::get(&path)?)))).collect()
});

/// A file of the dashboard.
pub struct DashboardFile {
    /// Its contents.
    pub bytes: Bytes,
    /// Its type, for `Content-Type`.
    pub media_type: &'static str,
    /// True if another content would have another name, so that it can be cached for ever.
    pub is_hashed: bool,
    /// A hash of its content.
    pub tag: String,
    /// The same compressed, once somebody asked for it; nothing if that is not smaller.
    gzip: OnceLock<Option<Bytes>>,
}

/// The file that a path below `/admin` names. All paths without an extension are screens, which the index shows.
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

    /// The compressed content, if it is smaller. Compresses once.
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
