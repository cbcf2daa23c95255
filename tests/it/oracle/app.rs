//! The server in this process: requests go to the router without a socket. Its indexes have tiny limits, so that a few
//! resources exercise every code path.

use std::path::Path;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use bindery_analytics::{Analytics, AnalyticsOptions};
use bindery_config::{Config, Settings};
use bindery_content::{Content, ContentOptions};
use bindery_http::{App, HttpService, service};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{ADMIN, Reply};

/// A server on a folder.
pub(crate) struct InProcess {
    runtime: Runtime,
    content: Option<Content>,
    service: Option<HttpService>,
    folder: tempfile::TempDir,
    /// A token that cannot see drafts.
    viewer: String,
}

impl InProcess {
    pub(crate) fn start() -> InProcess {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut server = InProcess { runtime, content: None, service: None, folder, viewer: String::new() };
        server.open();
        let token = server.send("POST", "/v2/tokens", Some(&json!({ "name": "viewer", "abilities": ["view"] })));
        server.viewer = token.expect(201).data()["secret"].as_str().unwrap().to_owned();
        server
    }

    fn open(&mut self) {
        let content = Content::open(&options(self.folder.path())).unwrap();
        let config = Config::resolve(Settings::default(), |_| Ok(None), Settings::default()).unwrap();
        let analytics = Analytics::open(&AnalyticsOptions::in_folder(self.folder.path())).unwrap();
        self.service = Some(service(App::new(
            config.clone(),
            content.clone(),
            analytics,
            bindery_http::Media::new(&config).unwrap(),
        )));
        self.content = Some(content);
    }

    /// Closes the server and opens it again on the same folder.
    pub(crate) fn restart(&mut self) {
        self.service = None;
        self.content.take().unwrap().close();
        self.open();
    }

    pub(crate) fn checkpoint(&self) {
        self.runtime.block_on(self.content.as_ref().unwrap().checkpoint()).unwrap();
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        match body {
            Some(body) => {
                self.raw(method, path, &[("content-type", "application/json")], body.to_string().into_bytes(), true)
            }
            None => self.raw(method, path, &[], Vec::new(), true),
        }
    }

    pub(crate) fn import(&self, blueprint: &str, lines: &[Value]) -> Vec<Value> {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = format!("/v2/resources/{blueprint}/import");
        let reply = self.raw("POST", &path, &[("content-type", "application/x-ndjson")], body.into_bytes(), true);
        reply.expect(200).lines()
    }

    /// Reads with a token that can or cannot see drafts.
    pub(crate) fn read(&self, path: &str, sees_drafts: bool) -> Reply {
        self.raw("GET", path, &[], Vec::new(), sees_drafts)
    }

    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>, sees_drafts: bool) -> Reply {
        let token = if sees_drafts { ADMIN } else { &self.viewer };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "bindery.test")
            .header("authorization", format!("Bearer {token}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let router = self.service.clone().unwrap();
        self.runtime.block_on(async move {
            let response = router.answer(request).await;
            let (parts, body) = response.into_parts();
            let bytes = to_bytes(body, usize::MAX).await.unwrap();
            let headers = parts.headers.iter();
            let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned()));
            Reply {
                status: parts.status.as_u16(),
                headers: headers.collect(),
                text: String::from_utf8(bytes.to_vec()).unwrap(),
            }
        })
    }
}

fn options(folder: &Path) -> ContentOptions {
    ContentOptions {
        folder: folder.join("data"),
        admin_token: Some(ADMIN.to_owned()),
        video_hosts: vec!["www.youtube.com".to_owned()],
        public_url: None,
        store_cache_bytes: 16 << 20,
        index: bindery_index::Options::tiny(),
        query_timeout: std::time::Duration::from_secs(10),
        write_timeout: std::time::Duration::from_secs(30),
        changes_kept: 1_000_000,
        max_answer_bytes: usize::MAX,
        cluster: None,
    }
}
