//! Reads `API.md`: its numbered sections, their commands, and the answers printed below them. Runs nothing.
//!
//! A fenced `sh` block holds commands. The next `json`, `csv` or `text` block before more commands holds their answer,
//! and "Answers `404`" in the text between or after them the status of the last request (200 if it is not mentioned).
//! Fences without a language show shapes, which are neither run nor compared.

use std::fs;
use std::path::Path;

use super::shape::Answer;

/// A numbered section with its examples.
pub(super) struct Section {
    /// The number, such as `4.2`.
    pub(super) number: String,
    /// The examples in the order of their runs.
    pub(super) examples: Vec<Example>,
    /// The number of requests that the section says it makes.
    pub(super) requests: Option<usize>,
}

/// Commands and their answers.
pub(super) struct Example {
    /// The line of `API.md` that the commands begin on.
    pub(super) line: usize,
    pub(super) commands: String,
    /// The status of the last request.
    pub(super) status: u16,
    pub(super) answer: Option<Answer>,
}

/// Returns the `html` block of a section of `API.md`.
pub(super) fn html_of(number: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("API.md")).unwrap();
    let section =
        text.split_once(&format!("\n### {number} ")).unwrap_or_else(|| panic!("there is no section {number}")).1;
    let block = section.split_once("```html\n").and_then(|(_, rest)| rest.split_once("```"));
    block.unwrap_or_else(|| panic!("{number} has no block of HTML")).0.to_owned()
}

/// A fenced block that is being read.
struct Fence {
    language: String,
    line: usize,
    text: String,
}

impl Section {
    /// Returns whether the section is `part` or one of its sections: `10.2` is in `10`.
    pub(super) fn is_in(&self, part: &str) -> bool {
        self.number.split('.').next() == Some(part)
    }
}

/// Returns the sections of `API.md`, in order.
pub(super) fn sections() -> Vec<Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("API.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut sections = vec![section("")];
    let mut fence: Option<Fence> = None;
    for (index, line) in text.lines().enumerate() {
        let current = sections.last_mut().expect("there is a section from the beginning");
        // Blocks inside a list are indented.
        let unindented = line.trim_start();
        match (&mut fence, unindented.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                if let Some(ended) = fence.take() {
                    current.add(ended);
                }
            }
            (Some(open), None) => {
                open.text.push_str(line);
                open.text.push('\n');
            }
            (None, Some(language)) => {
                fence = Some(Fence { language: language.to_owned(), line: index + 1, text: String::new() });
            }
            (None, None) => match number_of_heading(line) {
                Some(number) => sections.push(section(number)),
                None => current.read_prose(line),
            },
        }
    }
    sections
}

fn section(number: &str) -> Section {
    Section { number: number.to_owned(), examples: Vec::new(), requests: None }
}

impl Section {
    fn add(&mut self, fence: Fence) {
        let Fence { language, line, text } = fence;
        if language == "sh" {
            self.examples.push(Example { line, commands: text, status: 200, answer: None });
            return;
        }
        let Some(example) = self.examples.last_mut() else { return };
        let answer = match language.as_str() {
            "json" => Answer::json(&text).unwrap_or_else(|error| panic!("API.md:{line}: {error}")),
            "csv" | "text" => Answer::Text(text),
            _ => return,
        };
        assert!(example.answer.is_none(), "API.md:{line}: a second answer to the commands in line {}", example.line);
        example.answer = Some(answer);
    }

    fn read_prose(&mut self, line: &str) {
        if let Some(example) = self.examples.last_mut()
            && let Some(status) = line.split_once("Answers `").and_then(|(_, rest)| rest.get(..3)?.parse().ok())
        {
            example.status = status;
        }
        if let Some(rest) = line.strip_prefix("Requests: ") {
            let digits = rest.split(|character: char| !character.is_ascii_digit()).next();
            self.requests = digits.and_then(|digits| digits.parse().ok());
        }
    }
}

/// `4.2` of `### 4.2 List`.
fn number_of_heading(line: &str) -> Option<&str> {
    let heading = line.strip_prefix("## ").or_else(|| line.strip_prefix("### "))?;
    let number = heading.split(' ').next()?.trim_end_matches('.');
    number.starts_with(|character: char| character.is_ascii_digit()).then_some(number)
}
