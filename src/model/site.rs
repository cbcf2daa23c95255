//! Sites whose pageviews are counted, named by their host (`API.md` 4.8.1).

use url::Url;

/// Returns the host in the form that names a site: lowercase, with names of other scripts in their ASCII form, without
/// a port. `None` if the text is not a host.
pub fn site_host(text: &str) -> Option<String> {
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\']) || text.contains(char::is_whitespace) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    url.host().map(|host| host.to_string())
}
