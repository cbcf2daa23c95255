//! Files in a bucket of a real S3 server: uploads in one part and in several, delivery, replacements, removal, moves
//! and a check.
//!
//! `BINDERY_TEST_S3` names an empty bucket, such as `s3://bucket/prefix`; its server and its credentials are in
//! `AWS_ENDPOINT`, `AWS_ACCESS_KEY_ID` and so on, as for a server in use. Otherwise `BINDERY_TEST_MOTO` names the
//! program `moto_server`, which the test starts. Without both it says that it is skipped. It also passes with the npm
//! package `s3rver`, started with `s3rver -d FOLDER -p 9000 --configure-bucket bucket`, whose access key and secret are
//! both `S3RVER`.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::files::SWEEPS;
use super::{Part, definition, fetch, png, request, send_form, text, upload};
use crate::support::{Server, binary};

/// More than two parts of a file in several parts.
const LARGE: usize = 11 << 20;

/// A bucket, with the variables of its server.
struct Bucket {
    address: String,
    variables: Vec<(String, String)>,
    /// The server, if the test has started it.
    server: Option<Child>,
}

impl Drop for Bucket {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn bucket() -> Option<Bucket> {
    if let Ok(address) = std::env::var("BINDERY_TEST_S3") {
        return Some(Bucket { address, variables: Vec::new(), server: None });
    }
    let Some(program) = std::env::var_os("BINDERY_TEST_MOTO") else {
        let _ = writeln!(
            std::io::stderr(),
            "media::s3 is skipped: neither BINDERY_TEST_S3 names a bucket nor BINDERY_TEST_MOTO the program moto_server"
        );
        return None;
    };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let server = command.spawn().unwrap();
    let endpoint = format!("http://127.0.0.1:{port}");
    let variables = [
        ("AWS_ENDPOINT", &*endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let bucket = Bucket { address: "s3://media/some/prefix".to_owned(), variables, server: Some(server) };
    let began = Instant::now();
    while ureq::put(format!("{endpoint}/media")).send_empty().is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "moto_server does not answer");
        std::thread::sleep(Duration::from_millis(200));
    }
    Some(bucket)
}

impl Bucket {
    /// Starts a server whose files are in the bucket.
    fn serve(&self, folder: &Path, points: &str) -> Server {
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let variables: Vec<(&str, &str)> = variables.chain([("FAILPOINTS", points)]).collect();
        Server::start_in_environment(folder, &["--media-store", &self.address], &variables)
    }

    /// Runs a command on a data folder whose files are in the bucket, or on one whose files are its own. Returns what
    /// it printed.
    #[track_caller]
    fn run(&self, arguments: &[&str], folder: &Path, is_in_bucket: bool) -> String {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--data").arg(folder).envs(self.variables.iter().cloned());
        command.env_remove("BINDERY_URL").env_remove("BINDERY_TOKEN");
        if is_in_bucket {
            command.env("BINDERY_MEDIA_STORE", &self.address);
        }
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {printed}");
        printed
    }
}

/// Returns a text of this length that does not repeat.
fn long_text(seed: usize) -> Vec<u8> {
    let lines = (0..).map(|line| format!("{seed} {line} {}\n", blake3::hash(format!("{seed} {line}").as_bytes())));
    let mut text = Vec::with_capacity(LARGE + 100);
    for line in lines {
        text.extend(line.into_bytes());
        if text.len() > LARGE {
            return text;
        }
    }
    text
}

#[test]
fn a_bucket_of_a_real_server_holds_the_files() {
    let Some(bucket) = bucket() else { return };
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let mut server = Server::start_in(&folder, &[]);
    server.post("/v2/blueprints", &definition()).expect(201);
    let (small, large) = (png(300, 200), long_text(1));
    let mut known = vec![upload(&server, "a.png", &small), upload(&server, "b.txt", &large)];
    server.terminate();
    assert!(bucket.run(&["media", "move", "--to", &bucket.address], &folder, false).contains("2 files copied"));
    assert!(bucket.run(&["media", "move", "--to", &bucket.address], &folder, false).contains("0 files copied"));
    std::fs::remove_dir_all(folder.join("media")).unwrap();

    let mut server = bucket.serve(&folder, "");
    let url = text(&known[1], "url").to_owned();
    assert!(fetch(&server, &url).expect(200).bytes == large);
    let part = request(&server, "GET", &url, &[("range", "bytes=6000000-6000099")]).expect(206);
    assert!(part.bytes == large[6_000_000..6_000_100]);
    let picture = text(&known[0], "url").to_owned();
    assert!(fetch(&server, &format!("{picture}&w=160&format=webp")).expect(200).bytes.starts_with(b"RIFF"));
    let other = long_text(2);
    known.push(upload(&server, "c.txt", &other));
    assert!(fetch(&server, text(&known[2], "url")).expect(200).bytes == other);
    let replacement = png(301, 200);
    let file: Part<'_> = ("file", Some("a.png"), &replacement);
    let content = format!("/v2/media/media/{}/content", known[0]["id"].as_str().unwrap());
    let replaced = send_form(&server, "PUT", &content, &[file]).expect(200).data();
    assert_eq!(fetch(&server, text(&replaced, "url")).expect(200).header("content-type"), "image/png");
    server.delete(&format!("/v2/resources/media/{}", known[1]["id"].as_str().unwrap())).expect(204);
    server.terminate();
    let before = bucket.run(&["verify"], &folder, true);
    assert!(before.contains("2 files of media that nothing names"), "{before}");
    // Each server sweeps for some seconds.
    let is_swept = || {
        let mut server = bucket.serve(&folder, SWEEPS);
        std::thread::sleep(Duration::from_secs(2));
        server.terminate();
        !bucket.run(&["verify"], &folder, true).contains("that nothing names")
    };
    assert!((0..10).any(|_| is_swept()), "the sweep removes the two files");
    assert!(!folder.join("media").exists());

    assert!(bucket.run(&["media", "move", "--to", "folder"], &folder, true).contains("2 files copied"));
    let server = Server::start_in(&folder, &[]);
    assert!(fetch(&server, text(&known[2], "url")).expect(200).bytes == other);
    assert_eq!(fetch(&server, text(&replaced, "url")).expect(200).bytes.len() as u64, replaced["attributes"]["bytes"]);
}
