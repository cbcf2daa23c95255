//! Ceph with its gateway that speaks S3, in a folder of its own, for tests: one monitor, and one store in memory. Also
//! part of the unit tests of the log, so it knows nothing of Bindery.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The bucket that exists.
pub(super) const BUCKET: &str = "bucket";
/// The access keys of the user who owns the bucket, and their secret. Proxies tell their clients apart by them.
pub(super) const ACCESS_KEYS: [&str; 3] = ["NODE0", "NODE1", "NODE2"];
pub(super) const SECRET: &str = "the-secret-of-a-test";

/// The longest start of one program, on a machine that is busy.
const START: Duration = Duration::from_secs(120);

/// A running Ceph. It stops when dropped.
pub(super) struct Ceph {
    programs: PathBuf,
    temp: TempDir,
    port: u16,
    processes: Vec<Child>,
    prefixes: AtomicUsize,
}

impl Ceph {
    /// Starts all of it, which takes 10 seconds. `None` without the folder of its programs, which is said.
    pub(super) fn start() -> Option<Ceph> {
        let Some(programs) = std::env::var_os("BINDERY_TEST_CEPH").map(PathBuf::from) else {
            eprintln!("SKIPPED: BINDERY_TEST_CEPH does not name the folder of Ceph's programs");
            return None;
        };
        let [monitor, port] = free_ports();
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("ceph.conf"), configuration(temp.path(), monitor, port)).unwrap();
        fs::create_dir(temp.path().join("mon")).unwrap();
        fs::create_dir(temp.path().join("osd")).unwrap();
        let processes = Vec::new();
        let mut ceph = Ceph { programs, temp, port, processes, prefixes: AtomicUsize::new(0) };
        let address = format!("[v2:127.0.0.1:{monitor}/0]");
        ceph.run("monmaptool", &["--create", "--fsid", CLUSTER, "--addv", "a", &address, "monmap"]);
        ceph.run("ceph-mon", &["--mkfs", "-i", "a", "--monmap", "monmap"]);
        ceph.spawn("ceph-mon", &["-f", "-i", "a"]);
        ceph.run("ceph-osd", &["--mkfs", "-i", "0"]);
        ceph.spawn("ceph-osd", &["-f", "-i", "0"]);
        // The first command waits until both have started.
        let [first, others @ ..] = ACCESS_KEYS;
        let user = ["--uid", "test", "--secret-key", SECRET, "--access-key"];
        ceph.run("radosgw-admin", &[&["user", "create", "--display-name", "test"], &user[..], &[first]].concat());
        for key in others {
            ceph.run("radosgw-admin", &[&["key", "create"], &user[..], &[key]].concat());
        }
        ceph.spawn("radosgw", &["-f", "-n", "client.rgw"]);
        let deadline = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the gateway of Ceph does not start: {}", ceph.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        ceph.put(BUCKET);
        // The first object creates the pool of all objects, which concurrent requests would wait for.
        ceph.put(&format!("{BUCKET}/first"));
        Some(ceph)
    }

    /// Returns the port of the gateway on the loopback interface.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns a prefix that nothing uses.
    pub(super) fn new_prefix(&self) -> String {
        format!("some/prefix-{}", self.prefixes.fetch_add(1, Ordering::SeqCst))
    }

    /// Puts nothing at a path, which creates a bucket or an object.
    fn put(&self, path: &str) {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--fail", "--request", "PUT", "--data-binary", ""])
            .args(["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", &format!("{}:{SECRET}", ACCESS_KEYS[0])])
            // Older releases of curl do not sign the hash of the body by themselves.
            .args(["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "--header", "content-type: text/plain"])
            .arg(format!("http://127.0.0.1:{}/{path}", self.port))
            .output()
            .unwrap();
        assert!(output.status.success(), "{path}: {} {}", String::from_utf8_lossy(&output.stderr), self.log());
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.args(arguments).current_dir(self.temp.path()).env("CEPH_CONF", self.temp.path().join("ceph.conf"));
        command
    }

    fn run(&self, name: &str, arguments: &[&str]) {
        let output = self.command(name, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {arguments:?}: {error} {}", self.log());
    }

    fn spawn(&mut self, name: &str, arguments: &[&str]) {
        let output = File::create(self.temp.path().join(format!("{name}.log"))).unwrap();
        let mut command = self.command(name, arguments);
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        self.processes.push(command.spawn().unwrap());
    }

    /// Returns what the programs have logged.
    fn log(&self) -> String {
        let files = ["ceph-mon.log", "ceph-osd.log", "radosgw.log"];
        files.map(|name| fs::read_to_string(self.temp.path().join(name)).unwrap_or_default()).join("\n")
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The id of the cluster, which only its own processes see.
const CLUSTER: &str = "b1d3b1d3-0000-4000-8000-000000000000";

/// Returns the configuration: nobody needs a key, one copy of each object is enough, and the pauses with which a
/// monitor collects changes are short, since the start consists of them.
fn configuration(folder: &Path, monitor: u16, gateway: u16) -> String {
    let (folder, seconds) = (folder.display(), START.as_secs());
    format!(
        "[global]
fsid = {CLUSTER}
mon_host = v2:127.0.0.1:{monitor}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr1 = false
ms_mon_client_mode = crc
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = {folder}
admin_socket =
pid_file =
log_file =
log_to_stderr = true
mon_cluster_log_file =
mon_data = {folder}/mon
osd_data = {folder}/osd
rgw_data = {folder}/rgw
mon_allow_pool_size_one = true
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_tick_interval = 1
mon_client_hunt_interval = 0.5
client_mount_timeout = {seconds}
rgw_init_timeout = {seconds}
paxos_propose_interval = 0.05
paxos_min_wait = 0.02
objecter_tick_interval = 0.5
osd_objectstore = memstore
memstore_device_bytes = 4294967296
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_class_load_list = *
osd_class_default_list = *
rgw_frontends = beast endpoint=127.0.0.1:{gateway}
rgw_dynamic_resharding = false
rgw_enable_gc_threads = false
rgw_enable_lc_threads = false
rgw_enable_quota_threads = false
rgw_run_sync_thread = false
rgw_data_log_num_shards = 1
rgw_gc_max_objs = 1
rgw_lc_max_objs = 1
rgw_num_control_oids = 1
rgw_objexp_hints_num_shards = 1
rgw_usage_max_shards = 1
"
    )
}

/// Returns ports that nothing uses.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
