//! The findings of a verification.

/// The maximum number of issues that are reported individually.
const REPORTED_ISSUES: usize = 50;

/// The checks that were made, and the issues found.
#[derive(Debug, Default)]
pub struct Findings {
    /// The number of valid log records.
    pub log_records: u64,
    /// The number of bases verified.
    pub bases: u64,
    /// The number of values read from the store.
    pub values: u64,
    /// The number of resources compared with the index.
    pub resources: u64,
    /// The number of copies that no resource references. A kill may leave some; they are not an issue.
    pub unnamed_copies: u64,
    /// The hashes of the files of media that resources and revisions name, in order. The caller looks for the files.
    pub named_files: Vec<[u8; 32]>,
    /// Facts that are no issues but may be of interest, as text.
    pub notes: Vec<String>,
    /// The number of issues.
    pub issue_count: u64,
    /// The first issues, as text.
    pub issues: Vec<String>,
}

impl Findings {
    /// Adds an issue.
    pub fn report(&mut self, text: impl Into<String>) {
        self.issue_count += 1;
        if self.issues.len() < REPORTED_ISSUES {
            self.issues.push(text.into());
        }
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        if self.notes.len() < REPORTED_ISSUES {
            self.notes.push(text.into());
        }
    }
}
