//! Suggests the known name that is most similar to an unknown one. Must not know the meaning of the names.

/// The greatest number of differences between a name and a suggestion.
const MAX_DIFFERENCES: usize = 3;

/// Returns the known name that is most similar to `sent`, if one is similar: about one character in three may be
/// missing, added, different or swapped with its neighbor. Letter case is ignored.
pub(super) fn nearest<T: AsRef<str>>(sent: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let sent: Vec<char> = sent.to_lowercase().chars().collect();
    let most = (sent.len() / 3).clamp(1, MAX_DIFFERENCES);
    let near = known.into_iter().filter_map(|name| {
        let other: Vec<char> = name.as_ref().to_lowercase().chars().collect();
        // Names of very different lengths are not compared, because `sent` may be very long.
        let differences = (other.len().abs_diff(sent.len()) <= most).then(|| differences(&sent, &other))?;
        // A name of one character would be similar to every other one.
        (differences <= most && differences < sent.len().max(1)).then_some((differences, name))
    });
    near.min_by_key(|(differences, _)| *differences).map(|(_, name)| name)
}

/// Returns the sentence `problem` about an unknown name, with a suggestion if a known name is similar.
pub(super) fn with_nearest<T: AsRef<str>>(problem: &str, sent: &str, known: impl IntoIterator<Item = T>) -> String {
    match nearest(sent, known) {
        Some(name) => format!("{problem}; did you mean `{}`?", name.as_ref()),
        None => format!("{problem}."),
    }
}

/// Returns the least number of characters to add, remove, change or swap with a neighbor to turn one name into the
/// other.
fn differences(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, char) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, with) in other.iter().enumerate() {
            let changed = last[column] + usize::from(char != with);
            let mut fewest = changed.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && (one[row - 1], *char) == (*with, other[column - 1]) {
                fewest = fewest.min(before[column - 1] + 1);
            }
            next.push(fewest);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_few_differences_is_suggested() {
        let known = ["title", "reading_minutes", "page", "per_page", "id", "author.name"];
        for (sent, expected) in [
            ("titel", Some("title")),
            ("Title", Some("title")),
            ("reading-minute", Some("reading_minutes")),
            ("pgae", Some("page")),
            ("perpage", Some("per_page")),
            ("autor.name", Some("author.name")),
            ("titleees", None),
            ("x", None),
            ("", None),
            ("price", None),
        ] {
            assert_eq!(nearest(sent, known), expected, "{sent}");
        }
        assert_eq!(nearest(&"x".repeat(60_000), known), None);
    }
}
