//! The arguments of commands that bring content and blueprints in from files.

use std::path::PathBuf;

use bindery_model::time::parse_system_date;
use clap::{Args, Subcommand};

use super::place::ServerArgs;

/// `bindery import`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Examples:
  bindery import articles articles.ndjson
  bindery import products products.csv --key sku --map 'Item name=title' --map 'Notes='
  bindery import posts posts.ndjson --fetch-media
  curl -s https://example.com/products.json | bindery import products - --format json

A table may have any delimiter, decimal commas, amounts such as `1.299,00 €` and dates such as 24.12.2025; what its
columns look like is printed first. What fails is written beside the file with `errors`: rows of products.csv to
products.csv.rejected.csv, items of JSON and NDJSON to posts.json.rejected.ndjson, and what came from standard input to
stdin.rejected.csv or stdin.rejected.ndjson. Correct it and import that file. If it exists, the next one is
products.csv.rejected.2.csv.
Exit code: 0 if everything was imported, 1 otherwise.")]
pub struct ImportArgs {
    /// The slug of the blueprint
    pub blueprint: String,
    /// A file, plain, gzip or zstd; `-` for standard input
    pub file: PathBuf,
    /// The format of the file [default: what its name or its beginning says]
    #[arg(long, value_name = "FORMAT", value_parser = ["ndjson", "json", "csv"])]
    pub format: Option<String>,
    /// The column, or field, whose value is the key under which each item is known: a second import updates it
    #[arg(long, value_name = "FIELD")]
    pub key: Option<String>,
    /// Which field a column is; without a field the column is left out
    #[arg(long, value_name = "COLUMN=FIELD", value_parser = mapping)]
    pub map: Vec<(String, String)>,
    /// The separator of the elements of a list in a cell
    #[arg(long, value_name = "TEXT", default_value = ",")]
    pub list_separator: String,
    /// The format of the table.
    #[command(flatten)]
    pub table: TableArgs,
    /// Publish items that have no `published_at`, now or at a time such as 2026-11-20T08:00Z
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = time)]
    pub publish: Option<Option<String>>,
    /// Take the files that fields of the types image and file name into the library, each address once
    #[arg(long)]
    pub fetch_media: bool,
    /// The blueprint for the fetched files [default: the only one of the kind `media`]
    #[arg(long, value_name = "BLUEPRINT", requires = "fetch_media")]
    pub media: Option<String>,
    /// Only check the items: relations and unique values, which depend on other resources, are not checked
    #[arg(long)]
    pub dry_run: bool,
    /// The server or the data folder.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The format of a table of delimited text.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct TableArgs {
    /// The separator of the cells of a table, one character [default: guessed among `,` `;` tab `|`]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// The order of day, month and year in dates such as 03/04/2025 [default: guessed, column by column]
    #[arg(long, value_name = "ORDER", value_parser = ["dmy", "mdy", "ymd"])]
    pub dates: Option<String>,
}

/// `bindery types`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example: bindery types typescript --url http://127.0.0.1:7700 --token $TOKEN > bindery.ts")]
pub struct TypesArgs {
    /// The language
    #[arg(value_parser = ["typescript"])]
    pub language: String,
    /// Print the types of the API itself instead: tokens, members, blueprints, reports. Needs no server
    #[arg(long)]
    pub api: bool,
    /// The server or the data folder.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery blueprint`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct BlueprintArgs {
    /// The command.
    #[command(subcommand)]
    pub command: BlueprintCommand,
}

/// The commands of `bindery blueprint`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum BlueprintCommand {
    /// Write each blueprint to a file of its own, `DIR/<slug>.json`
    Pull {
        /// The folder; it is made if it does not exist
        dir: PathBuf,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Show what `apply` would change; exit code 1 if there is anything
    Diff {
        /// The folder with the files
        dir: PathBuf,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Create and change blueprints so that they are as in the files; none is deleted
    Apply {
        /// The folder with the files
        dir: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Propose a blueprint for the data in a file, and print it
    Infer {
        /// A file, plain, gzip or zstd; `-` for standard input
        file: PathBuf,
        /// The format of the file [default: what its name or its beginning says]
        #[arg(long, value_name = "FORMAT", value_parser = ["ndjson", "json", "csv"])]
        format: Option<String>,
        /// The name of the blueprint [default: that of the file]
        #[arg(long)]
        name: Option<String>,
        /// The separator of the elements of a list in a cell; columns with it become lists
        #[arg(long, value_name = "TEXT")]
        list_separator: Option<String>,
        /// The format of the table.
        #[command(flatten)]
        table: TableArgs,
    },
}

/// Reads `COLUMN=FIELD`. The name of a column may contain an equals sign, the slug of a field may not.
fn mapping(text: &str) -> Result<(String, String), String> {
    let (column, field) = text.rsplit_once('=').ok_or_else(|| "it must be COLUMN=FIELD".to_owned())?;
    Ok((column.to_owned(), field.to_owned()))
}

/// Reads the separator of cells: one character. It is ASCII, as in every file that a spreadsheet writes.
pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    let text = if matches!(text, "\\t" | "tab") { "\t" } else { text };
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\r' | b'\n') => {
            Ok(*byte)
        }
        _ => Err("it must be one character, such as `;` or a tab (`\\t`), and no letter, digit or quote".to_owned()),
    }
}

/// Reads a time of publication.
fn time(text: &str) -> Result<String, String> {
    let time = parse_system_date(text).map(|_| text.to_owned());
    time.ok_or_else(|| "it must be a date such as 2026-11-20 or a time such as 2026-11-20T08:00Z".to_owned())
}
