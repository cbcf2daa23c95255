//! `bindery config check | show`. Must not know what a setting does.

use bindery_config::{Config, ConfigCommand, ServeArgs, SourcedSetting};
use serde_json::{Value, json};

use super::error::CliError;
use super::machine::Findings;
use super::output::{print, shown};

pub(super) fn config(command: ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => check(*args)?,
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

/// Checks the configuration and prints warnings.
///
/// # Errors
/// Everything that would prevent a start, and environment variables that are not settings.
fn check(args: ServeArgs) -> Result<(), CliError> {
    let Findings { warnings, mut errors } = Findings::of(&Config::load(args.settings, args.config.as_deref())?);
    let unknown = Config::unknown_variables();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        errors.push(format!("no setting has these variables: {unknown}; `bindery serve --help` lists all"));
    }
    warnings.iter().for_each(|warning| print(&format!("warning: {warning}")));
    if !errors.is_empty() {
        return Err(CliError::Incomplete(errors.join("\nbindery: ")));
    }
    print("the configuration is valid");
    Ok(())
}

fn print_table(settings: &[SourcedSetting]) {
    let values: Vec<String> = settings.iter().map(|setting| shown(&setting.value)).collect();
    let names = settings.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or_default().min(40);
    for (setting, value) in settings.iter().zip(values) {
        print(&format!("{:names$}  {value:width$}  {}", setting.name, setting.source));
    }
}
