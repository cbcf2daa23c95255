//! Lists of names in messages. Must not know the meaning of the names.

/// Names in backticks, separated by commas.
pub(super) fn quoted_list<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    names.join(", ")
}
