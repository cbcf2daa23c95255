//! `copy`: whether a request is about live or working copies (`API.md` 4.21). Must not know what a working copy holds.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::raw::RawParams;

/// The copies that a request reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyKind {
    /// The copies that the site shows.
    #[default]
    Live,
    /// The working copies, and the live copies of resources that have none.
    Working,
}

impl CopyKind {
    /// Reads the parameter. Without it, a request is about live copies.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for another value, or if the blueprint has no working copies.
    pub fn parse(params: &RawParams, blueprint: &Blueprint) -> Result<CopyKind, Error> {
        match CopyKind::parse_for_all(params)? {
            CopyKind::Working if !blueprint.working_copy => {
                let slug = &blueprint.slug;
                let message = format!(
                    "`copy` is \"working\", but the blueprint `{slug}` has no working copies; set its `working_copy` to \
                     true, or leave out `copy`"
                );
                Err(Error::new(Code::InvalidParameter, message))
            }
            kind => Ok(kind),
        }
    }

    /// Like [`CopyKind::parse`], for a request about all blueprints.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for another value.
    pub fn parse_for_all(params: &RawParams) -> Result<CopyKind, Error> {
        match params.single("copy")? {
            None | Some("live") => Ok(CopyKind::Live),
            Some("working") => Ok(CopyKind::Working),
            Some(other) => {
                let message = format!("`copy` is {}; it must be `live` or `working`, or left out", quote(other));
                Err(Error::new(Code::InvalidParameter, message))
            }
        }
    }

    /// Checks that a request is about live copies. `what` is what it does, after "does not".
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is about working copies.
    pub fn require_live(self, what: &str) -> Result<(), Error> {
        match self {
            CopyKind::Live => Ok(()),
            CopyKind::Working => {
                let message = format!("`copy=working` does not {what}; leave out `copy`");
                Err(Error::new(Code::InvalidParameter, message))
            }
        }
    }
}
