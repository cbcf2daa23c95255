//! The look-ups that find a word among sorted tokens. Each is a range of tokens that begin alike, and a test. There are
//! as few as possible, since finding a range takes longer than testing what is in it.

use hashbrown::HashMap;

use super::closeness::{BEGUN, Closeness, FORM, PART, WHOLE};
use super::{Measure, Rest, Skip, WantedToken};
use crate::language::Forms;
use crate::names::{BEGINNING, MARK};

/// A look-up of tokens that begin alike.
pub(crate) struct TokenScan<'a> {
    beginning: String,
    test: TokenTest<'a>,
}

/// The test of a token that begins as the scan does.
enum TokenTest<'a> {
    /// It has nothing after the beginning.
    Equal(Closeness),
    /// It is the word, perhaps with typos, or continues.
    Typed(Measure<'a>),
    /// It is the word, or continues, or is a form of it.
    Similar(SimilarTest<'a>),
}

/// Tests tokens without typos.
struct SimilarTest<'a> {
    /// The token that is the word.
    text: String,
    /// The closeness of the word; `None` if another look-up finds it. A word must not be counted twice.
    whole: Option<Closeness>,
    /// True if the word may continue.
    is_open: bool,
    forms: Option<FormTest<'a>>,
}

/// Tests tokens for being forms of a word. Stemming takes long, and many runs and fields have the same tokens.
struct FormTest<'a> {
    forms: &'a Forms,
    /// The results, by token.
    known: HashMap<Box<[u8]>, bool>,
}

impl FormTest<'_> {
    fn has(&mut self, token: &[u8]) -> bool {
        if let Some(known) = self.known.get(token) {
            return *known;
        }
        let text = std::str::from_utf8(token).unwrap_or_default();
        let is_form = self.forms.has(text.strip_prefix(MARK).unwrap_or(text));
        self.known.insert(token.into(), is_form);
        is_form
    }
}

impl SimilarTest<'_> {
    fn closeness(&mut self, token: &[u8]) -> Option<Closeness> {
        if token == self.text.as_bytes() {
            return self.whole;
        }
        if self.forms.as_mut().is_some_and(|forms| forms.has(token)) {
            return Some(FORM);
        }
        (self.is_open && token.starts_with(self.text.as_bytes())).then_some(BEGUN)
    }
}

impl WantedToken {
    /// Returns the look-ups that find the word, without its parts and compounds.
    pub(crate) fn scans(&self) -> Vec<TokenScan<'_>> {
        let typed = || TokenScan { beginning: self.beginning().to_owned(), test: TokenTest::Typed(self.measure()) };
        // One character of text without spaces is no part of a name.
        let alternatives = self.alternatives.as_ref().filter(|_| self.rest != Rest::OfPair);
        let Some(alternatives) = alternatives else {
            return vec![if self.is_loose() { typed() } else { TokenScan::equal(self.text.clone(), WHOLE) }];
        };
        let marked = |text: &str| format!("{MARK}{text}");
        let forms = alternatives.forms.as_ref();
        let mut scans = Vec::new();
        match (self.typos > 0, forms) {
            (false, _) => scans.push(self.similar(String::new(), Some(WHOLE), forms)),
            (true, None) => scans.push(typed()),
            (true, Some(_)) => scans.extend([typed(), self.similar(String::new(), None, forms)]),
        }
        scans.push(self.similar(MARK.to_string(), Some(PART), forms));
        if self.is_vague() {
            scans.push(TokenScan::equal(format!("{BEGINNING}{}", self.text), BEGUN));
        }
        if let Some(joined) = &alternatives.joined {
            scans.extend([joined.clone(), marked(joined)].map(|token| TokenScan::equal(token, PART)));
        }
        scans
    }

    /// Returns the look-up of the word without typos, and of its forms, among tokens that begin with `mark`.
    fn similar<'a>(&self, mark: String, whole: Option<Closeness>, forms: Option<&'a Forms>) -> TokenScan<'a> {
        let text = format!("{mark}{}", self.text);
        let is_open = self.rest == Rest::Word && whole.is_some() && !self.is_vague();
        let Some(forms) = forms else {
            let test = match is_open {
                true => TokenTest::Similar(SimilarTest { text: text.clone(), whole, is_open, forms: None }),
                false => TokenTest::Equal(whole.unwrap_or(WHOLE)),
            };
            return TokenScan { beginning: text, test };
        };
        // The word begins so, too.
        let beginning = mark + forms.beginning();
        let forms = Some(FormTest { forms, known: HashMap::new() });
        TokenScan { beginning, test: TokenTest::Similar(SimilarTest { text, whole, is_open, forms }) }
    }

    /// Returns whether finding it compares many tokens or reads long lists, so that what was found is worth keeping.
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

impl<'a> TokenScan<'a> {
    /// Returns the look-up of one token.
    pub(crate) fn equal(token: String, closeness: Closeness) -> TokenScan<'a> {
        TokenScan { beginning: token, test: TokenTest::Equal(closeness) }
    }

    /// Returns the text with which every token of the scan begins.
    pub(crate) fn beginning(&self) -> &str {
        &self.beginning
    }

    /// Returns the closeness of the only token that the scan can find: its beginning. `None` if it can find others.
    pub(crate) fn only(&self) -> Option<Closeness> {
        match self.test {
            TokenTest::Equal(closeness) => Some(closeness),
            _ => None,
        }
    }

    /// Returns the closeness of a token that begins with the beginning; `None` if it does not match.
    pub(crate) fn closeness(&mut self, token: &[u8]) -> Option<Closeness> {
        match &mut self.test {
            TokenTest::Equal(closeness) => (token.len() == self.beginning.len()).then_some(*closeness),
            TokenTest::Typed(measure) => measure.closeness(token),
            TokenTest::Similar(test) => test.closeness(token),
        }
    }

    /// Returns whether [`TokenScan::skip`] may let tokens be skipped.
    pub(crate) fn skips(&self) -> bool {
        matches!(self.test, TokenTest::Typed(_))
    }

    /// Returns the place of the next token that may match, if the last one does not, and none that directly follows it.
    pub(crate) fn skip(&self) -> Option<Skip> {
        match &self.test {
            TokenTest::Typed(measure) => measure.skip(),
            _ => None,
        }
    }
}
