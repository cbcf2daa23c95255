//! The sanitizing of style sheets: they are parsed, and invalid rules and everything that loads or runs something are
//! removed.
//!
//! A sheet from which nothing is removed is kept as it was written, including its comments. Otherwise the remaining
//! rules are written again. The result never contains the start of an end tag, so a sheet cannot leave its `<style>`
//! element. It is a fixpoint: sanitizing it again does not change it.

mod forbidden;
mod tokens;
mod verbatim;

use std::fmt::Write as _;

use cssparser::{
    AtRuleParser, CowRcStr, DeclarationParser, Parser, ParserState, QualifiedRuleParser, RuleBodyItemParser,
    RuleBodyParser, StyleSheetParser, ToCss, Token,
};

use super::removal_counts::RemovalCounts;
use tokens::{Context, MAX_DEPTH, Rejection, rejected, rewrite};

/// At-rules that contain rules, or declarations if they are nested in a style rule.
const GROUPS: [&str; 9] =
    ["container", "keyframes", "-webkit-keyframes", "layer", "media", "page", "scope", "starting-style", "supports"];

/// Sanitizes a style sheet. The result is a fixpoint.
pub fn style_sheet(css: &str) -> String {
    style_sheet_noting(css, &mut RemovalCounts::default())
}

/// Sanitizes like [`style_sheet`]. Also adds the number of removed rules and declarations to `removed`.
pub fn style_sheet_noting(css: &str, removed: &mut RemovalCounts) -> String {
    let mut rules = Rules { depth: 0, nested: false, dropped: 0 };
    let mut out = String::new();
    let mut dropped = 0;
    let mut parser = Parser::new(css);
    for rule in StyleSheetParser::new(&mut parser, &mut rules) {
        match rule {
            Ok(rule) => {
                out.push_str(&rule);
                out.push('\n');
            }
            Err(_) => dropped += 1,
        }
    }
    let dropped = dropped + rules.dropped;
    if dropped > 0 {
        removed.note("css", dropped as u64);
    }
    let lost_nothing = dropped == 0;
    if lost_nothing && verbatim::may_stay(css) { css.to_owned() } else { out }
}

/// Parses the rules of one nesting depth and writes each again.
struct Rules {
    depth: usize,
    /// True if the rules are inside a style rule, where declarations may appear between them.
    nested: bool,
    /// The number of dropped rules and declarations, at all depths inside these rules.
    dropped: usize,
}

impl Rules {
    /// Returns the block of a rule: its items, each on its own line and indented by one step.
    fn block(&mut self, input: &mut Parser<'_>, nested: bool) -> Result<String, Rejection> {
        if self.depth == MAX_DEPTH {
            return Err(rejected());
        }
        let mut inner = Rules { depth: self.depth + 1, nested, dropped: 0 };
        let mut out = String::from("{\n");
        let mut dropped = 0;
        for item in RuleBodyParser::new(input, &mut inner) {
            match item {
                Ok(item) => {
                    for line in item.lines() {
                        let _ = writeln!(out, "  {line}");
                    }
                }
                Err(_) => dropped += 1,
            }
        }
        self.dropped += inner.dropped + dropped;
        out.push('}');
        Ok(out)
    }
}

impl<'i> DeclarationParser<'i> for Rules {
    type Declaration = String;
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<String, Rejection> {
        if forbidden::is_property(&name) {
            return Err(rejected());
        }
        let value = rewrite(Context::Value, input)?;
        let is_custom = name.starts_with("--");
        if value.is_empty() && !is_custom {
            return Err(rejected());
        }
        let name = Token::Ident(name).to_css_string();
        Ok(format!("{name}: {value};"))
    }
}

impl<'i> QualifiedRuleParser<'i> for Rules {
    type Prelude = String;
    type QualifiedRule = String;
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<String, Rejection> {
        let selector = rewrite(Context::Selector, input)?;
        let is_list = !selector.is_empty() && !selector.starts_with(',') && !selector.ends_with(',');
        if is_list && !forbidden::reads_as_declaration(&selector) { Ok(selector) } else { Err(rejected()) }
    }

    fn parse_block(&mut self, selector: String, _: &ParserState, input: &mut Parser<'i>) -> Result<String, Rejection> {
        Ok(format!("{selector} {}", self.block(input, true)?))
    }
}

/// The part of an at-rule before its block.
struct AtRule {
    /// The name, in lowercase.
    name: String,
    condition: String,
}

impl<'i> AtRuleParser<'i> for Rules {
    type Prelude = AtRule;
    type AtRule = String;
    type Error = ();

    fn parse_prelude(&mut self, name: CowRcStr<'i>, input: &mut Parser<'i>) -> Result<AtRule, Rejection> {
        let name = name.to_ascii_lowercase();
        if !GROUPS.contains(&name.as_str()) {
            return Err(rejected());
        }
        Ok(AtRule { name, condition: rewrite(Context::Condition, input)? })
    }

    fn rule_without_block(&mut self, AtRule { name, condition }: AtRule, _: &ParserState) -> Result<String, ()> {
        if name == "layer" && !condition.is_empty() { Ok(format!("@layer {condition};")) } else { Err(()) }
    }

    fn parse_block(
        &mut self,
        AtRule { name, condition }: AtRule,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<String, Rejection> {
        let block = self.block(input, self.nested || name == "page")?;
        let space = if condition.is_empty() { "" } else { " " };
        Ok(format!("@{name}{space}{condition} {block}"))
    }
}

impl RuleBodyItemParser<'_, String, ()> for Rules {
    fn parse_declarations(&self) -> bool {
        self.nested
    }

    fn parse_qualified(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
