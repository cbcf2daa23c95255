//! The country of an address: from a file in MaxMind's format if one is configured, otherwise from the trusted proxy's
//! header.

use std::net::IpAddr;
use std::path::Path;

use maxminddb::{Reader, geoip2};

/// The country of an address that is in no source.
const UNKNOWN: &str = "unknown";

/// The lookup of countries.
pub(super) struct Countries {
    file: Option<Reader<Vec<u8>>>,
}

impl Countries {
    /// Reads the country file, if one is configured.
    ///
    /// Errors: a message that names the file.
    pub(super) fn open(file: Option<&Path>) -> Result<Countries, String> {
        let file = file.map(|path| {
            Reader::open_readfile(path)
                .map_err(|error| format!("the country file `{}` cannot be read: {error}", path.display()))
        });
        Ok(Countries { file: file.transpose()? })
    }

    /// Returns the ISO code of the country, or `unknown`. `header` is the trusted proxy's header, which is used only
    /// without a country file.
    pub(super) fn find(&self, address: Option<IpAddr>, header: Option<&str>) -> String {
        let code = match &self.file {
            Some(file) => address.and_then(|address| {
                let found = file.lookup(address).ok()?.decode::<geoip2::Country>().ok()??;
                found.country.iso_code.map(str::to_owned)
            }),
            None => header.map(str::trim).map(str::to_ascii_uppercase),
        };
        // Proxies send `XX` or `T1` if they do not know the country.
        let is_known =
            |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()) && code != "XX";
        code.filter(is_known).unwrap_or_else(|| UNKNOWN.to_owned())
    }
}
