//! Steps after ammonia that it cannot do itself: frames without a source, and the first newline of `pre`.

/// Removes each `<iframe>` without a source, empties the others, and doubles a newline that begins a `<pre>`, because
/// parsers drop one there.
///
/// Expects the output of ammonia. In it, a `<` always begins a tag and a `>` always ends one, except inside a frame.
pub(super) fn finish(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = find_frame_or_pre(rest) {
        let end = rest[start..].find('>').map_or(rest.len(), |length| start + length + 1);
        let tag = &rest[start..end];
        out.push_str(&rest[..start]);
        rest = &rest[end..];
        if tag.starts_with("<pre") {
            out.push_str(tag);
            if rest.starts_with('\n') {
                out.push('\n');
            }
            continue;
        }
        if has_source(tag) {
            out.push_str(tag);
            out.push_str("</iframe>");
        }
        rest = rest.split_once("</iframe>").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Returns whether a start tag has the attribute `src`. Values are in double quotes and contain no double quotes.
fn has_source(tag: &str) -> bool {
    tag.split('"').step_by(2).any(|name| name.ends_with(" src="))
}

/// Returns the offset of the next `<iframe` or `<pre>`.
fn find_frame_or_pre(html: &str) -> Option<usize> {
    html.match_indices('<').map(|(start, _)| start).find(|start| {
        let tag = &html[*start..];
        tag.starts_with("<iframe") || tag.starts_with("<pre>") || tag.starts_with("<pre ")
    })
}
