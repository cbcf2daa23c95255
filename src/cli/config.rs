//! `bindery config check | show`. Must not know what a setting does.

use serde_json::{Value, json};

use super::error::CliError;
use super::output::print;
use super::private;
use crate::config::{Config, ConfigCommand, ServeArgs, SourcedSetting};

pub(super) fn config(command: ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => {
            let ServeArgs { config, settings } = *args;
            let found = Config::load(settings.clone(), config.as_deref())?;
            let unknown = Config::unknown_variables();
            if !unknown.is_empty() {
                let text =
                    format!("no setting has these variables: {}; `bindery serve --help` lists all", unknown.join(", "));
                return Err(CliError::Incomplete(text));
            }
            if let Some(warning) = private::warning_of(&found.data) {
                print(&format!("warning: {warning}"));
            }
            print("the configuration is valid");
        }
        ConfigCommand::Show { json, serve } => {
            let settings = Config::sources(&serve.settings, serve.config.as_deref())?;
            if json {
                let settings = settings.iter().map(
                    |SourcedSetting { name, value, source }| json!({ "name": name, "value": value, "source": source }),
                );
                print(&format!("{:#}", settings.collect::<Value>()));
            } else {
                print_table(&settings);
            }
        }
    }
    Ok(())
}

fn print_table(settings: &[SourcedSetting]) {
    let shown = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let values: Vec<String> = settings.iter().map(|setting| shown(&setting.value)).collect();
    let names = settings.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or_default().min(40);
    for (setting, value) in settings.iter().zip(values) {
        print(&format!("{:names$}  {value:width$}  {}", setting.name, setting.source));
    }
}
