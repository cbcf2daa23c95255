//! `bindery verify` and `bindery reindex`. Must not know what is checked.

use super::error::CliError;
use super::folder::{blocking, close_content, configure, configure_existing, content_options, with_content};
use super::output::print;
use crate::analytics::{self, AnalyticsOptions};
use crate::config::{Config, FolderArgs};
use crate::content::{self, Content, Findings};

pub(super) async fn verify(args: FolderArgs) -> Result<(), CliError> {
    let config = configure_existing(&args)?;
    let verify = async |content: Content| blocking("verifying", move || content.verify()).await;
    let findings = with_content(&config, verify).await?;
    let damaged = verify_analytics(&config).await?;
    report(&findings, damaged)
}

/// Checks the analytics and prints what is damaged. Returns how many files are.
async fn verify_analytics(config: &Config) -> Result<u64, CliError> {
    let folder = AnalyticsOptions::in_folder(&config.data).folder;
    let checked = blocking("verifying the analytics", move || analytics::check(&folder)).await?;
    print(&format!("checked {} day files of the analytics", checked.day_files));
    checked.findings.iter().for_each(|finding| print(&finding.to_string()));
    if !checked.findings.is_empty() {
        print("`bindery analytics repair` moves damaged files of the analytics aside");
    }
    Ok(checked.findings.len() as u64)
}

fn report(findings: &Findings, damaged: u64) -> Result<(), CliError> {
    let Findings { log_records, bases, values, resources, unnamed_copies, issue_count, issues } = findings;
    print(&format!("checked {log_records} log records, {bases} bases and {values} values of the store"));
    print(&format!("compared {resources} resources with the index; {unnamed_copies} copies are unreferenced"));
    for issue in issues {
        print(issue);
    }
    let issue_count = issue_count + damaged;
    if issue_count == 0 {
        print("no problems found");
        return Ok(());
    }
    Err(CliError::Incomplete(format!("{issue_count} issues found")))
}

pub(super) async fn reindex(args: FolderArgs) -> Result<(), CliError> {
    let options = content_options(&configure(&args)?);
    let content = blocking("rebuilding the index", move || content::reindex(&options)).await?;
    close_content(content).await?;
    print("the index is rebuilt");
    Ok(())
}
