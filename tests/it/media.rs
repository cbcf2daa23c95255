//! Media (`API.md` 4.27): uploads, the fields that only an upload sets, delivery, uses, and the removal of files.

mod blueprint;
mod delivery;
pub(crate) mod files;
mod imports;
mod places;
mod s3;
mod upload;
mod uses;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Reply, Server};

/// A response whose body may be no text.
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Vec<u8>,
}

impl Fetched {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Returns the response. Panics if it has another status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Fetched {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self
    }
}

/// Sends a request with exactly these headers, without a token.
pub(crate) fn request(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Fetched {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.address()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = agent.run(request.body(()).unwrap()).unwrap();
    let headers = response.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned())).collect();
    let mut bytes = Vec::new();
    response.body_mut().as_reader().read_to_end(&mut bytes).unwrap();
    Fetched { status: response.status().as_u16(), headers, bytes }
}

pub(crate) fn fetch(server: &Server, path: &str) -> Fetched {
    request(server, "GET", path, &[])
}

/// A part of a form: its name, the name of its file, and its bytes.
pub(crate) type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

const BOUNDARY: &str = "a-boundary-of-the-tests";

/// Returns the body of a form.
pub(crate) fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, bytes) in parts {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend(head.as_bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// Sends a form.
pub(crate) fn send_form(server: &Server, method: &str, path: &str, parts: &[Part<'_>]) -> Reply {
    send_form_with(server, method, path, &[], parts)
}

pub(crate) fn send_form_with(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    parts: &[Part<'_>],
) -> Reply {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let mut all = vec![("content-type", content_type.as_str())];
    all.extend(headers);
    server.raw(method, path, &all, &form(parts))
}

/// Uploads a published file and returns its resource.
#[track_caller]
pub(crate) fn upload(server: &Server, name: &str, bytes: &[u8]) -> Value {
    let parts: [Part<'_>; 2] = [("file", Some(name), bytes), ("published_at", None, b"2026-01-01T00:00:00Z")];
    send_form(server, "POST", "/v2/media/media", &parts).expect(201).data()
}

/// Returns the definition of a media blueprint with alt texts in two languages.
pub(crate) fn definition() -> Value {
    json!({ "name": "Media", "slug": "media", "kind": "media", "fields": [
        { "name": "Alt", "slug": "alt", "type": "text" },
    ], "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }] })
}

/// Starts a server with a media blueprint.
pub(crate) fn start() -> Server {
    start_with(&[])
}

pub(crate) fn start_with(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    server.post("/v2/blueprints", &definition()).expect(201);
    server
}

/// Returns a picture in a format, with a gradient, so that resizing changes its bytes.
pub(crate) fn picture(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
    let pixel = |x: u32, y: u32| image::Rgb([(x * 255 / width) as u8, (y * 255 / height) as u8, 128]);
    let picture = image::RgbImage::from_fn(width, height, pixel);
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

pub(crate) fn jpeg(width: u32, height: u32) -> Vec<u8> {
    picture(width, height, image::ImageFormat::Jpeg)
}

pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    picture(width, height, image::ImageFormat::Png)
}

/// Returns a text attribute of a resource.
pub(crate) fn text<'a>(resource: &'a Value, slug: &str) -> &'a str {
    resource["attributes"][slug].as_str().unwrap_or_default()
}

/// A server on loopback that answers each request with the same bytes, or as its path says.
pub(crate) struct Web {
    pub(crate) address: String,
    /// The paths that were asked for.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub(crate) fn start(bytes: Vec<u8>) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = [0; 4_096];
                let read = stream.read(&mut head).unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                noted.lock().unwrap().push(path.to_owned());
                let answer = match path {
                    "/moved" => b"HTTP/1.1 302 Found\r\nLocation: /a%20b.png\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    "/loop" => b"HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    "/missing" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    "/empty" => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    _ => {
                        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
                        [head.as_bytes(), &bytes].concat()
                    }
                };
                let _ = stream.write_all(&answer);
            }
        });
        Web { address, asked }
    }

    /// Returns the number of requests for a path.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}
