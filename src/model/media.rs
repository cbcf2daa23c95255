//! Addresses and names of media (`API.md` 4.27): how an address is made, which texts contain one, and what a file name
//! may be.
//!
//! Must not know files or stored resources.

use icu_normalizer::ComposingNormalizerBorrowed;
use serde_json::Value;

use crate::blueprint::{Blueprint, FieldType, SystemField};
use crate::id::ResourceId;

/// The beginning of the path of every address of media.
pub const MEDIA_PATH: &str = "/media/";
/// The longest file name, in bytes. Most file systems accept no longer one.
const MAX_NAME_BYTES: usize = 255;
/// The longest ending of a file name that is kept if the name is cut, in bytes.
const MAX_ENDING_BYTES: usize = 20;
/// The name of a file whose sent name has no usable character.
const NAMELESS: &str = "file";
/// The length of an id as text.
const ID_BYTES: usize = 36;

/// The file of a media resource, as an upload found it.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaFile {
    /// The cleaned name.
    pub name: String,
    /// The media type, from the content.
    pub mime: String,
    /// The size.
    pub bytes: u64,
    /// Width and height of a picture.
    pub size: Option<(u32, u32)>,
    /// The hash, as 64 hexadecimal digits.
    pub hash: String,
    /// The thumbhash of a picture.
    pub placeholder: Option<String>,
}

impl MediaFile {
    /// Returns the value of a system field that follows from the file alone; `None` for the others.
    pub fn value_of(&self, field: SystemField) -> Option<Value> {
        Some(match field {
            SystemField::FileName => self.name.as_str().into(),
            SystemField::Mime => self.mime.as_str().into(),
            SystemField::Bytes => self.bytes.into(),
            SystemField::Width => self.size.map(|(width, _)| width).into(),
            SystemField::Height => self.size.map(|(_, height)| height).into(),
            SystemField::Hash => self.hash.as_str().into(),
            SystemField::Placeholder => self.placeholder.clone().into(),
            SystemField::Url | SystemField::FocalX | SystemField::FocalY => return None,
        })
    }
}

/// Returns the address of a file below the server's own address: `/media/{id}/{name}?v={version}`.
pub fn media_url(id: ResourceId, name: &str, version: &str) -> String {
    let mut url = format!("{MEDIA_PATH}{id}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url + "?v=" + version
}

/// Returns the `v` of an address: the hash, with the focal point if there is one. Whatever is served under the address
/// changes with it.
pub fn media_version(hash: &str, focal_x: &Value, focal_y: &Value) -> String {
    match (focal_x, focal_y) {
        (Value::Null, Value::Null) => hash.to_owned(),
        (x, y) => format!("{hash}-{}-{}", focal_text(x), focal_text(y)),
    }
}

/// Returns a coordinate of a focal point as text. One that is not set is the middle.
fn focal_text(value: &Value) -> String {
    if value.is_null() { "0.5".to_owned() } else { value.to_string() }
}

/// Returns the ids in texts of the form `/media/{id}/`, each once. Finds every address of media, and perhaps texts that
/// only look like one.
pub fn media_ids_in(text: &str) -> Vec<ResourceId> {
    let mut ids: Vec<ResourceId> = text.match_indices(MEDIA_PATH).filter_map(|(at, _)| id_at(text, at)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns the id of the address whose path begins at this byte.
fn id_at(text: &str, at: usize) -> Option<ResourceId> {
    let begin = at + MEDIA_PATH.len();
    let id = ResourceId::parse(text.get(begin..begin + ID_BYTES)?)?;
    text[begin + ID_BYTES..].starts_with('/').then_some(id)
}

/// Returns whether a value of this type has the address of a media resource. An address is relative, or begins with the
/// public address of the server, if that is known.
pub fn has_address_of(field_type: &FieldType, value: &Value, id: ResourceId, public_url: Option<&str>) -> bool {
    match field_type {
        FieldType::Link | FieldType::Image | FieldType::File => {
            let text = value.as_str().unwrap_or_default();
            let path = public_url.and_then(|public_url| text.strip_prefix(public_url)).unwrap_or(text);
            path.starts_with(MEDIA_PATH) && id_at(path, 0) == Some(id)
        }
        FieldType::RichText => value.as_str().is_some_and(|html| html_has_address_of(html, id, public_url)),
        FieldType::HtmlPage { .. } => texts_of(value).any(|text| html_has_address_of(text, id, public_url)),
        _ => false,
    }
}

/// Returns whether a text, such as HTML, has an address that begins at the beginning of an attribute, of the text, or
/// of an element of a list.
fn html_has_address_of(text: &str, id: ResourceId, public_url: Option<&str>) -> bool {
    text.match_indices(MEDIA_PATH).any(|(at, _)| {
        let before = &text[..at];
        let before = public_url.and_then(|public_url| before.strip_suffix(public_url)).unwrap_or(before);
        let begins = before.chars().next_back().is_none_or(|last| last.is_whitespace() || "\"'(,=".contains(last));
        begins && id_at(text, at) == Some(id)
    })
}

/// Returns all texts in a value.
fn texts_of(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(elements) => Box::new(elements.iter().flat_map(texts_of)),
        Value::Object(parts) => Box::new(parts.values().flat_map(texts_of)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns the slugs of the fields whose values have the address of a media resource. `values` are in the order of the
/// fields.
pub fn fields_with_address_of<'a>(
    blueprint: &'a Blueprint,
    values: &'a [Value],
    id: ResourceId,
    public_url: Option<&'a str>,
) -> impl Iterator<Item = &'a str> {
    let pairs = blueprint.fields.iter().zip(values).filter(|(field, _)| !field.is_system);
    let used = pairs.filter(move |(field, value)| has_address_of(&field.field_type, value, id, public_url));
    used.map(|(field, _)| field.slug.as_str())
}

/// Returns a sent file name without folders and without characters that hide what the name is. It is never empty, and
/// at most 255 bytes long; if it is cut, its ending stays.
pub fn clean_file_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|character| !is_hidden(*character)).collect();
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&shown);
    let name = composed.trim();
    if name.chars().all(|character| character == '.' || character.is_whitespace()) {
        return NAMELESS.to_owned();
    }
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
    let ending = if ending.len() <= MAX_ENDING_BYTES { ending } else { "" };
    let mut end = MAX_NAME_BYTES - ending.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ending}", &name[..end])
}

/// Returns whether a character is a control character, or invisible and changes the direction or the joining of others.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const ID: &str = "0190f3a0-0000-7000-8000-000000000001";

    #[test]
    fn file_names_are_cleaned_and_never_empty() {
        let cases = [
            ("photo.jpg", "photo.jpg"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\me\\a.png", "a.png"),
            (" a\u{0}\n\r\tb.png ", "ab.png"),
            ("evil\u{202e}gpj.exe", "evilgpj.exe"),
            ("Cafe\u{301}.png", "Caf\u{e9}.png"),
            ("", "file"),
            ("/", "file"),
            ("..", "file"),
            (". .", "file"),
            ("\u{200b}", "file"),
            (".htaccess", ".htaccess"),
        ];
        for (sent, cleaned) in cases {
            assert_eq!(clean_file_name(sent), cleaned, "{sent:?}");
        }
        let long = clean_file_name(&format!("{}.jpeg", "ü".repeat(300)));
        assert!(long.len() <= 255 && long.len() > 250 && long.ends_with("ü.jpeg"), "{long}");
        assert_eq!(clean_file_name(&format!("a.{}", "b".repeat(300))).len(), 255);
    }

    #[test]
    fn an_address_has_the_id_the_name_and_what_its_content_depends_on() {
        let id = ResourceId::parse(ID).unwrap();
        assert_eq!(media_url(id, "a b/ü.jpg", "x"), format!("/media/{ID}/a%20b%2F%C3%BC.jpg?v=x"));
        assert_eq!(media_version("h", &Value::Null, &Value::Null), "h");
        assert_eq!(media_version("h", &json!(0.25), &Value::Null), "h-0.25-0.5");
    }

    #[test]
    fn addresses_are_found_where_a_browser_would_follow_them() {
        let id = ResourceId::parse(ID).unwrap();
        let own = Some("https://cms.example");
        let relative = format!("/media/{ID}/a.jpg?v=1");
        let absolute = format!("https://cms.example{relative}");
        let foreign = format!("https://other.example{relative}");
        for (value, found) in [(&relative, true), (&absolute, true), (&foreign, false)] {
            assert_eq!(has_address_of(&FieldType::Image, &json!(value), id, own), found, "{value}");
            let html = format!("<p>a <img src=\"{value}\" alt=\"\"></p>");
            assert_eq!(has_address_of(&FieldType::RichText, &json!(html), id, own), found, "{html}");
            let page = json!({"html": html, "css": "", "blocks": [{"src": value}]});
            let page_type = FieldType::HtmlPage { blocks: None, template: None };
            assert_eq!(has_address_of(&page_type, &page, id, own), found, "{page}");
        }
        assert!(!has_address_of(&FieldType::Image, &json!(absolute), id, None));
        assert!(!has_address_of(&FieldType::Text, &json!(relative), id, own));
        assert!(!has_address_of(&FieldType::Image, &json!(format!("/media/{ID}")), id, own));
        let srcset = format!("<img srcset=\"/x.jpg 1x, {relative} 2x\">");
        assert!(has_address_of(&FieldType::RichText, &json!(srcset), id, own));
        assert_eq!(media_ids_in(&format!("{relative} {relative} /media/x/")), [id]);
    }
}
