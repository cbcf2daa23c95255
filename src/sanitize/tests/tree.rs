//! The tree that a browser's parser builds from HTML. It shares no code with the sanitizer, so tests can check against
//! it.

use std::borrow::Cow;
use std::cell::{Ref, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, QualName, local_name, ns, parse_document, parse_fragment};

/// The context in which markup is parsed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Context {
    Document,
    Inside(&'static str),
}

/// The contexts in which the tests parse: as a document, and inside elements that change how a parser reads.
pub(super) const CONTEXTS: [Context; 5] =
    [Context::Document, Context::Inside("div"), Context::Inside("body"), Context::Inside("p"), Context::Inside("td")];

pub(super) enum Node {
    Root,
    Element { name: QualName, attributes: Vec<(String, String)> },
    Text(String),
    Comment,
    Instruction,
}

/// A parsed document. Node 0 is its root.
#[derive(Default)]
pub(super) struct Tree {
    names: RefCell<Vec<QualName>>,
    nodes: RefCell<Vec<Node>>,
    parents: RefCell<Vec<Option<usize>>>,
    children: RefCell<Vec<Vec<usize>>>,
}

pub(super) fn parse(html: &str, context: Context, scripting_enabled: bool) -> Tree {
    let tree_builder = TreeBuilderOpts { scripting_enabled, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let tree = Tree::default();
    tree.add(Node::Root, QualName::new(None, ns!(), local_name!("")));
    match context {
        Context::Document => parse_document(tree, options).one(html),
        Context::Inside(name) => {
            let element = QualName::new(None, ns!(html), name.into());
            parse_fragment(tree, options, element, Vec::new(), scripting_enabled).one(html)
        }
    }
}

impl Tree {
    /// Visits every node that the parser created except the root, including those that it moved or dropped.
    pub(super) fn each(&self, mut look: impl FnMut(usize, &Node)) {
        for (id, node) in self.nodes.borrow().iter().enumerate().skip(1) {
            look(id, node);
        }
    }

    pub(super) fn has_children(&self, id: usize) -> bool {
        !self.children.borrow()[id].is_empty()
    }

    /// Returns the text of the document without the text of the named elements, with runs of white space collapsed.
    pub(super) fn text(&self, without: &[&str]) -> String {
        let mut out = String::new();
        self.append_text(0, without, &mut out);
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn append_text(&self, id: usize, without: &[&str], out: &mut String) {
        match &self.nodes.borrow()[id] {
            Node::Text(text) => out.push_str(text),
            Node::Element { name, .. } if without.contains(&&*name.local) => return,
            _ => {}
        }
        for child in &self.children.borrow()[id] {
            self.append_text(*child, without, out);
        }
    }

    fn add(&self, node: Node, name: QualName) -> usize {
        self.nodes.borrow_mut().push(node);
        self.names.borrow_mut().push(name);
        self.parents.borrow_mut().push(None);
        self.children.borrow_mut().push(Vec::new());
        self.nodes.borrow().len() - 1
    }

    fn add_nameless(&self, node: Node) -> usize {
        self.add(node, QualName::new(None, ns!(), local_name!("")))
    }

    /// Inserts a child at a position among the children; text is joined to the text before it.
    fn insert(&self, parent: usize, position: usize, child: NodeOrText<usize>) {
        let child = match child {
            NodeOrText::AppendNode(child) => {
                self.detach(child);
                child
            }
            NodeOrText::AppendText(text) => {
                let before = position.checked_sub(1).map(|before| self.children.borrow()[parent][before]);
                if let Some(before) = before
                    && let Node::Text(all) = &mut self.nodes.borrow_mut()[before]
                {
                    all.push_str(&text);
                    return;
                }
                self.add_nameless(Node::Text(text.to_string()))
            }
        };
        self.parents.borrow_mut()[child] = Some(parent);
        let siblings = &mut self.children.borrow_mut()[parent];
        siblings.insert(position.min(siblings.len()), child);
    }

    fn detach(&self, child: usize) {
        if let Some(parent) = self.parents.borrow_mut()[child].take() {
            self.children.borrow_mut()[parent].retain(|other| *other != child);
        }
    }
}

impl TreeSink for Tree {
    type Handle = usize;
    type Output = Tree;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Tree {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> usize {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a usize) -> Ref<'a, QualName> {
        Ref::map(self.names.borrow(), |names| &names[*target])
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> usize {
        let pairs = attributes.iter().map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()));
        self.add(Node::Element { name: name.clone(), attributes: pairs.collect() }, name)
    }

    fn create_comment(&self, _: StrTendril) -> usize {
        self.add_nameless(Node::Comment)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> usize {
        self.add_nameless(Node::Instruction)
    }

    fn append(&self, parent: &usize, child: NodeOrText<usize>) {
        let end = self.children.borrow()[*parent].len();
        self.insert(*parent, end, child);
    }

    fn append_based_on_parent_node(&self, element: &usize, previous: &usize, child: NodeOrText<usize>) {
        let has_parent = self.parents.borrow()[*element].is_some();
        if has_parent { self.append_before_sibling(element, child) } else { self.append(previous, child) }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// Returns the template itself, so that its content is visited too.
    fn get_template_contents(&self, target: &usize) -> usize {
        *target
    }

    fn same_node(&self, one: &usize, other: &usize) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &usize, child: NodeOrText<usize>) {
        if let NodeOrText::AppendNode(child) = &child {
            self.detach(*child);
        }
        let Some(parent) = self.parents.borrow()[*sibling] else { return };
        let position = self.children.borrow()[parent].iter().position(|other| other == sibling).unwrap();
        self.insert(parent, position, child);
    }

    fn add_attrs_if_missing(&self, target: &usize, added: Vec<Attribute>) {
        if let Node::Element { attributes, .. } = &mut self.nodes.borrow_mut()[*target] {
            for attribute in added {
                let name = attribute.name.local.to_string();
                if attributes.iter().all(|(other, _)| *other != name) {
                    attributes.push((name, attribute.value.to_string()));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &usize) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &usize, new_parent: &usize) {
        let moved = std::mem::take(&mut self.children.borrow_mut()[*node]);
        for child in &moved {
            self.parents.borrow_mut()[*child] = Some(*new_parent);
        }
        self.children.borrow_mut()[*new_parent].extend(moved);
    }
}
