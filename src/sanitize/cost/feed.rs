//! Gives markup to the tokenizer piece by piece, so that it can be stopped, and so that it gets no tag with too many
//! attributes.
//!
//! The beginning of a tag depends on the parser's state after everything before, so the tokenizer is observed: it has
//! reported all text up to a `<`, and if it reports nothing for the `<` and the name behind it, it is inside a tag.

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::gate::Gate;
use super::limits::{MAX_ATTRIBUTES, Refusal};
use super::tag::rest_of_tag;

/// Parses the markup up to its end, or until it is refused.
pub(super) fn run<'a>(html: &str, gate: Gate<'a>) -> Gate<'a> {
    let tokenizer = Tokenizer::new(gate, TokenizerOpts::default());
    let mut feed = Feed { html: StrTendril::from(html), at: 0, tokenizer, queue: BufferQueue::default() };
    while feed.at < html.len() && feed.tokenizer.sink.refusal().is_none() {
        feed.text();
        feed.markup();
    }
    if feed.tokenizer.sink.refusal().is_none() {
        feed.tokenizer.end();
    }
    feed.tokenizer.sink
}

struct Feed<'a> {
    html: StrTendril,
    /// The offset of the next byte that the tokenizer gets.
    at: usize,
    tokenizer: Tokenizer<Gate<'a>>,
    queue: BufferQueue,
}

impl Feed<'_> {
    fn rest(&self) -> &[u8] {
        &self.html.as_bytes()[self.at..]
    }

    /// Gives the tokenizer the next bytes. Returns whether it reported a token.
    fn take(&mut self, length: usize) -> bool {
        self.tokenizer.sink.forget_token();
        // The offsets fit into 32 bits, because a tendril is never longer.
        if let (Ok(at), Ok(length)) = (u32::try_from(self.at), u32::try_from(length)) {
            self.queue.push_back(self.html.subtendril(at, length));
            while !matches!(self.tokenizer.feed(&self.queue), TokenizerResult::Done) {}
        }
        self.at += length;
        self.tokenizer.sink.saw_token()
    }

    /// Gives the tokenizer the text up to the next `<`.
    fn text(&mut self) {
        let length = self.rest().iter().position(|byte| *byte == b'<').unwrap_or(self.rest().len());
        self.take(length);
    }

    /// Gives the tokenizer the markup from a `<` outside all tags up to the next place where text may follow.
    fn markup(&mut self) {
        if self.rest().is_empty() {
            return;
        }
        self.take(1);
        let slash = usize::from(self.rest().first() == Some(&b'/'));
        match self.rest().get(slash) {
            Some(byte) if byte.is_ascii_alphabetic() => self.tag(slash),
            Some(b'>') if slash == 1 => {
                self.take(2);
            }
            Some(b'!') if slash == 0 && self.rest().starts_with(b"![CDATA[") && self.tokenizer.sink.is_foreign() => {
                let end = self.rest().windows(3).position(|window| window == b"]]>");
                self.take(end.map_or(self.rest().len(), |end| end + 3));
            }
            Some(byte) if slash == 1 || matches!(byte, b'!' | b'?') => self.declaration(),
            _ => {}
        }
    }

    /// Gives the tokenizer the rest of a tag whose `<` it already has, if it is in a state in which it reads tags.
    fn tag(&mut self, slash: usize) {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let name = self.rest()[slash..].iter().position(is_end);
        let Some(name) = name else {
            self.take(self.rest().len());
            return;
        };
        let behind_name = slash + name;
        if self.take(behind_name + 1) {
            return;
        }
        let (end, attributes) = rest_of_tag(&self.html.as_bytes()[..], self.at - 1);
        if attributes > MAX_ATTRIBUTES {
            self.tokenizer.sink.refuse(Refusal::Attributes);
            return;
        }
        self.take(end - self.at);
    }

    /// Gives the tokenizer a comment or another declaration. It ends with a `>`, at which the tokenizer reports it.
    fn declaration(&mut self) {
        while !self.rest().is_empty() {
            let length = self.rest().iter().position(|byte| *byte == b'>').map_or(self.rest().len(), |end| end + 1);
            if self.take(length) {
                return;
            }
        }
    }
}
