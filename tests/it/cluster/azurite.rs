//! Azurite, the emulator of Azure Blob Storage, for tests. Its objects are in memory.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;

/// The container that exists.
pub(super) const CONTAINER: &str = "container";
/// The account that Azurite has, and its key, which is the same everywhere.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const VERSION: &str = "2021-08-06";

/// A running server. It stops when dropped.
pub(super) struct Azurite {
    port: u16,
    process: Child,
}

impl Azurite {
    /// Starts a server. `None` without its program, which is said.
    pub(super) fn start() -> Option<Azurite> {
        let Some(program) = std::env::var_os("BINDERY_TEST_AZURITE") else {
            eprintln!("SKIPPED: BINDERY_TEST_AZURITE does not name the program azurite-blob");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(program)
            .args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()])
            // The crate `object_store` may speak a newer version of the protocol than it knows.
            .args(["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Azurite { port, process };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "Azurite does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server.create_container();
        Some(server)
    }

    /// Returns the variables with which a node uses the server.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let variables = [
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.to_owned()),
            ("AZURE_STORAGE_ACCOUNT_KEY", KEY.to_owned()),
            ("AZURE_STORAGE_ENDPOINT", self.endpoint()),
            ("AZURE_ALLOW_HTTP", "true".to_owned()),
        ];
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/{ACCOUNT}", self.port)
    }

    fn create_container(&self) {
        let date = chrono::Utc::now().format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        // The empty lines are headers that the request does not have. The account is once that of the key, once a part
        // of the path.
        let headers = format!("x-ms-date:{date}\nx-ms-version:{VERSION}");
        let signed = format!("PUT{}{headers}\n/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container", "\n".repeat(12));
        let key = hmac::Key::new(hmac::HMAC_SHA256, &BASE64_STANDARD.decode(KEY).unwrap());
        let signature = BASE64_STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
        ureq::put(format!("{}/{CONTAINER}?restype=container", self.endpoint()))
            .header("x-ms-date", &date)
            .header("x-ms-version", VERSION)
            .header("authorization", format!("SharedKey {ACCOUNT}:{signature}"))
            .send_empty()
            .unwrap();
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
