//! A guard against markup that costs the parser far more than its size suggests: very deep nesting, very many
//! attributes, and formatting that is never closed, which parsers reopen in every block.
//!
//! It does not guess the work of the parser. It runs ammonia's parser, with the same options, over a tree of which only
//! the cost is kept (`meter`), and stops it as soon as a limit is exceeded. Markup that passes costs ammonia as much
//! again. Inside one tag, nothing can stop the parser. So the attributes of a tag are counted before the parser gets it
//! (`feed`).

mod feed;
mod gate;
mod limits;
mod meter;
mod tag;

use gate::Gate;
use html5ever::tokenizer::Tag;

/// Rejects markup that is too expensive to parse, with a clause that says why. Takes time and memory linear in its
/// size. `on_start_tag` is called for each start tag that the parser sees.
pub(super) fn check(html: &str, on_start_tag: &dyn Fn(&Tag)) -> Result<(), String> {
    feed::run(html, Gate::new(html.len(), on_start_tag)).refusal().map_or(Ok(()), |refusal| Err(refusal.clause()))
}

/// Returns the number of steps that parsing took.
#[cfg(test)]
fn steps(html: &str) -> u64 {
    feed::run(html, Gate::new(html.len(), &|_| ())).steps()
}

#[cfg(test)]
mod tests;
