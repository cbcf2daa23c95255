//! The sources of the articles: a file, an external generator, or `generate.rs`. All give NDJSON with one article per
//! line, whose last two keys are `published_at` and `created_at`. Knows nothing of the server but the form of an
//! import.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::options::Options;
use crate::{Result, generate, say};

/// The blueprint of the articles. `SLUG` and `NAME` are replaced.
pub(crate) const BLUEPRINT: &str = r#"{"name": "NAME", "slug": "SLUG", "fields": [
    {"name": "Title", "type": "text", "required": true}, {"name": "Slug", "type": "slug", "unique": true},
    {"name": "Summary", "type": "text"}, {"name": "Body", "type": "rich-text"},
    {"name": "Status", "type": "enum", "settings": {"values": null}},
    {"name": "Category", "type": "enum", "settings": {"values": null}},
    {"name": "Price", "type": "number"}, {"name": "Reading minutes", "type": "number"},
    {"name": "Featured", "type": "boolean"}, {"name": "Tags", "type": "multi-enum", "settings": {"values": null}},
    {"name": "Published on", "type": "date"}, {"name": "Author", "type": "reference", "settings": {"blueprint": "authors"}}]}"#;

/// The blueprint of the authors.
pub(crate) const AUTHORS_BLUEPRINT: &str = r#"{"name": "Authors", "slug": "authors", "fields": [
    {"name": "Name", "type": "text", "required": true}, {"name": "City", "type": "text"}]}"#;

/// Returns the path of the file with `size` articles. It is generated unless it exists.
pub(crate) fn file(options: &Options, size: usize) -> Result<PathBuf> {
    if let Some(file) = &options.articles {
        return Ok(file.clone());
    }
    let source = if options.generator.is_some() { "corpus" } else { "demonstration" };
    let path = options.work.join(format!("articles-{source}-{}-{size}.ndjson", options.seed));
    if path.exists() {
        return Ok(path);
    }
    say(&format!("generating {size} articles"));
    let part = path.with_extension("part");
    match &options.generator {
        Some(folder) => external(options, folder, size, &part)?,
        None => generate::write(&part, size, options.seed)?,
    }
    fs::rename(&part, &path)?;
    Ok(path)
}

fn external(options: &Options, folder: &Path, size: usize, out: &Path) -> Result<()> {
    let mut corpus = folder.join("corpus.ndjson");
    if !corpus.exists() {
        corpus = options.work.join("corpus.ndjson");
        if !corpus.exists() {
            let packed = BufReader::new(File::open(folder.join("corpus.ndjson.zst"))?);
            zstd::stream::copy_decode(packed, File::create(&corpus)?)?;
        }
    }
    let mut command = Command::new("python3");
    command.arg(folder.join("gen_articles.py")).args(["--n", &size.to_string()]);
    command.args(["--seed", &options.seed.to_string()]).arg("--corpus").arg(corpus).arg("--out").arg(out);
    if !command.status()?.success() {
        return Err("the generator of the articles failed".into());
    }
    Ok(())
}

/// Returns the lines of the file.
pub(crate) fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>> + use<>> {
    Ok(BufReader::with_capacity(1 << 20, File::open(path)?).lines())
}

/// Returns an article by an author as a line of an import, with a line feed. It only cuts the text: parsing would take
/// CPU time from the server that is measured.
pub(crate) fn import_line(article: &str, author: &str) -> Result<String> {
    let (fields, dates) = cut(article)?;
    Ok(format!("{{\"attributes\":{{\"author\":\"{author}\",{fields}}},{dates}\n"))
}

/// Returns the fields of an article without the brace before them, and its dates with the brace behind them.
pub(crate) fn cut(article: &str) -> Result<(&str, &str)> {
    let dates = article.rfind(",\"published_at\":").ok_or("an article without `published_at` at its end")?;
    let fields = article.get(1..dates).ok_or("an article without fields")?;
    Ok((fields, &article[dates + 1..]))
}
