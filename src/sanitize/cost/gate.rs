//! A filter between the tokenizer and the tree builder. It passes no more tokens on once a limit is exceeded.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use html5ever::interface::Tracer;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, create_element};
use html5ever::{LocalName, QualName, local_name, ns};

use super::limits::{
    BYTES_PER_NODE, FREE_NODES, FREE_STEPS, MAX_DEPTH, MAX_NAMES, MAX_OPEN, MAX_SCANNED, Refusal, STEPS_PER_BYTE,
};
use super::meter::{Meter, Node};

/// The number of start tags after which the open elements are counted. They are counted earlier if there might be too
/// many.
const COUNTED_EVERY: usize = 16;

/// A sink of tokens that passes them on to the tree builder as long as they are cheap enough.
pub(super) struct Gate<'a> {
    on_start_tag: &'a dyn Fn(&Tag),
    builder: TreeBuilder<Node, Meter>,
    max_steps: u64,
    max_nodes: usize,
    refusal: Cell<Option<Refusal>>,
    /// True if there was a token since the flag was last cleared.
    token: Cell<bool>,
    start_tags: Cell<usize>,
    /// The number of start tags until the open elements are counted again.
    until_count: Cell<usize>,
    /// An upper bound of the number of formatting elements that are open or wait to be opened again.
    formatting: Cell<u64>,
    names: RefCell<HashSet<LocalName>>,
}

impl<'a> Gate<'a> {
    /// Makes a gate for markup of this length. It parses inside a `<div>`, as ammonia does.
    pub(super) fn new(length: usize, on_start_tag: &'a dyn Fn(&Tag)) -> Gate<'a> {
        let meter = Meter::default();
        let context = create_element(&meter, QualName::new(None, ns!(html), local_name!("div")), Vec::new());
        Gate {
            on_start_tag,
            builder: TreeBuilder::new_for_fragment(meter, context, None, TreeBuilderOpts::default()),
            max_steps: FREE_STEPS + STEPS_PER_BYTE * length as u64,
            max_nodes: FREE_NODES + length / BYTES_PER_NODE,
            refusal: Cell::new(None),
            token: Cell::new(false),
            start_tags: Cell::new(0),
            until_count: Cell::new(COUNTED_EVERY),
            formatting: Cell::new(0),
            names: RefCell::default(),
        }
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.refusal.get()
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refusal.set(self.refusal.get().or(Some(refusal)));
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.builder.sink.steps()
    }

    /// Returns the numbers of start tags, elements and nodes.
    #[cfg(test)]
    pub(super) fn shape(&self) -> (usize, usize, usize) {
        (self.start_tags.get(), self.builder.sink.elements(), self.builder.sink.nodes())
    }

    pub(super) fn forget_token(&self) {
        self.token.set(false);
    }

    /// Returns whether there was a token since [`Gate::forget_token`].
    pub(super) fn saw_token(&self) -> bool {
        self.token.get()
    }

    /// Returns whether the parser is inside SVG or MathML, where it reads CDATA sections.
    pub(super) fn is_foreign(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// Counts the cost of a tag that the calls of the tree builder do not show.
    fn before_tag(&self, tag: &Tag) {
        let attributes = tag.attrs.len() as u64;
        self.builder.sink.charge(attributes * attributes / 16);
        tag.attrs.iter().for_each(|attribute| self.builder.sink.charge_value(&attribute.value));
        let mut names = self.names.borrow_mut();
        for name in std::iter::once(&tag.name).chain(tag.attrs.iter().map(|attribute| &attribute.name.local)) {
            if !names.contains(name) {
                names.insert(name.clone());
            }
        }
        if names.len() > MAX_NAMES {
            self.refuse(Refusal::Names);
        }
        if tag.kind == TagKind::StartTag {
            self.start_tags.set(self.start_tags.get() + 1);
            (self.on_start_tag)(tag);
            if is_formatting(&tag.name) {
                // The tree builder compares the tag with each open formatting element.
                self.builder.sink.charge(self.formatting.get() * (1 + attributes));
                self.formatting.set(self.formatting.get() + 1);
            }
        }
    }

    fn after_token(&self, is_start_tag: bool) {
        if is_start_tag {
            self.until_count.set(self.until_count.get() - 1);
            if self.until_count.get() == 0 {
                self.count_open();
            }
        }
        let meter = &self.builder.sink;
        if meter.scanned() > MAX_SCANNED {
            self.refuse(Refusal::Escaped);
        }
        if meter.nodes() > self.max_nodes {
            let copies = meter.elements().saturating_sub(self.start_tags.get());
            self.refuse(if copies > meter.nodes() / 3 { Refusal::Formatting } else { Refusal::Elements });
        } else if meter.steps() > self.max_steps {
            self.refuse(Refusal::Steps);
        }
    }

    fn count_open(&self) {
        let open = OpenElements {
            meter: &self.builder.sink,
            all: Cell::new(0),
            nested: Cell::new(0),
            formatting: Cell::new(0),
        };
        self.builder.trace_handles(&open);
        self.builder.sink.forget_traces();
        self.builder.sink.charge(open.all.get() as u64 / 8);
        if open.nested.get() > MAX_DEPTH || open.all.get() > MAX_OPEN {
            self.refuse(Refusal::Depth);
            return;
        }
        self.formatting.set(open.formatting.get());
        // A start tag adds at most one element: reopened elements were counted before.
        self.until_count.set((MAX_DEPTH + 1 - open.nested.get()).min(COUNTED_EVERY));
    }
}

impl TokenSink for Gate<'_> {
    type Handle = Node;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Node> {
        if self.refusal.get().is_some() {
            return TokenSinkResult::Continue;
        }
        self.token.set(self.token.get() || !matches!(token, Token::ParseError(_)));
        let mut is_start_tag = false;
        if let Token::TagToken(tag) = &token {
            is_start_tag = tag.kind == TagKind::StartTag;
            self.before_tag(tag);
        }
        let result = self.builder.process_token(token, line);
        self.after_token(is_start_tag);
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.is_foreign()
    }
}

/// Counts the open elements, and the formatting elements that wait to be opened again.
struct OpenElements<'a> {
    meter: &'a Meter,
    all: Cell<usize>,
    nested: Cell<usize>,
    formatting: Cell<u64>,
}

impl Tracer for OpenElements<'_> {
    type Handle = Node;

    fn trace_handle(&self, node: &Node) {
        self.all.set(self.all.get() + 1);
        let is_new = self.meter.trace(*node);
        self.meter.with_name(*node, |name| {
            let is_html = name.ns == ns!(html);
            if is_html && is_formatting(&name.local) {
                self.formatting.set(self.formatting.get() + 1);
            }
            if is_new && !(is_html && is_unclosed(&name.local)) {
                self.nested.set(self.nested.get() + 1);
            }
        });
    }
}

/// Returns whether the end tag of the element is often left out because the next tag implies it. Also true for the
/// root.
fn is_unclosed(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("html")
            | local_name!("colgroup")
            | local_name!("dd")
            | local_name!("dt")
            | local_name!("li")
            | local_name!("p")
            | local_name!("tbody")
            | local_name!("td")
            | local_name!("tfoot")
            | local_name!("th")
            | local_name!("thead")
            | local_name!("tr")
    )
}

fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}
