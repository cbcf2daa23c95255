//! The demonstration: blueprints that show the field types, real articles, and pictures. The data is in `src/demo`,
//! whose `README.md` names the sources. Must not know HTTP.

mod pictures;

use bindery_access::Access;
use bindery_content::{Content, IdempotentAnswer};
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};
use bindery_model::media::MediaFile;
use serde_json::{Map, Value, json};

use self::pictures::{LANDSCAPES, Landscape};

/// The blueprint of the pictures.
const MEDIA: &str = include_str!("blueprints/media.json");

/// The other blueprints. Each follows the blueprints that its relations refer to.
const BLUEPRINTS: [&str; 4] = [
    include_str!("blueprints/authors.json"),
    include_str!("blueprints/articles.json"),
    include_str!("blueprints/site-settings.json"),
    include_str!("blueprints/contact-messages.json"),
];

const ARTICLES: &[u8] = include_bytes!("articles.ndjson.zst");
const AUTHORS: &[u8] = include_bytes!("authors.ndjson");
const SITE_SETTINGS: &[u8] = include_bytes!("site-settings.ndjson");
const CONTACT_MESSAGES: &[u8] = include_bytes!("contact-messages.ndjson");

/// The date of the pictures.
const PUBLISHED_AT: &str = "2019-01-01T00:00:00Z";
/// The article whose text has a picture.
const ILLUSTRATED: &str = "cpp/atl/active-template-library-atl-tutorial";

/// A picture in the library.
struct StoredPicture {
    landscape: &'static Landscape,
    url: String,
}

/// Fills empty content with the demonstration, as an import over the API would. The data is durable on return. `store`
/// stores a file by its name and its bytes; without it, there are no pictures.
///
/// # Errors
/// `INTERNAL` if the demonstration is invalid for this version of the server. Also the errors of `store`, and of any
/// write.
pub async fn fill(
    content: &Content,
    access: &Access,
    store: Option<impl AsyncFn(&str, Vec<u8>) -> Result<MediaFile>>,
) -> Result<()> {
    let pictures = match store {
        Some(store) => fill_library(content, access, store).await?,
        None => Vec::new(),
    };
    for blueprint in BLUEPRINTS {
        content.create_blueprint(access, blueprint.as_bytes(), None).await?;
    }
    let articles = zstd::decode_all(ARTICLES).map_err(Error::internal)?;
    let articles = illustrated(&articles, &pictures)?;
    for (slug, lines) in [
        ("authors", AUTHORS),
        ("articles", articles.as_slice()),
        ("site-settings", SITE_SETTINGS),
        ("contact-messages", CONTACT_MESSAGES),
    ] {
        import(content, access, slug, lines).await?;
    }
    Ok(())
}

async fn import(content: &Content, access: &Access, slug: &str, lines: &[u8]) -> Result<()> {
    let mut import = content.import(access, slug, "")?;
    let mut results = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        results.extend(import.push(line).await?);
    }
    results.extend(import.finish().await?);
    for line in results {
        line.result.map_err(|error| Error::internal(format!("{slug} {}: {error}", line.index)))?;
    }
    Ok(())
}

/// Creates the library with the pictures.
async fn fill_library(
    content: &Content,
    access: &Access,
    store: impl AsyncFn(&str, Vec<u8>) -> Result<MediaFile>,
) -> Result<Vec<StoredPicture>> {
    // One is drawn while another is checked and stored.
    let drawn = LANDSCAPES.iter().map(|landscape| (landscape, tokio::task::spawn_blocking(|| landscape.draw())));
    let drawn: Vec<_> = drawn.collect();
    content.create_blueprint(access, MEDIA.as_bytes(), None).await?;
    let (mut pictures, mut texts) = (Vec::new(), Vec::new());
    for (landscape, drawing) in drawn {
        let file = store(landscape.name, drawing.await.map_err(Error::internal)??).await?;
        let body = json!({ "attributes": {}, "published_at": PUBLISHED_AT }).to_string();
        let (writer, key) = (content.write(access, Ability::Create, "media", "")?, Some(landscape.name.to_owned()));
        let IdempotentAnswer::Fresh(created) = writer.create_media(file, key, body.as_bytes(), None).await? else {
            return Err(Error::internal("a kept answer without a key for it"));
        };
        let resource: Value = serde_json::from_str(&created.answer.json).map_err(Error::internal)?;
        let url = resource["attributes"]["url"].as_str().unwrap_or_default().to_owned();
        pictures.push(StoredPicture { landscape, url });
        texts.push(json!({ "key": landscape.name, "variants": landscape.variants() }).to_string());
    }
    import(content, access, "media", texts.join("\n").as_bytes()).await?;
    Ok(pictures)
}

/// Gives each article a picture, and the text of one of them, too.
fn illustrated(articles: &[u8], pictures: &[StoredPicture]) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(articles.len());
    let mut pictures = pictures.iter().cycle();
    for line in articles.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Some(picture) = pictures.next() else { return Ok(articles.to_vec()) };
        let mut article: Value = serde_json::from_slice(line).map_err(Error::internal)?;
        let has_figure = article["key"] == ILLUSTRATED;
        let copies = article["variants"].as_object_mut().into_iter().flat_map(Map::iter_mut);
        for (variant, attributes) in copies {
            attributes["picture"] = picture.url.as_str().into();
            if let Some(Value::String(body)) = attributes.get_mut("body").filter(|_| has_figure) {
                body.push_str(&picture.figure(variant));
            }
        }
        serde_json::to_writer(&mut lines, &article).map_err(Error::internal)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

impl StoredPicture {
    /// Returns the picture as part of a text.
    fn figure(&self, variant: &str) -> String {
        let (url, alt) = (&self.url, self.landscape.alt(variant));
        format!("<figure><img src=\"{url}\" alt=\"{alt}\"><figcaption>{alt}</figcaption></figure>")
    }
}

/// Returns commands to try on the demonstration of the server at this URL. Each expects the token in `$TOKEN`.
pub fn commands(url: &str) -> Vec<String> {
    let get = |query: &str| format!("curl -sg -H \"Authorization: Bearer $TOKEN\" '{url}/v2/{query}'");
    vec![
        get("resources/articles?per_page=3&fields=id,attributes.title,attributes.tags"),
        get("resources/articles?search=compiler%20error&sort=-reading_minutes&fields=attributes.title"),
        get("resources/articles?q=memory%20alocator&highlight=body&fields=attributes.title&per_page=3"),
        get("resources/articles?variant=ja&filter[body][contains]=コンパイラ&fields=attributes.title&per_page=5"),
        get("resources/site-settings"),
        format!(
            "curl -s -X POST -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \
             -d '{{\"attributes\":{{\"subject\":\"Hello\",\"email\":\"ada@example.org\",\"message\":\"It works.\"}}}}' \
             '{url}/v2/resources/contact-messages'"
        ),
    ]
}
