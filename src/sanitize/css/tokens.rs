//! Reads the tokens of a selector, a condition or a value, and writes them again so that no HTML parser sees a tag in
//! them.

use cssparser::{ParseError, Parser, ToCss, Token, TokenSerializationType};

use super::forbidden;

/// The maximum depth of blocks and brackets. Deeper parts are dropped.
pub(super) const MAX_DEPTH: usize = 16;

/// The mark of a part that is dropped. No reason is kept, because nobody reads it.
pub(super) type Rejection = ParseError<()>;

/// Returns the mark of a part that is dropped.
pub(super) fn rejected() -> Rejection {
    ParseError::unexpected_token()
}

/// The context of the tokens; it decides which delimiters are allowed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Context {
    /// The selector of a style rule.
    Selector,
    /// The part of an at-rule before its block, such as a media query.
    Condition,
    /// The value of a declaration.
    Value,
}

/// Reads the rest of the input and writes it again. Rejects it if it contains a token that is not allowed.
pub(super) fn rewrite(context: Context, input: &mut Parser<'_>) -> Result<String, Rejection> {
    let mut out = String::new();
    append(context, input, &mut out, 0)?;
    if forbidden::contains_text(&out) {
        return Err(rejected());
    }
    Ok(out)
}

fn append(context: Context, input: &mut Parser<'_>, out: &mut String, depth: usize) -> Result<(), Rejection> {
    if depth > MAX_DEPTH {
        return Err(rejected());
    }
    let mut previous = TokenSerializationType::Nothing;
    // True if the last token was white space. The end of the text written so far does not show it: it may be a space
    // that belongs to an escape. Such a space does not separate tokens and must stay.
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
        if !is_allowed(context, &token) {
            return Err(rejected());
        }
        let kind = token.serialization_type();
        let would_end_a_comment = matches!(token, Token::Delim('>')) && out.ends_with("--");
        if previous.needs_separator_when_before(kind) || would_end_a_comment {
            out.push(' ');
        }
        previous = kind;
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
            // Serializing a number would round it.
            Token::Number { .. } | Token::Percentage { .. } => out.push_str(without_comment(source)),
            Token::Dimension { .. } if !source.contains(['\\', '<', '*']) => out.push_str(without_comment(source)),
            _ => out.push_str(&escape_less_than(&token.to_css_string())),
        }
        let close = match token {
            Token::Function(_) | Token::ParenthesisBlock => ')',
            Token::SquareBracketBlock => ']',
            _ => continue,
        };
        input.parse_nested_block(|input| append(context, input, out, depth + 1))?;
        out.push(close);
        previous = TokenSerializationType::Nothing;
    }
}

fn is_allowed(context: Context, token: &Token<'_>) -> bool {
    match token {
        Token::Function(name) => !forbidden::is_function(name),
        Token::Ident(name) if context == Context::Value => !forbidden::is_value_identifier(name),
        Token::Delim(delim) => match context {
            Context::Selector => matches!(delim, '.' | '>' | '+' | '~' | '*' | '&' | '|' | '='),
            Context::Condition => matches!(delim, '<' | '>' | '=' | '.' | '*' | '/' | '+' | '-' | '&' | '~' | '|'),
            Context::Value => matches!(delim, '+' | '-' | '*' | '/' | '.' | '!' | '=' | '%' | '&' | '|' | '#' | '?'),
        },
        Token::Semicolon => false,
        Token::UnquotedUrl(_) | Token::BadUrl(_) | Token::BadString(_) | Token::AtKeyword(_) => false,
        Token::CDO | Token::CDC | Token::CurlyBracketBlock => false,
        Token::CloseParenthesis | Token::CloseSquareBracket | Token::CloseCurlyBracket => false,
        _ => true,
    }
}

/// Returns the source of a number token without a comment before it.
fn without_comment(source: &str) -> &str {
    source.rsplit_once("*/").map_or(source, |(_, number)| number)
}

/// Writes each `<`, escaped or not, as `\3c`, so that no HTML parser sees the start of a tag.
fn escape_less_than(css: &str) -> String {
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
