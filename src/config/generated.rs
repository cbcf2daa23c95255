//! Completions for shells and the manual page, made from the declaration of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::arguments::Cli;

/// Returns the completions of a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bindery", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the manual page: all commands and settings.
///
/// # Errors
/// If it cannot be rendered.
pub fn manual() -> std::io::Result<String> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands() {
        let manual = clap_mangen::Man::new(subcommand.clone());
        manual.render_synopsis_section(&mut page)?;
        manual.render_description_section(&mut page)?;
        manual.render_options_section(&mut page)?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}
