//! A tree that keeps only the cost: it answers the tree builder, and counts the cost that the same calls would have in
//! ammonia's tree.
//!
//! One step is a look at an element. Ammonia's tree searches for a child from the first child on when it removes the
//! child or inserts another before it. It touches all children when they get another parent. So this tree counts the
//! children.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName, local_name, ns};

/// The number of steps for making a node.
const NODE: u64 = 8;
/// The number of neighbours that are compared in one step.
const NEIGHBOURS: u64 = 8;

/// The number of a node. 0 is the document, 1 the context element.
pub(super) type Node = usize;

#[derive(Default)]
pub(super) struct Meter {
    /// The elements. Empty until the first element is made; then the document is there, too.
    elements: RefCell<Vec<Element>>,
    /// The names of the elements. They are in a separate list because the tree builder borrows a name while it works.
    names: RefCell<Vec<QualName>>,
    lists: RefCell<Vec<List>>,
    element_count: Cell<usize>,
    node_count: Cell<usize>,
    steps: Cell<u64>,
    /// The bytes that the serializer looks at again because of characters that it escapes.
    scanned: Cell<u64>,
    /// The nodes that were traced, whose marks must be removed.
    traced: RefCell<Vec<Node>>,
}

struct Element {
    attributes: u64,
    /// The list that contains this node.
    parent: Option<usize>,
    /// The list of its children.
    children: usize,
    /// The contents of a template.
    contents: Option<Node>,
    is_integration_point: bool,
    is_traced: bool,
}

/// A list of children, which moves as a whole to another parent.
#[derive(Default)]
struct List {
    /// An upper bound of the number of children.
    length: u64,
    /// True if appended text is joined to the text at the end.
    ends_with_text: bool,
    /// The node before which inserted text is joined to the text that is already there.
    text_before: Option<Node>,
    /// The text at the end, and the one before that node.
    at_end: Scan,
    before_node: Scan,
}

/// The escaped characters of a text since its last `<` or `>`. For each of them, the serializer looks for the next one
/// of these first, so it looks at the text in between once for each.
#[derive(Default)]
struct Scan(u64);

impl Scan {
    /// Returns the bytes that are looked at again because of more text.
    fn add(&mut self, text: &str) -> u64 {
        let escaped = |byte| {
            match byte {
                b'<' | b'>' => self.0 = 0,
                // The second is the first byte of a no-break space, and of other characters.
                b'&' | 0xC2 => self.0 += 1,
                _ => {}
            }
            self.0
        };
        text.bytes().map(escaped).sum()
    }
}

impl Meter {
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(super) fn charge(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    pub(super) fn scanned(&self) -> u64 {
        self.scanned.get()
    }

    /// Counts the cost of writing the value of an attribute.
    pub(super) fn charge_value(&self, value: &str) {
        self.note_scanned(Scan::default().add(value));
    }

    fn note_scanned(&self, bytes: u64) {
        self.scanned.set(self.scanned.get().saturating_add(bytes));
    }

    /// Returns the numbers of nodes and of elements among them.
    pub(super) fn nodes(&self) -> usize {
        self.node_count.get()
    }

    pub(super) fn elements(&self) -> usize {
        self.element_count.get()
    }

    /// Marks a node. Returns whether it is an element inside the context that had no mark.
    pub(super) fn trace(&self, node: Node) -> bool {
        let was_traced = std::mem::replace(&mut self.elements.borrow_mut()[node].is_traced, true);
        if !was_traced {
            self.traced.borrow_mut().push(node);
        }
        node > 1 && !was_traced
    }

    pub(super) fn forget_traces(&self) {
        for node in self.traced.borrow_mut().drain(..) {
            self.elements.borrow_mut()[node].is_traced = false;
        }
    }

    pub(super) fn with_name(&self, node: Node, look: impl FnOnce(&QualName)) {
        look(&self.names.borrow()[node]);
    }

    fn nameless() -> QualName {
        QualName::new(None, ns!(), local_name!(""))
    }

    fn add(&self, name: QualName, attributes: u64, flags: ElementFlags) -> Node {
        let contents = flags.template.then(|| self.add(Meter::nameless(), 0, ElementFlags::default()));
        let mut lists = self.lists.borrow_mut();
        let mut elements = self.elements.borrow_mut();
        lists.push(List::default());
        self.names.borrow_mut().push(name);
        elements.push(Element {
            attributes,
            parent: None,
            children: lists.len() - 1,
            contents,
            is_integration_point: flags.mathml_annotation_xml_integration_point,
            is_traced: false,
        });
        elements.len() - 1
    }

    fn count_node(&self, attributes: u64) {
        self.node_count.set(self.node_count.get() + 1);
        self.charge(NODE + attributes);
    }

    fn ensure_document(&self) {
        if self.elements.borrow().is_empty() {
            self.add(Meter::nameless(), 0, ElementFlags::default());
        }
    }

    /// Counts the steps for finding a child in a list.
    fn charge_search(&self, list: usize) {
        self.charge(1 + self.lists.borrow()[list].length / NEIGHBOURS);
    }

    fn detach(&self, node: Node) {
        let Some(list) = self.elements.borrow_mut()[node].parent.take() else { return };
        self.charge_search(list);
        let list = &mut self.lists.borrow_mut()[list];
        *list = List { length: list.length.saturating_sub(1), ..List::default() };
    }
}

impl TreeSink for Meter {
    type Handle = Node;
    type Output = ();
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        self.ensure_document();
        0
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> Ref<'a, QualName> {
        self.charge(1);
        Ref::map(self.names.borrow(), |names| &names[*target])
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Node {
        self.ensure_document();
        self.element_count.set(self.element_count.get() + 1);
        self.count_node(attributes.len() as u64);
        self.add(name, attributes.len() as u64, flags)
    }

    fn create_comment(&self, _: StrTendril) -> Node {
        self.count_node(0);
        self.add(Meter::nameless(), 0, ElementFlags::default())
    }

    fn create_pi(&self, _: StrTendril, data: StrTendril) -> Node {
        self.create_comment(data)
    }

    fn append(&self, parent: &Node, child: NodeOrText<Node>) {
        self.charge(1);
        let list = self.elements.borrow()[*parent].children;
        let is_text = match child {
            NodeOrText::AppendNode(child) => {
                self.elements.borrow_mut()[child].parent = Some(list);
                false
            }
            NodeOrText::AppendText(text) => {
                let list = &mut self.lists.borrow_mut()[list];
                if list.ends_with_text {
                    return self.note_scanned(list.at_end.add(&text));
                }
                list.at_end = Scan::default();
                self.note_scanned(list.at_end.add(&text));
                self.count_node(0);
                true
            }
        };
        let list = &mut self.lists.borrow_mut()[list];
        list.length += 1;
        list.ends_with_text = is_text;
    }

    fn append_before_sibling(&self, sibling: &Node, child: NodeOrText<Node>) {
        let Some(list) = self.elements.borrow()[*sibling].parent else { return };
        self.charge_search(list);
        let is_text = match child {
            NodeOrText::AppendNode(child) => {
                self.detach(child);
                self.elements.borrow_mut()[child].parent = Some(list);
                false
            }
            NodeOrText::AppendText(text) => {
                let list = &mut self.lists.borrow_mut()[list];
                if list.text_before == Some(*sibling) {
                    return self.note_scanned(list.before_node.add(&text));
                }
                list.before_node = Scan::default();
                self.note_scanned(list.before_node.add(&text));
                self.count_node(0);
                true
            }
        };
        let list = &mut self.lists.borrow_mut()[list];
        list.length += 1;
        list.text_before = is_text.then_some(*sibling);
    }

    fn append_based_on_parent_node(&self, element: &Node, previous: &Node, child: NodeOrText<Node>) {
        let has_parent = self.elements.borrow()[*element].parent.is_some();
        if has_parent { self.append_before_sibling(element, child) } else { self.append(previous, child) }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {
        self.count_node(0);
    }

    fn get_template_contents(&self, target: &Node) -> Node {
        self.charge(1);
        self.elements.borrow()[*target].contents.unwrap_or(*target)
    }

    fn same_node(&self, one: &Node, other: &Node) -> bool {
        self.charge(1);
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn add_attrs_if_missing(&self, target: &Node, attributes: Vec<Attribute>) {
        let element = &mut self.elements.borrow_mut()[*target];
        element.attributes += attributes.len() as u64;
        self.charge(element.attributes);
    }

    fn remove_from_parent(&self, target: &Node) {
        self.detach(*target);
    }

    /// Moves the children. The new parent has no children, because the tree builder has just made it.
    fn reparent_children(&self, node: &Node, new_parent: &Node) {
        let mut elements = self.elements.borrow_mut();
        let (from, to) = (elements[*node].children, elements[*new_parent].children);
        self.charge(1 + self.lists.borrow()[from].length);
        (elements[*node].children, elements[*new_parent].children) = (to, from);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Node) -> bool {
        self.elements.borrow()[*target].is_integration_point
    }
}
