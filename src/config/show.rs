//! The source of each setting's value. Must not know what a setting does, nor whether its value is valid.

use serde_json::Value;

use super::settings::{Settings, flag_names, variable_of};

/// A setting with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcedSetting {
    /// The key in `bindery.toml`, such as `listen` or `analytics.sites`.
    pub name: String,
    /// The value; null if the setting has none.
    pub value: Value,
    /// The source of the value: a flag, a variable, a file, or `default`.
    pub source: String,
}

/// The settings of each source, the strongest first.
pub(super) struct Sources<'a> {
    pub(super) flags: &'a Settings,
    pub(super) environment: &'a Settings,
    pub(super) file: &'a Settings,
    /// The name of the file.
    pub(super) file_name: String,
}

impl Sources<'_> {
    /// Returns all settings, in the order of the help.
    pub(super) fn settings(&self) -> Vec<SourcedSetting> {
        let defaults = Settings::defaults();
        let [flags, environment, file, defaults] =
            [self.flags, self.environment, self.file, &defaults].map(|settings| serde_json::json!(settings));
        let all = flag_names().into_iter().map(|flag| {
            let variable = variable_of(&flag);
            let key = flag.replace('-', "_");
            let path: Vec<&str> = match key.strip_prefix("analytics_") {
                Some(key) => vec!["analytics", key],
                None => vec![&key],
            };
            let pointer = format!("/{}", path.join("/"));
            let sources = [
                (&flags, format!("--{flag}")),
                (&environment, variable),
                (&file, self.file_name.clone()),
                (&defaults, "default".to_owned()),
            ];
            let found = sources.into_iter().find_map(|(settings, source)| {
                Some((settings.pointer(&pointer).filter(|value| !value.is_null())?.clone(), source))
            });
            let (value, source) = found.unwrap_or((Value::Null, "default".to_owned()));
            SourcedSetting { name: path.join("."), value, source }
        });
        all.collect()
    }
}
