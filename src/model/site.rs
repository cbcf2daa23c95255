//! Sites: what pageviews are of, named by their host (`API.md` 4.8.1).

use url::Url;

/// A host as sites are named: lower case, names of other scripts in their ASCII form, without a port. Nothing if it is
/// none.
pub fn site_host(text: &str) -> Option<String> {
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\']) || text.contains(char::is_whitespace) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    url.host().map(|host| host.to_string())
}
