//! Checks SVG, which browsers draw. It is served in a sandbox, so scripts in it do nothing; but it must be well-formed,
//! and must not expand to something large. It is never drawn here.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::error::MediaError;

/// The length of a file.
pub(crate) const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// The depth of nested elements. Browsers draw them recursively.
const MAX_DEPTH: usize = 512;
/// The length of all uses of entities, if each had the length of the longest.
const MAX_EXPANDED: usize = 10 * 1024 * 1024;
/// The number of attributes of the root that are looked at.
const MAX_ATTRIBUTES: usize = 1000;

/// Returns the width and height in pixels, if the file has them as plain numbers.
///
/// # Errors
/// `BrokenPicture` if it is not well-formed XML in UTF-8 with the root `svg`, `PictureTooLarge` beyond the bounds.
pub(crate) fn check(bytes: &[u8]) -> Result<Option<(u32, u32)>, MediaError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MediaError::broken("an SVG must be saved in UTF-8"))?;
    let text = text.trim_start_matches('\u{FEFF}');
    let mut reader = Reader::from_str(text);
    let mut depth = 0;
    let mut root = None;
    let mut has_declaration = false;
    loop {
        match reader.read_event().map_err(|error| MediaError::broken(format!("{error}")))? {
            Event::Start(element) => {
                if depth == 0 {
                    root = Some(size_of_root(&element, root.is_some())?);
                }
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(MediaError::beyond(format!(
                        "its elements are nested more than {MAX_DEPTH} levels deep"
                    )));
                }
            }
            Event::Empty(element) if depth == 0 => root = Some(size_of_root(&element, root.is_some())?),
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::DocType(_) if has_declaration => {
                return Err(MediaError::broken("it has two declarations `DOCTYPE`"));
            }
            Event::DocType(declaration) => {
                has_declaration = true;
                check_entities(text, &declaration)?;
            }
            Event::Eof if depth > 0 => return Err(MediaError::broken("its last elements are not closed")),
            Event::Eof => return root.ok_or_else(|| MediaError::broken("it has no element `svg`")),
            _ => {}
        }
    }
}

/// Some editors define short entities for the addresses of namespaces. Entities that use others may grow without bound.
fn check_entities(text: &str, declaration: &[u8]) -> Result<(), MediaError> {
    let declaration = String::from_utf8_lossy(declaration);
    let mut longest = 0;
    for definition in declaration.split("<!ENTITY").skip(1) {
        let definition = definition.trim_start();
        let value = definition.split(['"', '\'']).nth(1).unwrap_or_default();
        let is_external = definition
            .split(['"', '\''])
            .next()
            .is_some_and(|start| start.starts_with('%') || start.contains("SYSTEM") || start.contains("PUBLIC"));
        if is_external || value.contains('&') || value.contains('%') || value.contains('<') {
            return Err(MediaError::broken("it defines entities that use other entities, elements or files"));
        }
        longest = longest.max(value.len());
    }
    let uses = text.bytes().filter(|&byte| byte == b'&').count();
    if longest.saturating_mul(uses) > MAX_EXPANDED {
        return Err(MediaError::beyond(format!("its entities expand to more than {} MiB", MAX_EXPANDED >> 20)));
    }
    Ok(())
}

fn size_of_root(element: &BytesStart<'_>, has_root: bool) -> Result<Option<(u32, u32)>, MediaError> {
    if has_root || element.local_name().as_ref() != b"svg" {
        return Err(MediaError::broken("an SVG must have one root, the element `svg`"));
    }
    let (mut width, mut height, mut view) = (None, None, None);
    for attribute in element.attributes().with_checks(false).take(MAX_ATTRIBUTES) {
        let attribute = attribute.map_err(|error| MediaError::broken(format!("{error}")))?;
        let value = String::from_utf8_lossy(&attribute.value);
        match attribute.key.as_ref() {
            b"width" => width = pixels(&value),
            b"height" => height = pixels(&value),
            b"viewBox" => view = size_of_view(&value),
            _ => {}
        }
    }
    Ok(width.zip(height).or(view))
}

/// Reads a length without a unit or in pixels.
fn pixels(value: &str) -> Option<u32> {
    let value = value.trim();
    let number: f64 = value.strip_suffix("px").unwrap_or(value).trim().parse().ok()?;
    (number.is_finite() && number >= 0.5 && number <= f64::from(u16::MAX)).then(|| number.round() as u32)
}

fn size_of_view(value: &str) -> Option<(u32, u32)> {
    let mut numbers = value.split([' ', ',', '\t', '\n', '\r']).filter(|part| !part.is_empty()).skip(2);
    Some((pixels(numbers.next()?)?, pixels(numbers.next()?)?))
}
