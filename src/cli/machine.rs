//! Checks whether this machine can run a server with a configuration: its address, its data folder, and what other
//! settings name. Leaves nothing behind. Must not know the rules of a setting: those are where a start reads it.

use std::fs::{create_dir, remove_dir};
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use bindery_config::Config;
use bindery_content::{StartError, check_address};
use bindery_http::Media;
use rustix::fs::{Access, access};

use super::folder::analytics_options;
use super::private;

/// The problems with a start.
#[derive(Default)]
pub(super) struct Findings {
    /// Problems that do not prevent a start.
    pub(super) warnings: Vec<String>,
    /// Problems that prevent a start.
    pub(super) errors: Vec<String>,
}

impl Findings {
    /// Checks a configuration whose settings are valid by themselves.
    pub(super) fn of(config: &Config) -> Findings {
        let mut findings = Findings::default();
        findings.listen(config.listen);
        findings.settings(config);
        match check_folder(&config.data) {
            Ok(()) => findings.warnings.extend(private::warning_of(&config.data)),
            Err(error) => findings.errors.push(error.to_string()),
        }
        findings
    }

    /// Checks the settings that a start reads only when it opens what they name.
    fn settings(&mut self, config: &Config) {
        let log = config.cluster.as_ref().and_then(|cluster| check_address(&cluster.log).err());
        let media = Media::new(config).err();
        let analytics = analytics_options(config).check().err();
        self.errors.extend(log.map(|error| error.to_string()));
        self.errors.extend(media.map(|error| format!("`media_types` cannot be read: {error}")));
        self.errors.extend(analytics.map(|error| error.to_string()));
    }

    /// Listens for a moment. A port in use is only a warning, because the check usually runs beside the server that
    /// will be restarted with the new configuration.
    fn listen(&mut self, address: SocketAddr) {
        let Err(error) = TcpListener::bind(address) else { return };
        let text = match error.kind() {
            ErrorKind::AddrInUse => {
                let text = format!(
                    "`listen` is `{address}`, where a process listens already; a server can start there once it has ended"
                );
                self.warnings.push(text);
                return;
            }
            ErrorKind::AddrNotAvailable => format!(
                "`listen` is `{address}`, which is no address of this machine; it must be one of them, or `0.0.0.0` or `[::]` for all"
            ),
            ErrorKind::PermissionDenied => format!(
                "`listen` is `{address}`, and this user may not use port {}; it must be 1024 or more, or the user needs the \
                 capability CAP_NET_BIND_SERVICE",
                address.port()
            ),
            _ => format!("`listen` is `{address}`, where no server can listen: {error}"),
        };
        self.errors.push(text);
    }
}

/// Checks that the data folder can be read and written, or created if it does not exist. Creates a folder for a moment,
/// because some file systems, such as `/proc`, grant all rights and still have no room for new files.
fn check_folder(data: &Path) -> Result<(), StartError> {
    let fails = |cause: &dyn std::fmt::Display| Err(StartError::folder(data, cause));
    let Some(existing) = data.ancestors().map(or_here).find(|path| path.symlink_metadata().is_ok()) else {
        return fails(&"no folder above it exists");
    };
    if !existing.is_dir() {
        return fails(&format!("{} is no folder", existing.display()));
    }
    let accessible = access(existing, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(Error::from);
    let probe = existing.join(format!(".bindery-check-{}", std::process::id()));
    match accessible.and_then(|()| create_dir(&probe)).and_then(|()| remove_dir(&probe)) {
        Ok(()) => Ok(()),
        Err(error) if existing == or_here(data) => fails(&error),
        Err(error) => fails(&format!("it cannot be created in {}: {error}", existing.display())),
    }
}

/// Returns `.` for an empty path, which is the parent of a relative path of one part.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
