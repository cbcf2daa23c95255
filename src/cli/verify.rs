//! `bindery verify` and `bindery reindex`. Must not know the checks.

use std::path::{Path, PathBuf};

use bindery_analytics::AnalyticsOptions;
use bindery_config::{FolderArgs, VerifyArgs};
use bindery_content::Findings;

use super::error::CliError;
use super::folder::{blocking, close_content, configure_existing, content_options, has_own_analytics};
use super::media;
use super::output::{counted, note, print};

pub(super) async fn verify(args: VerifyArgs) -> Result<(), CliError> {
    let config = configure_existing(&args.folder)?;
    let temporary = args.temporary.unwrap_or_else(|| folder_of(&config.data));
    let options = content_options(&config);
    let mut findings = blocking("verifying", move || bindery_content::verify(&options, &temporary)).await?;
    media::verify(&config, &mut findings).await?;
    let folder = AnalyticsOptions::in_folder(&config.data).folder;
    let is_own = has_own_analytics(&config);
    let analytics = blocking("verifying the analytics", move || bindery_analytics::check(&folder, is_own)).await?;
    if !analytics.findings.is_empty() {
        findings.note(match is_own {
            true => "`bindery analytics repair` moves damaged files of the analytics aside",
            false => "the node reads the analytics from the storage of the cluster again when it leads",
        });
    }
    report(findings, &analytics)
}

/// Returns the parent of a folder.
fn folder_of(data: &Path) -> PathBuf {
    let absolute = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    absolute.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn report(mut findings: Findings, analytics: &bindery_analytics::CheckReport) -> Result<(), CliError> {
    for finding in &analytics.findings {
        findings.report(finding.to_string());
    }
    let Findings { log_records, bases, values, resources, unnamed_copies, named_files, notes, issue_count, issues } =
        findings;
    let (records, values) = (counted(log_records, "log record"), counted(values, "value"));
    note(&format!("checked {records}, {} and {values} of the store", counted(bases, "base")));
    let resources = counted(resources, "resource");
    note(&format!("compared {resources} with the index; unreferenced copies: {unnamed_copies}"));
    note(&format!("checked {} of the analytics", counted(analytics.day_files, "day file")));
    if !named_files.is_empty() {
        note(&format!("checked {} of media", counted(named_files.len() as u64, "file")));
    }
    notes.iter().chain(&issues).for_each(|line| print(line));
    match issue_count {
        0 => {
            print("no problems found");
            Ok(())
        }
        _ => Err(CliError::Incomplete(format!("{} found", counted(issue_count, "problem")))),
    }
}

pub(super) async fn reindex(args: FolderArgs) -> Result<(), CliError> {
    let options = content_options(&configure_existing(&args)?);
    let content = blocking("rebuilding the index", move || bindery_content::reindex(&options)).await?;
    close_content(content).await?;
    note("the index is rebuilt");
    Ok(())
}
