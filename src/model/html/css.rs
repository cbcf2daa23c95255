//! Style sheets of pages: parsed, less what is no valid rule, what loads something and what can run something.
//!
//! A sheet in which nothing has to go stays as it was written, comments and all. Otherwise what is left is written anew.
//! `<` never begins an end tag in what comes out, so a sheet cannot leave its `<style>` element. What comes out comes
//! out again unchanged.

use std::fmt::Write as _;

use cssparser::{
    AtRuleParser, CowRcStr, DeclarationParser, ParseError, Parser, ParserState, QualifiedRuleParser,
    RuleBodyItemParser, RuleBodyParser, StyleSheetParser, ToCss, Token, TokenSerializationType,
};

/// Blocks nest at most so deep; what lies deeper is dropped.
const MAX_DEPTH: usize = 16;

/// At-rules that hold rules (or, nested in a rule, declarations).
const GROUPS: [&str; 9] =
    ["container", "keyframes", "-webkit-keyframes", "layer", "media", "page", "scope", "starting-style", "supports"];

/// Functions that load what their argument names, or run it.
const FORBIDDEN_FUNCTIONS: [&str; 9] = [
    "url",
    "src",
    "image",
    "image-set",
    "-webkit-image-set",
    "cross-fade",
    "-webkit-cross-fade",
    "url-prefix",
    "expression",
];

const FORBIDDEN_PROPERTIES: [&str; 3] = ["behavior", "-ms-behavior", "-moz-binding"];

/// What stands nowhere in what comes out, not even in a string or a comment: readers that do not parse are safe too.
const FORBIDDEN_TEXTS: [&str; 3] = ["url(", "expression(", "@import"];

/// Sanitises a style sheet.
pub fn sanitize(css: &str) -> String {
    let mut rules = Rules { depth: 0, nested: false, dropped: 0 };
    let mut out = String::new();
    let mut parser = Parser::new(css);
    for rule in StyleSheetParser::new(&mut parser, &mut rules) {
        match rule {
            Ok(rule) => {
                out.push_str(&rule);
                out.push('\n');
            }
            Err(_) => rules_dropped(&mut out),
        }
    }
    let dropped_a_rule = out.contains(DROPPED);
    if rules.dropped == 0 && !dropped_a_rule && is_plain(css) {
        return css.to_owned();
    }
    out.replace(DROPPED, "")
}

/// Stands for a rule that was dropped until the sheet is read to its end. No token is written with this character.
const DROPPED: char = '\u{0}';

fn rules_dropped(out: &mut String) {
    out.push(DROPPED);
}

/// Whether the sheet may stay as it was written, if all its rules may: nothing in it is hidden from the check by an
/// escape, swallowed by the parser, or left open.
fn is_plain(css: &str) -> bool {
    let swallowed = css.to_ascii_lowercase().contains("@charset") || css.contains("-->");
    !swallowed && !holds_forbidden_text(css) && !css.contains(['<', '\\', '\0', '\r', '\u{c}']) && is_closed(css)
}

fn holds_forbidden_text(css: &str) -> bool {
    let lower = css.to_ascii_lowercase();
    FORBIDDEN_TEXTS.iter().any(|text| lower.contains(text))
}

/// Whether every comment, string and bracket ends. The sheet has no backslashes.
fn is_closed(css: &str) -> bool {
    let mut brackets = Vec::new();
    let mut rest = css;
    while let Some(at) = rest.find(['/', '"', '\'', '(', '[', '{', ')', ']', '}']) {
        let found = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        let end = match found {
            b'/' if rest.starts_with('*') => rest[1..].find("*/").map(|end| end + 3),
            b'"' | b'\'' => rest.find(char::from(found)).map(|end| end + 1),
            b'(' | b'[' | b'{' => {
                brackets.push(found);
                Some(0)
            }
            b')' => (brackets.pop() == Some(b'(')).then_some(0),
            b']' => (brackets.pop() == Some(b'[')).then_some(0),
            b'}' => (brackets.pop() == Some(b'{')).then_some(0),
            _ => Some(0),
        };
        let Some(end) = end else { return false };
        rest = &rest[end..];
    }
    brackets.is_empty()
}

struct Rules {
    depth: usize,
    /// Whether the rules stand inside a style rule, where declarations may stand between them.
    nested: bool,
    dropped: usize,
}

/// Why something is dropped is told to nobody.
type Fault = ParseError<()>;

fn fault() -> Fault {
    ParseError::unexpected_token()
}

impl Rules {
    /// A block's items, one a line, indented by one step.
    fn body(&mut self, input: &mut Parser<'_>, nested: bool) -> Result<String, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(fault());
        }
        let mut inner = Rules { depth: self.depth + 1, nested, dropped: 0 };
        let mut out = String::from("{\n");
        let mut failed = 0;
        for item in RuleBodyParser::new(input, &mut inner) {
            match item {
                Ok(item) => {
                    for line in item.lines() {
                        let _ = writeln!(out, "  {line}");
                    }
                }
                Err(_) => failed += 1,
            }
        }
        self.dropped += inner.dropped + failed;
        out.push('}');
        Ok(out)
    }
}

impl<'i> DeclarationParser<'i> for Rules {
    type Declaration = String;
    type Error = ();

    fn parse_value(&mut self, name: CowRcStr<'i>, input: &mut Parser<'i>, _: &ParserState) -> Result<String, Fault> {
        if is_among(&name, &FORBIDDEN_PROPERTIES) {
            return Err(fault());
        }
        let value = Text { place: Anchor::Value }.read(input)?;
        let is_custom = name.starts_with("--");
        if value.is_empty() && !is_custom {
            return Err(fault());
        }
        let name = Token::Ident(name).to_css_string();
        Ok(format!("{name}: {value};"))
    }
}

impl<'i> QualifiedRuleParser<'i> for Rules {
    type Prelude = String;
    type QualifiedRule = String;
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<String, Fault> {
        let selector = Text { place: Anchor::Selector }.read(input)?;
        let is_list = !selector.is_empty() && !selector.starts_with(',') && !selector.ends_with(',');
        if is_list && !looks_forbidden(&selector) { Ok(selector) } else { Err(fault()) }
    }

    fn parse_block(&mut self, selector: String, _: &ParserState, input: &mut Parser<'i>) -> Result<String, Fault> {
        Ok(format!("{selector} {}", self.body(input, true)?))
    }
}

impl<'i> AtRuleParser<'i> for Rules {
    type Prelude = (String, String);
    type AtRule = String;
    type Error = ();

    fn parse_prelude(&mut self, name: CowRcStr<'i>, input: &mut Parser<'i>) -> Result<(String, String), Fault> {
        let name = name.to_ascii_lowercase();
        if !GROUPS.contains(&name.as_str()) {
            return Err(fault());
        }
        let prelude = Text { place: Anchor::Condition }.read(input)?;
        Ok((name, prelude))
    }

    fn rule_without_block(&mut self, (name, prelude): (String, String), _: &ParserState) -> Result<String, ()> {
        if name == "layer" && !prelude.is_empty() { Ok(format!("@layer {prelude};")) } else { Err(()) }
    }

    fn parse_block(
        &mut self,
        (name, prelude): (String, String),
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<String, Fault> {
        let nested = self.nested || name == "page";
        let body = self.body(input, nested)?;
        let space = if prelude.is_empty() { "" } else { " " };
        Ok(format!("@{name}{space}{prelude} {body}"))
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

#[derive(Clone, Copy, PartialEq)]
enum Anchor {
    Selector,
    Condition,
    Value,
}

/// Reads tokens and writes them again.
struct Text {
    place: Anchor,
}

impl Text {
    fn read(&self, input: &mut Parser<'_>) -> Result<String, Fault> {
        let mut out = String::new();
        self.append(input, &mut out, 0)?;
        if holds_forbidden_text(&out) {
            return Err(fault());
        }
        Ok(out)
    }

    fn append(&self, input: &mut Parser<'_>, out: &mut String, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Err(fault());
        }
        let mut before = TokenSerializationType::Nothing;
        // What was written may end in a space that belongs to an escape: that one separates nothing, and stays.
        let mut after_space = true;
        loop {
            let start = input.position();
            let Ok(token) = input.next_including_whitespace() else {
                if after_space && out.ends_with(' ') {
                    out.pop();
                }
                return Ok(());
            };
            let token = token.clone();
            let source = input.slice_from(start);
            if !self.takes(&token) {
                return Err(fault());
            }
            let kind = token.serialization_type();
            let would_end_a_comment = matches!(token, Token::Delim('>')) && out.ends_with("--");
            if before.needs_separator_when_before(kind) || would_end_a_comment {
                out.push(' ');
            }
            before = kind;
            let was_after_space = std::mem::replace(&mut after_space, false);
            match token {
                Token::WhiteSpace(_) => {
                    if !was_after_space {
                        out.push(' ');
                    }
                    after_space = true;
                }
                Token::Delim('<') => {
                    out.push_str("< ");
                    after_space = true;
                }
                // Printing would round it.
                Token::Number { .. } | Token::Percentage { .. } => out.push_str(number(source)),
                Token::Dimension { .. } if !source.contains(['\\', '<', '*']) => out.push_str(number(source)),
                _ => out.push_str(&escaped(&token.to_css_string())),
            }
            let close = match token {
                Token::Function(_) | Token::ParenthesisBlock => ')',
                Token::SquareBracketBlock => ']',
                _ => continue,
            };
            input.parse_nested_block(|input| self.append(input, out, depth + 1))?;
            out.push(close);
            before = TokenSerializationType::Nothing;
        }
    }

    fn takes(&self, token: &Token<'_>) -> bool {
        match token {
            Token::Function(name) => !is_among(name, &FORBIDDEN_FUNCTIONS),
            // Nothing may be made of these in a value either, such as a call with a comment before its bracket.
            Token::Ident(name) if self.place == Anchor::Value => {
                !is_among(name, &FORBIDDEN_PROPERTIES) && !name.eq_ignore_ascii_case("expression")
            }
            Token::Delim(delim) => match self.place {
                Anchor::Selector => matches!(delim, '.' | '>' | '+' | '~' | '*' | '&' | '|' | '='),
                Anchor::Condition => matches!(delim, '<' | '>' | '=' | '.' | '*' | '/' | '+' | '-' | '&' | '~' | '|'),
                Anchor::Value => matches!(delim, '+' | '-' | '*' | '/' | '.' | '!' | '=' | '%' | '&' | '|' | '#' | '?'),
            },
            Token::Semicolon => false,
            Token::UnquotedUrl(_) | Token::BadUrl(_) | Token::BadString(_) | Token::AtKeyword(_) => false,
            Token::CDO | Token::CDC | Token::CurlyBracketBlock => false,
            Token::CloseParenthesis | Token::CloseSquareBracket | Token::CloseCurlyBracket => false,
            _ => true,
        }
    }
}

/// Whether a browser that knows no nested rules would read a forbidden declaration where the selector stands.
fn looks_forbidden(selector: &str) -> bool {
    selector.split_once(':').is_some_and(|(name, _)| is_among(name.trim(), &FORBIDDEN_PROPERTIES))
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// The source of a number token, less a comment before it.
fn number(source: &str) -> &str {
    source.rsplit_once("*/").map_or(source, |(_, number)| number)
}

/// `<` written so that no HTML parser sees it, escaped or not.
fn escaped(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut chars = css.chars();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("\\3c "),
            '\\' => match chars.next() {
                Some('<') => out.push_str("\\3c "),
                next => out.extend(std::iter::once(c).chain(next)),
            },
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
