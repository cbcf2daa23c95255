//! `bindery verify` and `bindery reindex`.

use super::{CliError, blocking, close, failed, folder_options, print};
use crate::config::FolderArgs;
use crate::content::{self, Content, Findings};

pub(super) async fn verify(args: FolderArgs) -> Result<(), CliError> {
    let options = folder_options(&args)?;
    if !options.folder.is_dir() {
        return Err(failed(options.folder.display().to_string(), &"there is no data folder"));
    }
    let content = blocking("opening the data folder", move || Content::open(&options)).await??;
    let reading = content.clone();
    let findings = blocking("verifying", move || reading.verify()).await;
    close(content).await?;
    tell(&findings??)
}

fn tell(findings: &Findings) -> Result<(), CliError> {
    let Findings { log_records, bases, values, resources, unnamed_copies, fault_count, faults } = findings;
    print(&format!("log: {log_records} records; bases: {bases}; store: {values} values"));
    print(&format!("{resources} resources compared with the index; {unnamed_copies} copies that nothing names"));
    for fault in faults {
        print(fault);
    }
    if *fault_count == 0 {
        print("everything is as it should be");
        return Ok(());
    }
    Err(CliError::Incomplete(format!("{fault_count} faults were found")))
}

pub(super) async fn reindex(args: FolderArgs) -> Result<(), CliError> {
    let options = folder_options(&args)?;
    let content = blocking("making the index", move || content::reindex(&options)).await??;
    close(content).await?;
    print("the index is made again");
    Ok(())
}
