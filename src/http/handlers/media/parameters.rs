//! The query string of the address of a file: which picture is wanted. Rounds what is asked for, so that the number of
//! different pictures is small. Must not know files.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use bindery_content::DeliveredMedia;
use bindery_media::{Fit, Format, Wanted};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use bindery_query::RawParams;

/// The steps of proportions: the shorter side is a multiple of this part of the longer one. It keeps 16:9, 16:10, 3:2,
/// 4:3, 2:1, 3:1 and 1:1 exactly, and has 95 steps from 48:1 to 1:48.
const PROPORTIONS: u64 = 48;
/// The qualities in which pictures are made.
const QUALITIES: [u8; 6] = [30, 45, 60, 75, 90, 100];
/// The parameters. `strict` makes unknown ones errors elsewhere; here they always are.
const KNOWN: [&str; 7] = ["w", "h", "fit", "format", "q", "v", "strict"];

/// The parameters of an address.
pub(super) struct Parameters {
    width: Option<u32>,
    height: Option<u32>,
    fit: Option<Fit>,
    format: Option<WantedFormat>,
    quality: Option<u8>,
    /// The version of the file, as the address has it.
    pub(super) version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedFormat {
    /// The smallest one that the client accepts.
    Auto,
    This(Format),
}

impl Parameters {
    /// Reads a query string. `sizes` are the widths and heights that exist, in ascending order.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) fn parse(raw_query: &str, sizes: &[u32]) -> Result<Parameters, Error> {
        let raw = RawParams::parse(raw_query);
        if let Some(unknown) = raw.names().find(|name| !KNOWN.contains(name)) {
            let text = format!(
                "{} is not a parameter of files; these are `w`, `h`, `fit`, `format`, `q`, `v`",
                quote(unknown)
            );
            return Err(Error::new(Code::InvalidParameter, text));
        }
        let fit = one_of("fit", raw.single("fit")?, &FITS)?;
        let (width, height) = (pixels("w", raw.single("w")?)?, pixels("h", raw.single("h")?)?);
        let (width, height) = match (width, height, fit) {
            (Some(width), Some(height), Some(Fit::Cover | Fit::Contain)) => proportional(width, height, sizes),
            _ => (width.map(|width| rounded_up(width, sizes)), height.map(|height| rounded_up(height, sizes))),
        };
        Ok(Parameters {
            width,
            height,
            fit,
            format: one_of("format", raw.single("format")?, &FORMATS)?,
            quality: quality(raw.single("q")?)?,
            version: raw.single("v")?.map(str::to_owned),
        })
    }

    /// Returns whether another picture is wanted than the file itself.
    pub(super) fn ask_for_a_picture(&self) -> bool {
        self.width.is_some()
            || self.height.is_some()
            || self.fit.is_some()
            || self.format.is_some()
            || self.quality.is_some()
    }

    /// Returns whether the answer depends on `Accept`.
    pub(super) fn depend_on_accept(&self) -> bool {
        self.format == Some(WantedFormat::Auto)
    }

    /// Returns whether the file stays as it is: an animated picture whose client takes any format and does not name the
    /// only one that keeps it animated.
    pub(super) fn keep_the_file(&self, is_animated: bool, headers: &HeaderMap) -> bool {
        is_animated && self.depend_on_accept() && !accepts(headers, "image/webp")
    }

    /// Returns the wanted picture.
    pub(super) fn wanted(&self, media: &DeliveredMedia, is_animated: bool, headers: &HeaderMap) -> Wanted {
        let mime = media.file.mime.as_str();
        let format = match self.format {
            Some(WantedFormat::This(format)) => format,
            Some(WantedFormat::Auto) => automatic(mime, is_animated, headers),
            None if is_animated => Format::Webp,
            None => format_of(mime),
        };
        let (width, height) = (self.width, self.height);
        Wanted {
            width,
            height,
            fit: self.fit.unwrap_or(Fit::Inside),
            format,
            quality: self.quality,
            focal: media.focal,
        }
    }
}

const FITS: [(&str, Fit); 3] = [("cover", Fit::Cover), ("contain", Fit::Contain), ("inside", Fit::Inside)];
const FORMATS: [(&str, WantedFormat); 5] = [
    ("auto", WantedFormat::Auto),
    ("avif", WantedFormat::This(Format::Avif)),
    ("webp", WantedFormat::This(Format::Webp)),
    ("jpeg", WantedFormat::This(Format::Jpeg)),
    ("png", WantedFormat::This(Format::Png)),
];

fn one_of<T: Copy>(name: &str, sent: Option<&str>, known: &[(&str, T)]) -> Result<Option<T>, Error> {
    let Some(sent) = sent else { return Ok(None) };
    let found = known.iter().find(|(text, _)| *text == sent).map(|(_, value)| *value);
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(text, _)| format!("`{text}`")).collect();
        invalid(name, sent, &format!("one of {}", names.join(", ")))
    })
}

/// Reads a width or a height.
fn pixels(name: &str, sent: Option<&str>) -> Result<Option<u32>, Error> {
    let Some(sent) = sent else { return Ok(None) };
    whole(sent).map(Some).ok_or_else(|| invalid(name, sent, "a whole number of pixels, 1 or more"))
}

/// Rounds a width or a height up to one that exists.
fn rounded_up(side: u32, sizes: &[u32]) -> u32 {
    sizes.iter().copied().find(|size| *size >= side).or(sizes.last().copied()).unwrap_or(side)
}

/// Rounds the longer side up to one that exists, and keeps the proportions. Rounded on their own, 640 × 360 would
/// become 640 × 480.
fn proportional(width: u32, height: u32, sizes: &[u32]) -> (Option<u32>, Option<u32>) {
    let rounded = |part: u64, of: u64| (part + of / 2) / of;
    let (long, short) = (u64::from(width.max(height)), u64::from(width.min(height)));
    let longer = rounded_up(width.max(height), sizes);
    let steps = rounded(short * PROPORTIONS, long).max(1);
    let shorter = rounded(u64::from(longer) * steps, PROPORTIONS).max(1) as u32;
    if width >= height { (Some(longer), Some(shorter)) } else { (Some(shorter), Some(longer)) }
}

fn quality(sent: Option<&str>) -> Result<Option<u8>, Error> {
    let Some(sent) = sent else { return Ok(None) };
    let number = whole(sent).filter(|number| *number <= 100);
    let number = number.ok_or_else(|| invalid("q", sent, "a whole number from 1 to 100"))?;
    Ok(QUALITIES.into_iter().find(|quality| u32::from(*quality) >= number))
}

/// Reads a number that has digits only.
fn whole(sent: &str) -> Option<u32> {
    let is_number = sent.len() <= 9 && !sent.is_empty() && sent.bytes().all(|byte| byte.is_ascii_digit());
    sent.parse().ok().filter(|number| is_number && *number > 0)
}

fn invalid(name: &str, sent: &str, right: &str) -> Error {
    Error::new(Code::InvalidParameter, format!("`{name}` is {}; it must be {right}", quote(sent)))
}

/// Returns the format of a picture that is only made smaller.
fn format_of(mime: &str) -> Format {
    match mime {
        "image/png" => Format::Png,
        "image/gif" | "image/webp" => Format::Webp,
        _ => Format::Jpeg,
    }
}

/// Returns the smallest format that the client names.
fn automatic(mime: &str, is_animated: bool, headers: &HeaderMap) -> Format {
    let accepts = |name: &str| accepts(headers, name);
    match () {
        // Only WebP keeps a picture animated.
        () if is_animated => Format::Webp,
        () if accepts("image/avif") => Format::Avif,
        () if accepts("image/webp") => Format::Webp,
        // PNG keeps what is transparent.
        () if matches!(mime, "image/png" | "image/gif" | "image/webp") => Format::Png,
        () => Format::Jpeg,
    }
}

/// Returns whether the client names a type, and does not refuse it.
fn accepts(headers: &HeaderMap, name: &str) -> bool {
    let sent = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|value| value.split(',')).any(|range| {
        let (range, parameters) = range.split_once(';').unwrap_or((range, ""));
        let mut pairs = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
        let weight = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let is_refused = weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0_f32));
        range.trim().eq_ignore_ascii_case(name) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn sizes_and_qualities_are_rounded_up_to_those_that_exist() {
        let sizes = [160, 320, 3840];
        let of = |query: &str| Parameters::parse(query, &sizes).unwrap();
        for (query, width) in [("w=1", 160), ("w=160", 160), ("w=161", 320), ("w=321", 3840), ("w=999999", 3840)] {
            assert_eq!(of(query).width, Some(width), "{query}");
        }
        for (query, quality) in [("q=1", 30), ("q=75", 75), ("q=76", 90), ("q=100", 100)] {
            assert_eq!(of(query).quality, Some(quality), "{query}");
        }
        assert!(!of("v=abc").ask_for_a_picture() && of("format=auto").ask_for_a_picture());
        for query in [
            "w=0",
            "w=",
            "w=-1",
            "w=1.5",
            "w=+1",
            "h=x",
            "q=0",
            "q=101",
            "fit=fill",
            "format=gif",
            "width=1",
            "w=1&w=2",
        ] {
            let error = Parameters::parse(query, &sizes).err().unwrap();
            assert_eq!(error.code, Code::InvalidParameter, "{query}");
        }
    }

    #[test]
    fn a_picture_that_fills_both_sides_keeps_the_proportions_that_were_asked_for() {
        let sizes = [160, 320, 640, 1280, 3840];
        for (query, size) in [
            ("w=640&h=360&fit=cover", (640, 360)),
            ("w=360&h=640&fit=contain", (360, 640)),
            ("w=600&h=400&fit=cover", (640, 427)),
            ("w=100&h=100&fit=cover", (160, 160)),
            ("w=1200&h=630&fit=cover", (1280, 667)),
            ("w=9000&h=6000&fit=cover", (3840, 2560)),
            ("w=1280&h=1&fit=cover", (1280, 27)),
            // These keep the proportions of the picture, so each side is a bound of its own.
            ("w=640&h=360&fit=inside", (640, 640)),
            ("w=640&h=360", (640, 640)),
        ] {
            let Parameters { width, height, .. } = Parameters::parse(query, &sizes).unwrap();
            assert_eq!((width, height), (Some(size.0), Some(size.1)), "{query}");
        }
        let mut shapes = std::collections::HashSet::new();
        for (w, h) in (1..=200).flat_map(|w| (1..=200).map(move |h| (w, h))) {
            let Parameters { width, height, .. } =
                Parameters::parse(&format!("w={w}&h={h}&fit=cover"), &[640]).unwrap();
            shapes.insert((width, height));
            let (width, height) = (f64::from(width.unwrap()), f64::from(height.unwrap()));
            let (asked, made) = (f64::from(w.min(h)) / f64::from(w.max(h)), width.min(height) / width.max(height));
            assert!((asked - made).abs() < 1.1 / 48.0, "{w} × {h} became {width} × {height}");
        }
        assert_eq!(shapes.len(), 95);
    }

    #[test]
    fn the_automatic_format_is_the_smallest_that_the_client_names() {
        let with = |accept: &str| HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())]);
        let chrome = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
        for (mime, is_animated, accept, format) in [
            ("image/jpeg", false, chrome, Format::Avif),
            ("image/gif", true, chrome, Format::Webp),
            ("image/gif", false, chrome, Format::Avif),
            ("image/webp", false, chrome, Format::Avif),
            ("image/jpeg", false, "image/webp,*/*", Format::Webp),
            ("image/jpeg", false, "image/avif;q=0,image/webp", Format::Webp),
            ("image/jpeg", false, "image/avif; Q=0.0, image/webp", Format::Webp),
            ("image/jpeg", false, "*/*", Format::Jpeg),
            ("image/png", false, "*/*", Format::Png),
        ] {
            assert_eq!(automatic(mime, is_animated, &with(accept)), format, "{mime} {accept}");
        }
    }
}
