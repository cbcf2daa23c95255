//! The look-ups that find a word among sorted tokens. Each is a range of tokens and a test.

use super::closeness::{BEGUN_PART, Closeness, FORM, FORM_OF_PART, PART, WHOLE};
use super::{Measure, Rest, WantedToken};
use crate::language::Forms;
use crate::names::MARK;

/// A look-up of tokens that begin alike.
pub(crate) struct TokenScan<'a> {
    beginning: String,
    test: Test<'a>,
}

/// The test of a token that begins as the scan does.
enum Test<'a> {
    /// It has nothing after the beginning.
    Equal(Closeness),
    Typed(Measure<'a>),
    /// It is the beginning, or continues.
    Begun,
    Form(&'a Forms, Closeness),
}

impl WantedToken {
    /// Returns the look-ups that find the word, without its parts and compounds.
    pub(crate) fn scans(&self) -> Vec<TokenScan<'_>> {
        let equal = |beginning: String, closeness| TokenScan { beginning, test: Test::Equal(closeness) };
        let mut scans = vec![match self.is_loose() {
            true => TokenScan { beginning: self.beginning().to_owned(), test: Test::Typed(self.measure()) },
            false => equal(self.text.clone(), WHOLE),
        }];
        let Some(alternatives) = &self.alternatives else { return scans };
        let marked = |text: &str| format!("{MARK}{text}");
        scans.push(match self.rest {
            Rest::Word => TokenScan { beginning: marked(&self.text), test: Test::Begun },
            _ => equal(marked(&self.text), PART),
        });
        if let Some(joined) = &alternatives.joined {
            scans.extend([equal(joined.clone(), PART), equal(marked(joined), PART)]);
        }
        if let Some(forms) = &alternatives.forms {
            let form = |beginning, closeness| TokenScan { beginning, test: Test::Form(forms, closeness) };
            scans.extend([form(forms.beginning().to_owned(), FORM), form(marked(forms.beginning()), FORM_OF_PART)]);
        }
        scans
    }

    /// Returns whether finding it compares many tokens.
    pub(crate) fn is_scanned(&self) -> bool {
        self.is_loose() || self.alternatives.as_ref().is_some_and(|alternatives| alternatives.forms.is_some())
    }

    /// Returns bytes that differ for tokens that [`WantedToken::scans`] finds differently.
    pub(crate) fn scan_key(&self) -> Vec<u8> {
        let mut key = vec![self.typos as u8, self.rest as u8, u8::from(self.alternatives.is_some())];
        let mut push = |text: &str| {
            key.extend_from_slice(text.as_bytes());
            key.push(0xFF);
        };
        push(&self.text);
        if let Some(alternatives) = &self.alternatives {
            push(alternatives.joined.as_deref().unwrap_or_default());
            if let Some((stem, language)) = alternatives.forms.as_ref().map(Forms::key) {
                push(stem);
                push(language);
            }
        }
        key
    }
}

impl TokenScan<'_> {
    /// Returns the text with which every token of the scan begins.
    pub(crate) fn beginning(&self) -> &str {
        &self.beginning
    }

    /// Returns the closeness of the only token that the scan can find: its beginning. `None` if it can find others.
    pub(crate) fn only(&self) -> Option<Closeness> {
        match self.test {
            Test::Equal(closeness) => Some(closeness),
            _ => None,
        }
    }

    /// Returns the closeness of a token that begins with the beginning; `None` if it does not match.
    pub(crate) fn closeness(&mut self, token: &[u8]) -> Option<Closeness> {
        let is_whole = token.len() == self.beginning.len();
        match &mut self.test {
            Test::Equal(closeness) => is_whole.then_some(*closeness),
            Test::Typed(measure) => measure.closeness(token),
            Test::Begun => Some(if is_whole { PART } else { BEGUN_PART }),
            Test::Form(forms, closeness) => {
                let token = std::str::from_utf8(token).ok()?;
                forms.has(token.strip_prefix(MARK).unwrap_or(token)).then_some(*closeness)
            }
        }
    }

    /// Returns the number of bytes that the last token and its followers have in common, if no token that begins with
    /// these bytes can match.
    pub(crate) fn hopeless(&self) -> Option<usize> {
        match &self.test {
            Test::Typed(measure) => measure.hopeless(),
            _ => None,
        }
    }
}
