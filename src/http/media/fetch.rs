//! Files that are taken into the store: from a form, or from the web. Also serves `bindery import`, which fetches files
//! into a data folder. Must not know HTTP requests.

use bindery_access::Access;
use bindery_content::{Content, IdempotentAnswer, check_keys_of_create, import_key};
use bindery_disk::failure;
use bindery_media::Upload;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_model::json;
use bindery_model::media::{MediaFile, clean_file_name};
use bindery_webhooks::Download;
use serde_json::{Map, Value};

use super::{Media, error_of};

/// A request for a file from the web, whose resource is created.
pub(crate) struct FileRequest {
    /// The address.
    pub(crate) url: String,
    /// The key under which imports know the resource.
    pub(crate) known_as: Option<String>,
    /// The body of the creation.
    pub(crate) body: String,
}

impl FileRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub(crate) fn read(sent: &[u8]) -> Result<FileRequest, Error> {
        let Value::Object(mut object) = json::parse(sent)? else {
            return Err(Error::new(Code::ValidationFailed, "the body must be a JSON object with `url`"));
        };
        check_keys_of_create(&object, &["url", "key"])?;
        let url = match object.shift_remove("url") {
            Some(Value::String(url)) => url,
            _ => return Err(Error::of_field("url", "must be given: the address of a file, with `http` or `https`")),
        };
        let known_as = import_key(object.shift_remove("key").as_ref()).map_err(|text| Error::of_field("key", text))?;
        let mut body = Map::from_iter([("attributes".to_owned(), Value::Object(Map::new()))]);
        body.extend(object);
        Ok(FileRequest { url, known_as, body: Value::Object(body).to_string() })
    }
}

impl Media {
    /// Checks a received file and makes it durable. Nothing of it is kept if `content` accepts no writes: without a
    /// resource, it would take the space that a full disk lacks.
    ///
    /// # Errors
    /// Those that `API.md` 4.27.3 names, and `OVERLOADED`.
    pub(crate) async fn store(&self, content: &Content, upload: Upload, name: &str) -> Result<MediaFile, Error> {
        content.check_writable()?;
        let name = clean_file_name(name);
        let taken = upload.finish(self.accepted(), &name).await.map_err(|error| error_of(&error))?;
        // The file may have replaced a damaged one, and pictures that were made of that are wrong. They are always
        // removed: only a read of the earlier file would show the damage, and another node may have replaced it.
        let (renditions, hash) = (self.open()?.renditions.clone(), taken.hash);
        tokio::task::spawn_blocking(move || renditions.forget(&hash)).await.map_err(Error::internal)?;
        failure::point("media::stored").map_err(Error::internal)?;
        self.counters.count_upload(taken.bytes);
        let picture = taken.picture;
        Ok(MediaFile {
            name,
            mime: taken.mime,
            bytes: taken.bytes,
            size: picture.as_ref().map(|picture| (picture.width, picture.height)),
            hash: taken.hash.to_string(),
            placeholder: picture.and_then(|picture| picture.placeholder),
        })
    }

    /// Stores a file that the program has made itself.
    ///
    /// # Errors
    /// Those that `API.md` 4.27.3 names.
    pub async fn store_bytes(&self, content: &Content, name: &str, bytes: Vec<u8>) -> Result<MediaFile, Error> {
        let mut upload = self.open()?.files.begin(u64::MAX).await.map_err(|error| error_of(&error))?;
        upload.write(bytes.into()).await.map_err(|error| error_of(&error))?;
        self.store(content, upload, name).await
    }

    /// Fetches a file from the web, and stores it. `private_addresses` allows addresses of the server's own network.
    ///
    /// # Errors
    /// Those of [`Media::store`], and `VALIDATION_FAILED` at `url`.
    pub(crate) async fn fetch(
        &self,
        content: &Content,
        url: &str,
        private_addresses: bool,
    ) -> Result<MediaFile, Error> {
        let failed = |reason: String| Error::of_field("url", format!("could not be fetched: {reason}"));
        let mut download = Download::begin(url, private_addresses).await.map_err(failed)?;
        let files = &self.open()?.files;
        let mut upload = files.begin(self.config().max_bytes).await.map_err(|error| error_of(&error))?;
        while let Some(piece) = download.next().await.map_err(failed)? {
            upload.write(piece).await.map_err(|error| error_of(&error))?;
        }
        let stored = self.store(content, upload, download.name()).await;
        // The body of the request has no `file`.
        stored.map_err(|error| match error.fields.first() {
            Some((_, texts)) => Error::of_field("url", format!("the file cannot be stored: {}", texts.join("; "))),
            None => error,
        })
    }
}

/// Creates a media resource with a file from the web, or finds the one that has its key. `body` is that of
/// `POST /v2/media/{blueprint}/fetch`. Returns the resource.
///
/// # Errors
/// Those of that request.
pub async fn fetch_media(
    content: &Content,
    media: &Media,
    private_addresses: bool,
    blueprint: &str,
    body: &[u8],
) -> Result<Value, Error> {
    let writing = content.write(&Access::everything("cli"), Ability::Create, blueprint, "")?;
    writing.require_media()?;
    let FileRequest { url, known_as, body } = FileRequest::read(body)?;
    let resource = match writing.known_under(known_as.as_deref()).await? {
        Some(known) => known,
        None => {
            let file = media.fetch(content, &url, private_addresses).await?;
            match writing.create_media(file, known_as, body.as_bytes(), None).await? {
                IdempotentAnswer::Fresh(created) => created,
                IdempotentAnswer::Kept(_) => return Err(Error::internal("a kept answer without a key for it")),
            }
        }
    };
    serde_json::from_str(&resource.answer.json).map_err(Error::internal)
}
