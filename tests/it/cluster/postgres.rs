//! Servers of PostgreSQL in folders of their own, for tests. Also part of the unit tests of the log, so it knows
//! nothing of Bindery.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The password of the user `bindery`.
pub(super) const PASSWORD: &str = "the password of a test";

/// A running server. It stops when dropped.
pub(super) struct Postgres {
    programs: PathBuf,
    temp: TempDir,
    port: u16,
    process: Child,
}

impl Postgres {
    /// Starts a server with the database `bindery`. `None` without the folder of its programs, which is said.
    pub(super) fn start() -> Option<Postgres> {
        let Some(programs) = std::env::var_os("BINDERY_TEST_POSTGRES").map(PathBuf::from) else {
            eprintln!("SKIPPED: BINDERY_TEST_POSTGRES does not name the folder of PostgreSQL's programs");
            return None;
        };
        let temp = folder();
        let password = temp.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        let made = program(&programs, "initdb")
            .args(["--auth=scram-sha-256", "--username=bindery", "--no-sync", "--pwfile"])
            .arg(&password)
            .arg("--pgdata")
            .arg(temp.path().join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = Postgres::run(programs, temp);
        server.sql("postgres", "create database bindery");
        Some(server)
    }

    /// Starts a standby, without which the server acknowledges nothing from then on.
    pub(super) fn start_standby(&self) -> Postgres {
        let temp = folder();
        let copied = program(&self.programs, "pg_basebackup")
            .env("PGPASSWORD", PASSWORD)
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname"])
            .arg(format!("{} application_name=standby", self.connection("postgres")))
            .arg("--pgdata")
            .arg(temp.path().join("data"))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let standby = Postgres::run(self.programs.clone(), temp);
        self.sql("postgres", "alter system set synchronous_standby_names = '*'");
        self.sql("postgres", "select pg_reload_conf()");
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.sql("postgres", "select count(*) from pg_stat_replication where sync_state = 'sync'").trim() != "1" {
            assert!(Instant::now() < deadline, "the standby does not follow: {}", standby.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        standby
    }

    fn run(programs: PathBuf, temp: TempDir) -> Postgres {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Syncs are off, because the data of a test need not survive its machine.
        let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"];
        let process = program(&programs, "postgres")
            .arg("-D")
            .arg(temp.path().join("data"))
            .args(["-p", &port.to_string()])
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::null())
            .stderr(fs::File::create(temp.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let server = Postgres { programs, temp, port, process };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !server.runs("postgres", "select 1") {
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Returns the port on the loopback interface.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Runs a statement in a database.
    pub(super) fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn runs(&self, database: &str, sql: &str) -> bool {
        self.psql(database, sql).output().unwrap().status.success()
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = program(&self.programs, "psql");
        command.env("PGPASSWORD", PASSWORD).args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql]);
        command.arg(self.connection(database));
        command
    }

    fn connection(&self, database: &str) -> String {
        format!("host=127.0.0.1 port={} user=bindery dbname={database}", self.port)
    }

    /// Ends it as the loss of its machine would.
    pub(super) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // Its own processes notice that a little later.
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.temp.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes a folder that the user of the server owns.
fn folder() -> TempDir {
    let temp = tempfile::tempdir().unwrap();
    if is_root() {
        let owned = Command::new("chown").arg("postgres").arg(temp.path()).status().unwrap();
        assert!(owned.success());
    }
    temp
}

/// Returns a program of PostgreSQL, some of which refuse to run as root.
fn program(programs: &Path, name: &str) -> Command {
    let path = programs.join(name);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(path);
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").unwrap().uid() == 0
}
