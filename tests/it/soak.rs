//! Hours of mixed load: writes that replace what they remove, lists, searches, exports, and clients that read slowly or
//! not at all. Memory, open files, disk and latency must stop growing.
//!
//! The long run: `cargo test --release --test it -- --ignored --nocapture soak`, two hours at 200,000 resources.
//! `SOAK_MINUTES` and `SOAK_RESOURCES` change that. A run of seconds is part of every test run: it shows that the load
//! works.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{ADMIN, Server, setting};

/// The limit of memory, files and disk at the end, as a multiple of their values after the first half.
const GROWTH: f64 = 1.25;
/// The amounts that are added to the limits, in MiB (and in files), because runs, merges and the log come and go.
const MEMORY_SLACK: f64 = 100.0;
const DISK_SLACK: f64 = 600.0;
const FILES_SLACK: f64 = 60.0;

/// One measurement. Memory is anonymous memory: pages of files under a map are the system's to take back.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    memory_mib: f64,
    disk_mib: f64,
    files: f64,
    threads: f64,
    read_p50: f64,
    read_p99: f64,
    write_p99: f64,
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Sample { memory_mib, disk_mib, files, threads, read_p50, read_p99, write_p99 } = self;
        write!(f, "memory {memory_mib:.0} MiB, disk {disk_mib:.0} MiB, {files} files, {threads} threads, ")?;
        write!(f, "reads p50 {read_p50:.1} ms, p99 {read_p99:.1} ms, writes p99 {write_p99:.1} ms")
    }
}

/// The state that the threads of the load share.
struct Load {
    server: Server,
    stop: AtomicBool,
    resources: u64,
    /// Milliseconds of reads and of writes since the last sample.
    reads: Mutex<Vec<f64>>,
    writes: Mutex<Vec<f64>>,
    exports: AtomicU64,
}

#[test]
fn seconds_of_mixed_load_answer_everything() {
    let samples = soak(Duration::from_secs(6), 500, Duration::from_secs(2));
    assert!(samples.len() >= 2, "{samples:?}");
}

#[test]
#[ignore = "long: two hours"]
fn two_hours_of_mixed_load_level_off() {
    let minutes = setting("SOAK_MINUTES", 120);
    let samples = soak(
        Duration::from_secs(minutes * 60),
        setting("SOAK_RESOURCES", 200_000),
        Duration::from_secs(minutes.max(10)),
    );
    let (first, second) = samples.split_at(samples.len() / 2);
    let worst = |samples: &[Sample], of: fn(&Sample) -> f64| samples.iter().map(of).fold(0.0, f64::max);
    let middle = |samples: &[Sample], of: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    type Level = (&'static str, fn(&Sample) -> f64, f64);
    let levels: [Level; 3] = [
        ("memory in MiB", |sample| sample.memory_mib, MEMORY_SLACK),
        ("disk in MiB", |sample| sample.disk_mib, DISK_SLACK),
        ("open files", |sample| sample.files, FILES_SLACK),
    ];
    for (name, of, slack) in levels {
        let (before, after) = (worst(first, of), worst(second, of));
        assert!(after <= before * GROWTH + slack, "{name}: {before} in the first half, {after} in the second");
    }
    let (before, after) = (middle(first, |sample| sample.read_p99), middle(second, |sample| sample.read_p99));
    assert!(after <= before * 2.0 + 5.0, "p99 of reads: {before} ms in the first half, {after} ms in the second");
}

fn soak(duration: Duration, resources: u64, interval: Duration) -> Vec<Sample> {
    let folder = tempfile::tempdir().unwrap();
    let load = Load {
        server: Server::start_in(&folder.path().join("data"), &[]),
        stop: AtomicBool::new(false),
        resources,
        reads: Mutex::default(),
        writes: Mutex::default(),
        exports: AtomicU64::new(0),
    };
    load.fill();
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let load = &load;
            scope.spawn(move || load.until_stopped(number, Load::write));
            scope.spawn(move || load.until_stopped(10 + number, Load::read));
        }
        let load = &load;
        scope.spawn(move || load.until_stopped(20, Load::write_many));
        scope.spawn(move || load.until_stopped(30, Load::export));
        scope.spawn(move || load.until_stopped(40, Load::read_slowly));
        let start = Instant::now();
        while start.elapsed() < duration {
            std::thread::sleep(interval.min(duration));
            let sample = load.sample(folder.path());
            let _ = writeln!(std::io::stderr(), "{:>6} s  {sample}", start.elapsed().as_secs());
            samples.push(sample);
        }
        load.stop.store(true, Ordering::SeqCst);
    });
    assert!(load.exports.load(Ordering::SeqCst) > 0, "an export was read to its end");
    let total = load.server.get("/v2/resources/notes?per_page=1").expect(200).json()["meta"]["total"].as_u64();
    assert_eq!(total, Some(resources), "what was removed was replaced");
    samples
}

/// Returns the made-up attributes of a resource.
fn attributes(random: &mut impl FnMut() -> u64) -> Value {
    const WORDS: [&str; 12] =
        ["press", "letter", "binding", "paper", "ink", "margin", "thread", "cover", "spine", "gold", "leaf", "board"];
    let mut text = String::new();
    for _ in 0..40 + random() % 200 {
        text.push_str(WORDS[(random() % 12) as usize]);
        text.push_str(&format!("{} ", random() % 1000));
    }
    json!({ "title": format!("{} {}", WORDS[(random() % 12) as usize], random() % 1_000_000),
        "body": text, "topic": format!("t{}", random() % 20), "rank": random() % 100_000 })
}

fn generator(seed: u64) -> impl FnMut() -> u64 {
    let mut random = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    }
}

impl Load {
    fn fill(&self) {
        self.server.blueprint(
            "notes",
            json!([{ "name": "Title", "slug": "title", "type": "text" }, { "name": "Body", "slug": "body", "type": "text" },
            { "name": "Topic", "slug": "topic", "type": "slug" }, { "name": "Rank", "slug": "rank", "type": "number" }]),
        );
        let mut random = generator(99);
        let mut left = self.resources;
        while left > 0 {
            let count = left.min(5_000);
            let lines: Vec<String> = (0..count)
                .map(|_| json!({ "attributes": attributes(&mut random), "published_at": "2026-01-01" }).to_string())
                .collect();
            let ndjson = [("content-type", "application/x-ndjson")];
            self.server.raw("POST", "/v2/resources/notes/import", &ndjson, lines.join("\n").as_bytes()).expect(200);
            left -= count;
        }
    }

    fn until_stopped(&self, seed: u64, step: fn(&Load, &mut dyn FnMut() -> u64)) {
        let mut random = generator(seed);
        while !self.stop.load(Ordering::SeqCst) {
            step(self, &mut random);
            std::thread::sleep(Duration::from_millis(random() % 20));
        }
    }

    /// Returns the id of a random resource.
    fn any_id(&self, random: &mut dyn FnMut() -> u64) -> Option<String> {
        let page = 1 + random() % self.resources;
        // The notes of `write_many` are left to it, so that each removal is replaced.
        let query = format!("filter[topic][ne]=many&per_page=1&page={page}&fields=id");
        let reply = self.server.get(&format!("/v2/resources/notes?{query}")).expect(200);
        reply.json()["data"][0]["id"].as_str().map(str::to_owned)
    }

    /// Creates a resource and removes another, or changes one. Another thread may have removed the same one before.
    fn write(&self, mut random: &mut dyn FnMut() -> u64) {
        let Some(id) = self.any_id(random) else { return };
        let path = format!("/v2/resources/notes/{id}");
        let body = json!({ "attributes": attributes(&mut random) });
        let start = Instant::now();
        if random().is_multiple_of(2) {
            let patched = self.server.send("PATCH", &path, Some(&body));
            assert!([200, 404].contains(&patched.status), "{}", patched.text);
        } else if self.server.send("DELETE", &path, None).status == 204 {
            self.server.send("POST", "/v2/resources/notes", Some(&body)).expect(201);
        }
        self.writes.lock().unwrap().push(start.elapsed().as_secs_f64() * 1000.0);
    }

    fn write_many(&self, mut random: &mut dyn FnMut() -> u64) {
        let mut item = || {
            let mut attributes = attributes(&mut random);
            attributes["topic"] = json!("many");
            json!({ "attributes": attributes })
        };
        let items: Vec<Value> = (0..50).map(|_| item()).collect();
        let reply =
            self.server.send("POST", "/v2/resources/notes/bulk", Some(&json!({ "resources": items }))).expect(201);
        let created = reply.json()["data"]["created"].take();
        let ids: Vec<&Value> = created.as_array().unwrap().iter().map(|item| &item["id"]).collect();
        self.server.send("DELETE", "/v2/resources/notes/bulk", Some(&json!({ "ids": ids }))).expect(200);
        std::thread::sleep(Duration::from_millis(200));
    }

    fn read(&self, random: &mut dyn FnMut() -> u64) {
        let number = random();
        let query = match number % 6 {
            0 => format!("page={}", 1 + number % (self.resources / 25).max(1)),
            1 => format!("filter[topic]=t{}&sort=-rank", number % 20),
            2 => format!("filter[rank][between]={0},{1}&sort=title", number % 90_000, number % 90_000 + 500),
            3 => format!("search=ink{}", number % 1000),
            4 => format!("filter[title][contains]={}", number % 1000),
            _ => "sort=-updated_at".to_owned(),
        };
        let start = Instant::now();
        self.server.get(&format!("/v2/resources/notes?{query}")).expect(200);
        self.reads.lock().unwrap().push(start.elapsed().as_secs_f64() * 1000.0);
    }

    fn export(&self, random: &mut dyn FnMut() -> u64) {
        let topic = random() % 20;
        self.server.get(&format!("/v2/resources/notes/export?format=ndjson&filter[topic]=t{topic}")).expect(200);
        self.exports.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Asks for everything, reads a little of it slowly, and goes away.
    fn read_slowly(&self, random: &mut dyn FnMut() -> u64) {
        let address = self.server.address().trim_start_matches("http://").to_owned();
        let Ok(mut stream) = TcpStream::connect(&address) else { return };
        let request = format!(
            "GET /v2/resources/notes/export HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN}\r\n\r\n"
        );
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = stream.write_all(request.as_bytes());
        let mut piece = [0; 1024];
        for _ in 0..random() % 20 {
            if self.stop.load(Ordering::SeqCst) || !matches!(stream.read(&mut piece), Ok(1..)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn sample(&self, folder: &Path) -> Sample {
        let process = format!("/proc/{}", self.server.process());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let number = |name: &str| -> f64 {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let take = |times: &Mutex<Vec<f64>>| {
            let mut times = std::mem::take(&mut *times.lock().unwrap());
            times.sort_by(f64::total_cmp);
            let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
            (at(0.5), at(0.99))
        };
        let (read_p50, read_p99) = take(&self.reads);
        Sample {
            memory_mib: number("RssAnon:") / 1024.0,
            disk_mib: bytes_in(folder) as f64 / 1048576.0,
            files: std::fs::read_dir(format!("{process}/fd")).unwrap().count() as f64,
            threads: number("Threads:"),
            read_p50,
            read_p99,
            write_p99: take(&self.writes).1,
        }
    }
}

/// Returns the size of all files in a folder. Files that go away meanwhile are not counted.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_in(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
