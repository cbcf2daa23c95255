//! The demonstration: blueprints that show the field types, and real articles. The data is in `src/demo`, whose
//! `README.md` names the sources. Must not know HTTP.

use bindery_access::Access;
use bindery_content::Content;
use bindery_model::error::{Error, Result};

/// The blueprints. Each follows the blueprints that its relations refer to.
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

/// Fills empty content with the demonstration, as an import over the API would. The data is durable on return.
///
/// # Errors
/// `INTERNAL` if the demonstration is invalid for this version of the server. Also the errors of any write.
pub async fn fill(content: &Content, access: &Access) -> Result<()> {
    for blueprint in BLUEPRINTS {
        content.create_blueprint(access, blueprint.as_bytes(), None).await?;
    }
    let articles = zstd::decode_all(ARTICLES).map_err(Error::internal)?;
    for (slug, lines) in [
        ("authors", AUTHORS),
        ("articles", articles.as_slice()),
        ("site-settings", SITE_SETTINGS),
        ("contact-messages", CONTACT_MESSAGES),
    ] {
        let mut import = content.import(access, slug, "")?;
        let mut results = Vec::new();
        for line in lines.split(|byte| *byte == b'\n') {
            results.extend(import.push(line).await?);
        }
        results.extend(import.finish().await?);
        for line in results {
            line.result.map_err(|error| Error::internal(format!("{slug} {}: {error}", line.index)))?;
        }
    }
    Ok(())
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
