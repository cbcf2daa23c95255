//! The files of media: the store, the pictures made from them, and their settings. Opened when they are first needed,
//! so that a server without media has neither folders nor threads for them. Must not know requests.

pub(crate) mod backup;
pub(crate) mod fetch;
pub(crate) mod sweep;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bindery_config::{Config, MediaConfig};
use bindery_media::{Accepted, Files, MediaError, Place, RenditionLimits, Renditions};
use bindery_model::error::{Code, Error};
use parking_lot::Mutex;

use self::sweep::SweepHold;
use crate::transport::slots::{RequestSlots, SlotLimits};

/// The folder of the files, in the data folder.
pub(crate) const FOLDER: &str = "media";
/// The folder of what can be made again, in the data folder: uploads that are under way, and pictures in other sizes.
pub(crate) const CACHE_FOLDER: &str = "media-cache";
/// The memory for pictures that were used last.
const MEMORY_BYTES: u64 = 32 << 20;
/// The limits of uploads at once. Each has a file, and up to a few MiB of memory. A client that sends slowly keeps its
/// slots for long, so half of them are for others.
const UPLOADS: SlotLimits = SlotLimits {
    of_all: 64,
    of_one: 32,
    message: |most, whose| {
        format!("{most} files of {whose} are being uploaded, which is the limit; try again when one is complete")
    },
};

/// The files of media.
pub struct Media {
    config: MediaConfig,
    accepted: Accepted,
    /// `None` if the server has no place that all servers of its cluster share.
    place: Option<Place>,
    cache: PathBuf,
    opened: OnceLock<OpenedMedia>,
    opening: Mutex<()>,
    /// The slots for uploads.
    pub(crate) uploads: Arc<RequestSlots>,
    pub(crate) counters: MediaCounters,
    pub(crate) sweep_hold: SweepHold,
}

/// The store and the pictures.
pub(crate) struct OpenedMedia {
    pub(crate) files: Files,
    pub(crate) renditions: Renditions,
}

/// The counts since the start.
#[derive(Default)]
pub(crate) struct MediaCounters {
    /// Uploads that were stored.
    pub(crate) uploads: AtomicU64,
    /// Their bytes.
    pub(crate) upload_bytes: AtomicU64,
    /// Originals that were answered.
    pub(crate) originals: AtomicU64,
    /// Pictures in other sizes that were answered.
    pub(crate) renditions: AtomicU64,
    /// Pictures in other sizes that could not be made.
    pub(crate) failed_renditions: AtomicU64,
}

impl Media {
    /// Returns the files of a server with this configuration. Nothing is opened yet.
    ///
    /// # Errors
    /// If the list of types is invalid.
    pub fn new(config: &Config) -> Result<Media, MediaError> {
        let accepted = config.media.types.as_ref().map(Accepted::new).transpose()?.unwrap_or_default();
        Ok(Media {
            accepted,
            place: place_of(config),
            cache: config.data.join(CACHE_FOLDER),
            config: config.media.clone(),
            opened: OnceLock::new(),
            opening: Mutex::new(()),
            uploads: RequestSlots::new(UPLOADS),
            counters: MediaCounters::default(),
            sweep_hold: SweepHold::default(),
        })
    }

    /// Returns the settings.
    pub(crate) fn config(&self) -> &MediaConfig {
        &self.config
    }

    /// Returns the types that are accepted.
    pub(crate) fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// Returns true if there is a place for files; a server of a cluster needs a bucket.
    pub fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// Returns whether the files are in a bucket, which other servers may use.
    pub(crate) fn is_in_bucket(&self) -> bool {
        matches!(self.place, Some(Place::Bucket(_)))
    }

    /// Returns the store and the pictures. The first call opens them.
    ///
    /// # Errors
    /// `CONFLICT` in a cluster without a shared place, `INTERNAL` if the place cannot be opened.
    pub(crate) fn open(&self) -> Result<&OpenedMedia, Error> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let Some(place) = &self.place else {
            let text = "a server of a cluster has no place for files unless `media_store` names a bucket that all servers share";
            return Err(Error::new(Code::Conflict, text));
        };
        let _guard = self.opening.lock();
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let open = || {
            let files = Files::open(place, &self.cache.join("uploads"))?;
            files.remove_stopped_uploads()?;
            let limits = RenditionLimits { cache_bytes: self.config.cache_bytes, memory_bytes: MEMORY_BYTES };
            let renditions = Renditions::open(&self.cache.join("renditions"), files.clone(), limits)?;
            Ok(OpenedMedia { files, renditions })
        };
        let opened = open().map_err(|error| error_of(&error))?;
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Returns the files of the data folder; `None` if there are none.
    ///
    /// # Errors
    /// `INTERNAL` if they are there and cannot be opened.
    pub(crate) fn local_files(&self) -> Result<Option<&Files>, Error> {
        match &self.place {
            Some(Place::Folder(folder)) if folder.is_dir() => self.open().map(|opened| Some(&opened.files)),
            _ => Ok(None),
        }
    }

    /// Returns the store and the pictures, if they were opened already, or have files from before.
    pub(crate) fn open_if_used(&self) -> Option<&OpenedMedia> {
        let has_files = match &self.place {
            Some(Place::Folder(folder)) => folder.is_dir(),
            Some(Place::Bucket(_)) => true,
            None => false,
        };
        (has_files || self.opened.get().is_some()).then(|| self.open().ok()).flatten()
    }
}

/// Returns the place of the files of a server; `None` in a cluster that shares none.
pub fn place_of(config: &Config) -> Option<Place> {
    match (&config.media.store, &config.cluster) {
        (Some(address), _) => Some(Place::Bucket(address.clone())),
        (None, None) => Some(Place::Folder(config.data.join(FOLDER))),
        (None, Some(_)) => None,
    }
}

impl MediaCounters {
    /// Counts a stored upload.
    pub(crate) fn count_upload(&self, bytes: u64) {
        self.uploads.fetch_add(1, Ordering::Relaxed);
        self.upload_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Returns the error that a client gets.
pub(crate) fn error_of(error: &MediaError) -> Error {
    let text = error.to_string();
    match error {
        MediaError::TooLarge { .. } => Error::new(Code::PayloadTooLarge, text),
        MediaError::NotAccepted { .. } => Error::new(Code::UnsupportedMediaType, text),
        MediaError::Empty | MediaError::BrokenPicture { .. } | MediaError::PictureTooLarge { .. } => {
            Error::of_field("file", text)
        }
        MediaError::Busy | MediaError::Stopped => Error::new(Code::Overloaded, text),
        MediaError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
            Error::new(Code::Overloaded, "the disk is full; nothing was stored")
        }
        MediaError::Bucket { .. } => {
            tracing::warn!(%error, "the bucket of media does not answer");
            Error::new(Code::Overloaded, "the bucket of media does not answer; try again")
        }
        _ => Error::internal(text),
    }
}
