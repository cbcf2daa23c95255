//! `bindery salvage`. Must not know which data is kept.

use bindery_config::SalvageArgs;
use bindery_content::{SalvageReport, SalvagedBlueprint};

use super::error::CliError;
use super::folder::{blocking, configure_existing, content_options};
use super::output::{counted, print};

pub(super) async fn salvage(args: SalvageArgs) -> Result<(), CliError> {
    let options = content_options(&configure_existing(&args.folder)?);
    let new = args.to.clone();
    let SalvageReport { notes, blueprints, losses } =
        blocking("salvaging the folder", move || bindery_content::salvage(&options, &new)).await?;
    notes.iter().for_each(|note| print(note));
    for SalvagedBlueprint { name, kept, incomplete, lost } in &blueprints {
        print(&format!("{name}: {} kept, {incomplete} kept in part, {lost} lost", counted(*kept, "resource")));
    }
    losses.iter().for_each(|loss| print(&format!("lost: {loss}")));
    print(&format!("the new data folder is {}", args.to.display()));
    let is_whole = losses.is_empty() && blueprints.iter().all(|kept| kept.incomplete + kept.lost == 0);
    match is_whole {
        true => {
            print("nothing is lost");
            Ok(())
        }
        false => Err(CliError::Lost("something is lost; the lines above say what".to_owned())),
    }
}
