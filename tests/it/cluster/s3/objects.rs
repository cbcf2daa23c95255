//! The objects, and the operations on them.

use std::collections::BTreeMap;
use std::ops::Bound;

use chrono::{DateTime, Utc};

use super::http::{Request, Response};

/// The names of one answer to a list. Small, so that lists are continued.
const PAGE: usize = 40;

#[derive(Default)]
pub(super) struct Objects {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// The entity tags of uploads that were completed: a repeated completion gets the same answer.
    completed: BTreeMap<String, String>,
    counter: u64,
}

struct Object {
    bytes: Vec<u8>,
    tag: String,
    modified: DateTime<Utc>,
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
}

impl Objects {
    /// Carries out a request.
    pub(super) fn handle(&mut self, request: &Request) -> Response {
        let upload = request.parameter("uploadId");
        match (request.method.as_str(), upload) {
            ("PUT", None) => self.put(request),
            ("PUT", Some(upload)) => self.put_part(upload, request),
            ("GET", None) if request.parameter("list-type").is_some() => self.list(request),
            ("GET" | "HEAD", None) => self.get(request),
            ("DELETE", None) => {
                self.objects.remove(&request.key);
                Response::new(204, "")
            }
            ("DELETE", Some(upload)) => {
                self.uploads.remove(upload);
                Response::new(204, "")
            }
            ("POST", None) if request.parameter("delete").is_some() => self.delete_many(request),
            ("POST", None) if request.parameter("uploads").is_some() => self.begin_upload(),
            ("POST", Some(upload)) => self.complete(upload, request),
            _ => Response::error(501, "NotImplemented"),
        }
    }

    /// Returns the contents of the objects with this prefix.
    pub(super) fn contents(&self, prefix: &str) -> Vec<Vec<u8>> {
        let from = self.objects.range(prefix.to_owned()..);
        from.take_while(|(key, _)| key.starts_with(prefix)).map(|(_, object)| object.bytes.clone()).collect()
    }

    fn next(&mut self) -> String {
        self.counter += 1;
        format!("{:016x}", self.counter)
    }

    fn store(&mut self, key: &str, bytes: Vec<u8>) -> String {
        let tag = format!("\"{}\"", self.next());
        let object = Object { bytes, tag: tag.clone(), modified: Utc::now() };
        self.objects.insert(key.to_owned(), object);
        tag
    }

    fn put(&mut self, request: &Request) -> Response {
        if request.is_conditional_put() && self.objects.contains_key(&request.key) {
            return Response::error(412, "PreconditionFailed");
        }
        let tag = self.store(&request.key, request.body.clone());
        Response::new(200, "").with("ETag", tag)
    }

    fn get(&self, request: &Request) -> Response {
        let Some(object) = self.objects.get(&request.key) else { return Response::error(404, "NoSuchKey") };
        let total = object.bytes.len();
        let range = request.header("range").and_then(|range| range_of(range, total));
        let response = match range {
            None => Response::new(200, object.bytes.clone()),
            Some((from, to)) => Response::new(206, object.bytes[from..=to].to_vec())
                .with("Content-Range", format!("bytes {from}-{to}/{total}")),
        };
        let modified = object.modified.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        response.with("ETag", object.tag.clone()).with("Last-Modified", modified)
    }

    fn list(&self, request: &Request) -> Response {
        let bucket = format!("{}/", request.key.trim_end_matches('/'));
        let prefix = format!("{bucket}{}", request.parameter("prefix").unwrap_or_default());
        let after = request.parameter("continuation-token").or(request.parameter("start-after"));
        let after = after.map(|after| format!("{bucket}{after}")).unwrap_or_default();
        let from = match after < prefix {
            true => Bound::Included(prefix.clone()),
            false => Bound::Excluded(after),
        };
        let found = self.objects.range((from, Bound::Unbounded));
        let found: Vec<_> = found.take_while(|(key, _)| key.starts_with(&prefix)).take(PAGE + 1).collect();
        let is_truncated = found.len() > PAGE;
        let mut body = format!("<ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>");
        let page = &found[..found.len().min(PAGE)];
        for (key, object) in page {
            let (key, tag, size) = (&key[bucket.len()..], &object.tag.trim_matches('"'), object.bytes.len());
            let modified = object.modified.format("%Y-%m-%dT%H:%M:%S%.3fZ");
            body += &format!("<Contents><Key>{key}</Key><LastModified>{modified}</LastModified>");
            body += &format!("<ETag>{tag}</ETag><Size>{size}</Size></Contents>");
        }
        if let (true, Some((last, _))) = (is_truncated, page.last()) {
            body += &format!("<NextContinuationToken>{}</NextContinuationToken>", &last[bucket.len()..]);
        }
        Response::new(200, body + "</ListBucketResult>").with("Content-Type", "application/xml")
    }

    fn delete_many(&mut self, request: &Request) -> Response {
        let (text, bucket) = (String::from_utf8_lossy(&request.body), request.key.trim_end_matches('/'));
        let mut body = "<DeleteResult>".to_owned();
        for key in between(&text, "<Key>", "</Key>") {
            self.objects.remove(&format!("{bucket}/{key}"));
            body += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        Response::new(200, body + "</DeleteResult>")
    }

    fn begin_upload(&mut self) -> Response {
        let upload = self.next();
        self.uploads.insert(upload.clone(), BTreeMap::new());
        let body = format!(
            "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>{upload}</UploadId>\
             </InitiateMultipartUploadResult>"
        );
        Response::new(200, body)
    }

    fn put_part(&mut self, upload: &str, request: &Request) -> Response {
        let number = request.parameter("partNumber").and_then(|number| number.parse::<u32>().ok());
        let (Some(parts), Some(number)) = (self.uploads.get_mut(upload), number) else {
            return Response::error(404, "NoSuchUpload");
        };
        parts.insert(number, request.body.clone());
        Response::new(200, "").with("ETag", format!("\"part-{number}\""))
    }

    fn complete(&mut self, upload: &str, request: &Request) -> Response {
        let tag = match (self.completed.get(upload), self.uploads.remove(upload)) {
            (Some(tag), _) => tag.clone(),
            (None, Some(parts)) => {
                let tag = self.store(&request.key, parts.into_values().flatten().collect());
                self.completed.insert(upload.to_owned(), tag.clone());
                tag
            }
            (None, None) => return Response::error(404, "NoSuchUpload"),
        };
        let body = format!(
            "<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket><Key>k</Key><ETag>{tag}</ETag>\
             </CompleteMultipartUploadResult>"
        );
        Response::new(200, body)
    }
}

/// Reads `bytes=FROM-TO`. Returns the first and the last byte.
fn range_of(range: &str, total: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let last = total.checked_sub(1)?;
    let (from, to) = match (from, to) {
        ("", suffix) => (total.saturating_sub(suffix.parse().ok()?), last),
        (from, "") => (from.parse().ok()?, last),
        (from, to) => (from.parse().ok()?, to.parse::<usize>().ok()?.min(last)),
    };
    (from <= to).then_some((from, to))
}
