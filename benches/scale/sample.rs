//! Texts of the articles for searches: words, pairs of words, letters. They are taken from some articles spread over
//! the file, so frequencies are estimates.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::articles::lines;

/// The number of articles that are sampled, and the number of them that are kept whole.
const LOOKED_AT: usize = 20_000;
const KEPT: usize = 1_000;
/// The number of the most frequent words of which pairs are counted.
const PAIRED: usize = 80;

/// The known facts about the articles. Each list is sorted, or has the order of the file.
#[derive(Default)]
pub(crate) struct Sample {
    /// Some articles as they were generated.
    pub(crate) articles: Vec<Value>,
    /// Text between two tags of a body, one for each article.
    pub(crate) texts: Vec<String>,
    pub(crate) titles: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) statuses: Vec<String>,
    /// Words of six letters or more in 3 to 50 % of the articles.
    pub(crate) common: Vec<String>,
    /// Words of ten letters or more that occur in one of the sampled articles only.
    pub(crate) rare: Vec<String>,
    /// Frequent words in a row, the most frequent first.
    pub(crate) pairs: Vec<String>,
    pub(crate) letters: Vec<String>,
    pub(crate) two_letters: Vec<String>,
    /// Runs of Japanese and Chinese characters.
    pub(crate) ideographs: Vec<String>,
}

impl Sample {
    /// Reads the first `size` articles of a file.
    pub(crate) fn read(path: &Path, size: usize) -> Result<Self> {
        let step = size.div_ceil(LOOKED_AT).max(1);
        let keep = size.min(LOOKED_AT).div_ceil(KEPT).max(1);
        let mut sample = Sample::default();
        let (mut categories, mut statuses) = (BTreeSet::new(), BTreeSet::new());
        let mut bodies = Vec::new();
        for (number, line) in lines(path)?.take(size).step_by(step).enumerate() {
            let article: Value = serde_json::from_str(&line?)?;
            let text = |key: &str| article[key].as_str().unwrap_or_default().to_owned();
            categories.insert(text("category"));
            statuses.insert(text("status"));
            sample.titles.push(text("title"));
            bodies.push(text("body"));
            if number % keep == 0 {
                sample.articles.push(article);
            }
        }
        sample.categories = categories.into_iter().collect();
        sample.statuses = statuses.into_iter().collect();
        sample.count(&bodies);
        Ok(sample)
    }

    fn count(&mut self, bodies: &[String]) {
        let mut words: HashMap<&str, (usize, usize)> = HashMap::new();
        let (mut letters, mut two_letters) = (BTreeSet::new(), BTreeSet::new());
        for (number, body) in bodies.iter().enumerate() {
            self.texts.extend(pieces(body).max_by_key(|piece| piece.len()).map(str::to_owned));
            for word in pieces(body).flat_map(words_of) {
                let (count, last) = words.entry(word).or_insert((0, usize::MAX));
                *count += usize::from(*last != number);
                *last = number;
            }
            if number < 300 {
                let text: Vec<char> = pieces(body).flat_map(str::chars).collect();
                let runs = text.windows(2).filter(|two| two.iter().all(|letter| letter.is_alphabetic()));
                two_letters.extend(runs.map(|two| two.iter().collect::<String>().to_lowercase()));
                letters.extend(text.iter().filter(|letter| letter.is_alphabetic()).flat_map(|one| one.to_lowercase()));
            }
        }
        self.letters = letters.into_iter().map(String::from).collect();
        self.two_letters = two_letters.into_iter().collect();
        self.ideographs = self.texts.iter().filter_map(|text| ideographs(text)).collect();
        let some = |keep: &dyn Fn(&str, usize) -> bool| -> Vec<String> {
            let kept = words.iter().filter(|(word, (count, _))| keep(word, *count));
            kept.map(|(word, _)| (*word).to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let all = bodies.len();
        self.common = some(&|word, count| word.len() >= 6 && count * 100 >= all * 3 && count * 2 <= all);
        self.rare = some(&|word, count| word.len() >= 10 && count == 1);
        let mut frequent: Vec<(&str, usize)> = words.iter().map(|(word, (count, _))| (*word, *count)).collect();
        frequent.sort_by_key(|(word, count)| (usize::MAX - count, *word));
        frequent.truncate(PAIRED);
        let frequent: BTreeSet<&str> = frequent.into_iter().map(|(word, _)| word).collect();
        self.pairs = pairs(bodies, &frequent);
    }
}

/// Pairs of frequent words in a row, each with a single space between, the most frequent pair first.
fn pairs(bodies: &[String], frequent: &BTreeSet<&str>) -> Vec<String> {
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    for piece in bodies.iter().flat_map(|body| pieces(body)) {
        let words: Vec<&str> = piece.split(' ').collect();
        for two in words.windows(2) {
            if frequent.contains(two[0]) && frequent.contains(two[1]) {
                *counts.entry((two[0], two[1])).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(pair, count)| (usize::MAX - count, *pair));
    counts.into_iter().map(|((first, second), _)| format!("{first} {second}")).collect()
}

/// Returns the texts between tags, without those that contain entities, because they are written differently in HTML.
fn pieces(body: &str) -> impl Iterator<Item = &str> {
    body.split('<').filter_map(|piece| piece.split('>').next_back()).filter(|piece| !piece.contains('&'))
}

/// Words of lowercase ASCII letters.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Returns the longest run of Japanese or Chinese characters, if it has four or more.
fn ideographs(text: &str) -> Option<String> {
    let runs = text.split(|letter| !matches!(letter, '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'));
    runs.max_by_key(|run| run.len()).filter(|run| run.chars().count() >= 4).map(str::to_owned)
}
