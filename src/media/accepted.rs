//! The list of types that uploads may have.

use crate::error::MediaError;

/// Types that are accepted if the settings name none.
const DEFAULT: &[&str] = &[
    "image/*",
    "video/*",
    "audio/*",
    "font/*",
    "application/pdf",
    "application/zip",
    "application/rtf",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
    "text/csv",
    "text/plain",
];

/// The types that uploads may have, such as `image/*` and `application/pdf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    types: Vec<String>,
}

impl Default for Accepted {
    /// Accepts pictures, video, audio, fonts, PDF, office documents, zip, plain text and CSV.
    fn default() -> Accepted {
        Accepted { types: DEFAULT.iter().map(|&name| name.to_owned()).collect() }
    }
}

impl Accepted {
    /// Makes a list of types. Each is a full type, or has `*` behind the slash; `*/*` accepts every file.
    ///
    /// # Errors
    /// `InvalidType` if an entry has another form.
    pub fn new(types: impl IntoIterator<Item = impl Into<String>>) -> Result<Accepted, MediaError> {
        let types: Vec<String> = types.into_iter().map(|name| name.into().trim().to_ascii_lowercase()).collect();
        match types.iter().find(|name| !is_type(name)) {
            Some(found) => Err(MediaError::InvalidType { found: found.clone() }),
            None => Ok(Accepted { types }),
        }
    }

    /// Returns the entries of the list.
    pub fn types(&self) -> &[String] {
        &self.types
    }

    /// Returns true if the list contains this type.
    pub fn accepts(&self, mime: &str) -> bool {
        let group = mime.split('/').next().unwrap_or_default();
        self.types.iter().any(|name| match name.strip_suffix("/*") {
            Some("*") => true,
            Some(prefix) => prefix == group,
            None => name == mime,
        })
    }

    /// # Errors
    /// `NotAccepted` if the list does not contain this type.
    pub(crate) fn check(&self, mime: &str) -> Result<(), MediaError> {
        if self.accepts(mime) {
            return Ok(());
        }
        Err(MediaError::NotAccepted { found: mime.to_owned(), accepted: self.types.clone() })
    }
}

fn is_type(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    match name.split_once('/') {
        Some(("*", rest)) => rest == "*",
        Some((group, rest)) => is_word(group) && (rest == "*" || is_word(rest)),
        None => false,
    }
}
