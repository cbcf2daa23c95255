//! Languages of texts: the forms of a word, and the compounds that it is part of. It knows no queries and no indexes.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use crate::text::first_chars;

/// A language whose words have stems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(Algorithm);

/// The languages by their code in ISO 639-1.
const LANGUAGES: [(&str, Algorithm); 28] = [
    ("ar", Algorithm::Arabic),
    ("ca", Algorithm::Catalan),
    ("cs", Algorithm::Czech),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("et", Algorithm::Estonian),
    ("eu", Algorithm::Basque),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("ga", Algorithm::Irish),
    ("hu", Algorithm::Hungarian),
    ("hy", Algorithm::Armenian),
    ("id", Algorithm::Indonesian),
    ("it", Algorithm::Italian),
    ("lt", Algorithm::Lithuanian),
    ("nb", Algorithm::Norwegian),
    ("nl", Algorithm::Dutch),
    ("nn", Algorithm::Norwegian),
    ("no", Algorithm::Norwegian),
    ("pl", Algorithm::Polish),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("tr", Algorithm::Turkish),
];

/// Words that questions have and answers need not have, in the form of tokens. Only frequent words without a meaning of
/// their own.
const STOP_WORDS: [(Algorithm, &str); 11] = [
    (
        Algorithm::Danish,
        "af at de den der det du en er et fra har hvad hvor hvordan i jeg kan med min mit og om pa til vi",
    ),
    (Algorithm::Dutch, "aan de den dit een en er het hoe ik in is kan met mijn naar of om op te van voor waar wat wij"),
    (
        Algorithm::English,
        "a an and are as at be by can do does for from how i if in is it me my of on or our should that the this to was what when where which who why will with you your",
    ),
    (
        Algorithm::French,
        "a ai au aux avec ce ces comment dans de des du elle en est et il je la le les ma mes mon ne nous ou par pas pour pourquoi puis quand que quel quelle qui sa ses son sur un une vous votre",
    ),
    (
        Algorithm::German,
        "am an auf aus bei bin das dem den der des die du ein eine einem einen einer eines er es fur ich im in ist kann man mein meine meinem meinen meiner mir mit nach oder sie sind um und uns unser von vom wann warum was welche welcher wer wie wir wo zu zum zur",
    ),
    (
        Algorithm::Italian,
        "a al alla che chi come con da dal del della di dove e gli i il in io la le lo ma mi mia mio nel nella o per perche quale quando si su un una",
    ),
    (Algorithm::Norwegian, "av de den det du en er et fra har hva hvor hvordan i jeg kan med min mitt og om pa til vi"),
    (
        Algorithm::Portuguese,
        "a ao as como com da das de do dos e em eu mas me meu minha na nas no nos o onde os ou para por porque quais qual quando que se um uma",
    ),
    (
        Algorithm::Russian,
        "в во где для до его ее и из или как какая какие какои когда кто ли мне мои моем моеи моего моя мы на не о об от по почему при с со у что это я",
    ),
    (
        Algorithm::Spanish,
        "a al como con cual cuando de del donde e el en es la las lo los me mi mis o para por porque que se si su un una y yo",
    ),
    (Algorithm::Swedish, "av de den det du en ett fran har hur i jag kan med min mitt och om pa till vad var vi"),
];

/// Between the parts of a compound may be one of these.
const LINKS: [&str; 7] = ["", "s", "es", "n", "en", "er", "e"];
/// The least number of characters of the word that is left of a compound.
const MIN_REST: usize = 2;
/// The least number of characters of a word that is found in compounds.
const MIN_IN_COMPOUND: usize = 4;
/// The least number of characters of a word that has forms.
const MIN_WITH_FORMS: usize = 3;
/// The most characters of a word. Longer ones are no words of a language.
const MAX_CHARS: usize = 40;
/// The most characters by which a form is longer than the stem.
const MAX_ENDING: usize = 7;

impl Language {
    /// Returns the language of a tag such as `de` or `pt-BR`; `None` if its words have no stems here.
    pub fn of_tag(tag: &str) -> Option<Language> {
        let code = tag.split(['-', '_']).next()?;
        LANGUAGES.iter().find(|(known, _)| code.eq_ignore_ascii_case(known)).map(|(_, algorithm)| Language(*algorithm))
    }

    /// Returns the codes of all languages.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|(code, _)| *code)
    }

    /// Returns the stem of a token.
    pub(crate) fn stem(self, token: &str) -> String {
        let token = match self.0 {
            Algorithm::Russian => with_short_i(token),
            _ => Cow::Borrowed(token),
        };
        Stemmer::new(self.0).stem(&token).into_owned()
    }

    /// Returns whether a token is a frequent word of the language without a meaning of its own.
    pub(crate) fn is_stop_word(self, token: &str) -> bool {
        let words = STOP_WORDS.iter().find(|(algorithm, _)| *algorithm == self.0).map_or("", |(_, words)| words);
        words.split(' ').any(|word| word == token)
    }

    /// Returns whether words of the language are joined without a space.
    pub(crate) fn has_compounds(self) -> bool {
        matches!(
            self.0,
            Algorithm::Danish
                | Algorithm::Dutch
                | Algorithm::Finnish
                | Algorithm::German
                | Algorithm::Norwegian
                | Algorithm::Swedish
        )
    }
}

/// Restores the last letter of endings such as `ый`, which tokens have without its mark.
fn with_short_i(token: &str) -> Cow<'_, str> {
    let stem = token.strip_suffix('и').filter(|stem| stem.ends_with(['а', 'е', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я']));
    stem.map_or(Cow::Borrowed(token), |stem| Cow::Owned(format!("{stem}й")))
}

/// The forms of a word: the words of a language with the same stem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forms {
    language: Language,
    stem: String,
    /// Only words that begin so are compared.
    beginning: String,
    most_chars: usize,
}

impl Forms {
    /// Returns the forms of a token. `None` if it is no word of a language.
    pub(crate) fn of(language: Language, token: &str) -> Option<Forms> {
        let count = token.chars().count();
        if !(MIN_WITH_FORMS..=MAX_CHARS).contains(&count) || !token.chars().all(char::is_alphabetic) {
            return None;
        }
        let stem = language.stem(token);
        let stem_count = stem.chars().count();
        if stem_count < MIN_WITH_FORMS - 1 {
            return None;
        }
        // The last vowel of a stem is often none of the word: `hope` is the stem of `hoping`, and `citi` that of
        // `city`.
        let kept = match stem.chars().next_back() {
            Some('a' | 'e' | 'i' | 'o' | 'u' | 'y') if stem_count > 2 => stem_count - 1,
            _ => stem_count,
        };
        let shared = stem.chars().zip(token.chars()).take_while(|(one, other)| one == other).count().min(kept);
        let beginning = first_chars(&stem, shared).to_owned();
        (shared > 1).then_some(Forms { language, stem, beginning, most_chars: stem_count + MAX_ENDING })
    }

    /// Returns the text with which every form begins.
    pub(crate) fn beginning(&self) -> &str {
        &self.beginning
    }

    /// Returns the stem, and a number for the language.
    pub(crate) fn key(&self) -> (&str, &'static str) {
        (&self.stem, self.language.0.name())
    }

    /// Returns whether a token is a form of the word.
    pub(crate) fn has(&self, token: &str) -> bool {
        token.starts_with(&self.beginning)
            && token.chars().count() <= self.most_chars
            && self.language.stem(token) == self.stem
    }
}

/// Returns whether words of the language may be parts of a token that begins or ends with this word.
pub(crate) fn is_in_compounds(word: &str) -> bool {
    (MIN_IN_COMPOUND..=MAX_CHARS).contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
}

/// Emits what may be the other word of a compound that begins or ends with `word`.
pub(crate) fn each_rest<'a>(token: &'a str, word: &str, mut emit: impl FnMut(&'a str)) {
    let mut rest = |rest: &'a str| {
        if rest.chars().nth(MIN_REST - 1).is_some() {
            emit(rest);
        }
    };
    if token.chars().count() > MAX_CHARS {
        return;
    }
    if let Some(after) = token.strip_prefix(word) {
        LINKS.iter().filter_map(|link| after.strip_prefix(link)).for_each(&mut rest);
    }
    if let Some(before) = token.strip_suffix(word) {
        LINKS.iter().filter_map(|link| before.strip_suffix(link)).for_each(&mut rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::token_form;

    fn language(tag: &str) -> Language {
        Language::of_tag(tag).expect("a language")
    }

    #[test]
    fn forms_have_the_stem_of_the_word() {
        for (tag, word, forms, others) in [
            ("en", "compilers", &["compiler", "compilers"][..], &["complete", "company"][..]),
            ("en", "city", &["cities", "city"], &["citizen"]),
            ("en-GB", "hope", &["hoping", "hoped"], &["hop"]),
            ("de", "ordnungen", &["ordnung", "ordnungs"], &["ordner"]),
            ("de", "haus", &["hauser", "hauses"], &["hafen"]),
            ("fr", "fonctions", &["fonction"], &["fontaine"]),
            (
                "ru",
                "\u{43d}\u{43e}\u{432}\u{44b}\u{438}",
                &["\u{43d}\u{43e}\u{432}\u{43e}\u{433}\u{43e}"],
                &["\u{43d}\u{43e}\u{447}\u{44c}"],
            ),
        ] {
            let of_word = Forms::of(language(tag), word).expect("forms");
            assert!(forms.iter().all(|form| of_word.has(form)), "{word}: {of_word:?}");
            assert!(!others.iter().any(|other| of_word.has(other)), "{word}: {of_word:?}");
        }
        assert_eq!(Forms::of(language("en"), "x86"), None);
        assert_eq!(Language::of_tag("zh-CN"), None);
    }

    #[test]
    fn stop_words_are_tokens() {
        for word in STOP_WORDS.iter().flat_map(|(_, words)| words.split(' ')) {
            assert_eq!(token_form(word), word);
        }
        assert!(language("de").is_stop_word("wie") && !language("en").is_stop_word("use"));
    }

    #[test]
    fn compounds_leave_a_word_without_its_link() {
        let rests = |token, word| {
            let mut rests = Vec::new();
            each_rest(token, word, |rest| rests.push(rest));
            rests
        };
        assert_eq!(rests("gewerbeordnung", "ordnung"), ["gewerbe", "gewerb"]);
        assert_eq!(rests("ordnungsamt", "ordnung"), ["samt", "amt"]);
        assert_eq!(rests("ordnungen", "ordnung"), ["en"]);
        assert_eq!(rests("ordnung", "ordnung"), [""; 0]);
    }
}
