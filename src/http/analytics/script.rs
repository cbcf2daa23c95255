//! The script that pages include. It sends a pageview when a page is shown, also by client-side navigation or from the
//! browser's history; it keeps nothing in the browser.

use super::*;

const SCRIPT: &str = include_str!("script.js");
/// For which of these the script is made, stands in its place in the text.
const CHECK: &str = "if(n.doNotTrack==1||n.globalPrivacyControl)return;";
const MAX_AGE: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// The script, as the configuration wants it.
pub(super) fn text(do_not_track: bool) -> String {
    let minified: String = SCRIPT.lines().filter(|line| !line.starts_with("//")).map(str::trim_start).collect();
    minified.replace("/*check*/", if do_not_track { CHECK } else { "" })
}

pub(super) async fn serve(State(app): State<App>, headers: HeaderMap) -> Answer {
    let text = text(app.config.analytics.do_not_track);
    let tag = format!("\"{}\"", &blake3::hash(text.as_bytes()).to_hex()[..16]);
    let kept = [(CACHE_CONTROL, MAX_AGE), (ETAG, HeaderValue::from_str(&tag).map_err(Error::internal)?)];
    if is_unmodified(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    Ok((kept, [(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"))], text).into_response())
}
