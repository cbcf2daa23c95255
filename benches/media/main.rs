//! Measures media on a real server: uploads, pictures that are made and that are kept, and lists beside them.
//!
//! `cargo bench --bench media -- --binary target/release/bindery` prints one line for each figure. `--keep DIR` leaves
//! the pictures for `sharp.mjs`, which compares them with those of sharp. `cargo test` runs nothing.

#![allow(clippy::print_stdout)]

mod client;
mod picture;
mod server;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{Bare, Server};

/// Any error ends the run: half of the figures would be misread.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The number of thumbnails of a page.
const THUMBNAILS: usize = 24;
/// The connections that ask at once.
const CONNECTIONS: usize = 8;
/// The time for which a rate is measured.
const ROUND: Duration = Duration::from_secs(5);
/// The size of a large upload.
const LARGE: usize = 100 << 20;
/// The repetitions of what is made for the first time.
const FIRST: u32 = 5;

#[derive(Parser)]
struct Options {
    /// The server
    #[arg(long, default_value = "target/release/bindery")]
    binary: PathBuf,
    /// A folder for the picture and what the server made of it
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    // `cargo test` asks for names of tests, or runs it without `--bench`. There are none here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let options = Options::parse();
    let temp = tempfile::tempdir()?;
    let server = Server::start(&options.binary, &temp.path().join("data"))?;
    let fields = json!([{ "name": "Alt", "slug": "alt", "type": "text" }]);
    server.create_blueprint(&json!({ "name": "Media", "slug": "media", "kind": "media", "fields": fields }))?;
    server.create_blueprint(&json!({ "name": "Notes", "slug": "notes", "fields": [
        { "name": "Title", "slug": "title", "type": "text" }] }))?;
    uploads(&server, temp.path())?;
    first_pictures(&server, options.keep.as_deref())?;
    kept_pictures(&server)?;
    lists_beside_pictures(&server)
}

fn line(name: &str, value: &str) {
    println!("{name:58} {value}");
}

/// Uploads a large file, beside a copy of it that is synced, too.
fn uploads(server: &Server, folder: &Path) -> Result<()> {
    // Text is not decoded. Random bytes keep a file system from compressing it.
    let mut random = 1_u64;
    let bytes: Vec<u8> = (0..LARGE)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (random >> 60) as u8
        })
        .collect();
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, &bytes)?;
    let mut copied = Vec::new();
    let mut uploaded = Vec::new();
    let memory = server.memory("VmRSS:")?;
    server.reset_peak()?;
    for number in 0..FIRST {
        let began = Instant::now();
        fs::copy(&from, &to)?;
        File::open(&to)?.sync_all()?;
        copied.push(began.elapsed());
        fs::remove_file(&to)?;
        let mut other = bytes.clone();
        other[..8].copy_from_slice(format!("{number:08}").as_bytes());
        let began = Instant::now();
        server.upload("large.txt", &other)?;
        uploaded.push(began.elapsed());
    }
    let peak = server.memory("VmHWM:")?;
    let (copied, uploaded) = (median(copied), median(uploaded));
    line("Upload of 100 MiB", &millis(uploaded));
    line("cp of 100 MiB, and a sync", &millis(copied));
    line("The upload's speed to that of cp", &ratio(copied.as_secs_f64() / uploaded.as_secs_f64()));
    line("Memory that an upload of 100 MiB adds", &format!("{:.1} MiB", (peak.saturating_sub(memory)) as f64 / 1024.0));
    Ok(())
}

/// Makes pictures of 1,280 pixels from one of 12 megapixels, for the first time.
fn first_pictures(server: &Server, keep: Option<&Path>) -> Result<()> {
    let photo = picture::photo(4_000, 3_000)?;
    line("A photo of 12 megapixels", &format!("{:.1} MB", photo.len() as f64 / 1e6));
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut client = Client::connect(server.address)?;
    let formats = ["webp", "avif", "jpeg"];
    for number in 0..FIRST {
        // Another file each time, so that nothing is kept of it.
        let url = server.upload("photo.jpg", &picture::as_other_file(&photo, number))?;
        for (format, times) in formats.iter().zip(&mut times) {
            let began = Instant::now();
            let made = client.get(&format!("{url}&w=1280&format={format}"))?;
            times.push(began.elapsed());
            if let Some(folder) = keep.filter(|_| number == 0) {
                fs::create_dir_all(folder)?;
                File::create(folder.join(format!("made.{format}")))?.write_all(made)?;
                fs::write(folder.join("photo.jpg"), &photo)?;
                let plain = client.get(&format!("{url}&w=1280&format=png"))?;
                fs::write(folder.join("plain.png"), plain)?;
            }
        }
    }
    for (format, times) in formats.iter().zip(times) {
        line(&format!("The first {format} of 1,280 pixels"), &millis(median(times)));
    }
    Ok(())
}

/// Compares kept pictures with a handler that answers the same bytes from memory.
fn kept_pictures(server: &Server) -> Result<()> {
    let mut paths = Vec::new();
    let mut bodies = Vec::new();
    let mut client = Client::connect(server.address)?;
    for number in 0..THUMBNAILS {
        let photo = picture::photo(640 + number as u32, 480)?;
        let path = format!("{}&w=320&format=webp", server.upload("thumbnail.jpg", &photo)?);
        bodies.push(client.get(&path)?.to_vec());
        paths.push(path);
    }
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    line("24 thumbnails", &format!("{:.0} KB", bytes as f64 / 1e3));
    let bare = Bare::start(bodies)?;
    let bare_paths: Vec<String> = (0..THUMBNAILS).map(|number| format!("/{number}")).collect();
    // In turns, so that a slow second of the machine does not hit one of the two.
    let (mut rates, mut bare_rates) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        rates.push(rate(server.address, &paths)?);
        bare_rates.push(rate(bare.address, &bare_paths)?);
    }
    let (kept, bare) = (middle(rates), middle(bare_rates));
    line("Thumbnails from the cache, 8 connections", &format!("{kept:.0} MB/s"));
    line("The same bytes of a bare handler", &format!("{bare:.0} MB/s"));
    line("Thumbnails to the bare handler", &ratio(kept / bare));
    Ok(())
}

/// Returns the megabytes in a second of requests for all paths, again and again.
fn rate(address: std::net::SocketAddr, paths: &[String]) -> Result<f64> {
    let began = Instant::now();
    let received = thread::scope(|scope| {
        let clients = (0..CONNECTIONS).map(|_| {
            scope.spawn(|| {
                let mut client = Client::connect(address)?;
                let mut received = 0;
                while began.elapsed() < ROUND {
                    for path in paths {
                        received += client.get(path)?.len();
                    }
                }
                Ok::<usize, Box<dyn std::error::Error + Send + Sync>>(received)
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().map_err(|_| "a client panicked")?).sum::<Result<usize>>()
    })?;
    Ok(received as f64 / 1e6 / began.elapsed().as_secs_f64())
}

/// Measures lists while eight pictures are made for the first time, and without them.
fn lists_beside_pictures(server: &Server) -> Result<()> {
    let notes: Vec<Value> = (0..100)
        .map(|number| json!({ "attributes": { "title": format!("Note {number}") }, "published_at": "2026-01-01" }))
        .collect();
    for _ in 0..50 {
        server.post("/v2/resources/notes/bulk", &json!({ "resources": notes }))?;
    }
    let photo = picture::photo(4_000, 3_000)?;
    let urls: Vec<String> = (100..124)
        .map(|number| server.upload("photo.jpg", &picture::as_other_file(&photo, number)))
        .collect::<Result<_>>()?;
    let mut quiet = lists(server, &AtomicBool::new(false), Some(Duration::from_secs(3)))?;
    line("Lists without pictures, p50 and p99", &percentiles(&mut quiet));
    let is_over = AtomicBool::new(false);
    let mut beside = thread::scope(|scope| {
        let measured = scope.spawn(|| lists(server, &is_over, None));
        // Eight at once, three times.
        for round in urls.chunks(8) {
            let making = round.iter().map(|url| {
                scope.spawn(move || {
                    Client::connect(server.address)?.get(&format!("{url}&w=1280&format=webp")).map(<[u8]>::len)
                })
            });
            let making: Vec<_> = making.collect();
            for made in making {
                made.join().map_err(|_| "a client panicked")??;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        measured.join().map_err(|_| "a client panicked")?
    })?;
    line("Lists beside eight pictures that are made, p50 and p99", &percentiles(&mut beside));
    Ok(())
}

/// Asks for pages of a list, each another one, until `is_over` or for some time. Returns the times.
fn lists(server: &Server, is_over: &AtomicBool, time: Option<Duration>) -> Result<Vec<Duration>> {
    let mut client = Client::connect(server.address)?;
    let mut times = Vec::new();
    let began = Instant::now();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) || time.is_some_and(|time| began.elapsed() > time) {
            break;
        }
        let page = number % 190 + 1;
        let path = format!("/v2/resources/notes?sort=title&filter[title][ne]=x{number}&page={page}");
        let asked = Instant::now();
        client.get(&path)?;
        times.push(asked.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    Ok(times)
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |part: f64| millis(times[((times.len() - 1) as f64 * part) as usize]);
    format!("{}, {} ({} requests)", at(0.5), at(0.99), times.len())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn ratio(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}
