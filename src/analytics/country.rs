//! Countries of addresses: by a file in MaxMind's format, else by what a trusted proxy says.

use std::net::IpAddr;
use std::path::Path;

use maxminddb::{Reader, geoip2};

/// The country of what nothing is known of.
pub(super) const UNKNOWN: &str = "unknown";

/// Where countries are looked up.
pub(super) struct Countries {
    file: Option<Reader<Vec<u8>>>,
}

impl Countries {
    /// Reads the file, where one is configured.
    pub(super) fn open(file: Option<&Path>) -> Result<Countries, String> {
        let file = file.map(|path| {
            Reader::open_readfile(path)
                .map_err(|error| format!("the country file `{}` cannot be read: {error}", path.display()))
        });
        Ok(Countries { file: file.transpose()? })
    }

    /// The ISO code of an address' country, or `unknown`.
    pub(super) fn find(&self, address: Option<IpAddr>, told: Option<&str>) -> String {
        let code = match &self.file {
            Some(file) => address.and_then(|address| {
                let found = file.lookup(address).ok()?.decode::<geoip2::Country>().ok()??;
                found.country.iso_code.map(str::to_owned)
            }),
            None => told.map(str::trim).map(str::to_ascii_uppercase),
        };
        // `XX` and `T1` are how proxies say that they do not know.
        let known =
            |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()) && code != "XX";
        code.filter(known).unwrap_or_else(|| UNKNOWN.to_owned())
    }
}
