//! The context in which the items of one write are decided. The rules are in the files beside this one.

use std::collections::{HashMap, HashSet};

use bindery_access::Access;
use bindery_model::blueprint::Blueprint;
use bindery_model::id::ResourceId;
use bindery_model::value;
use bindery_sanitize::Sanitizer;
use bindery_store::Key;

use crate::command::{MissingTargets, Write};
use crate::data::blueprint_change::BlueprintChange;
use crate::data::index_mapping::Columns;
use crate::data::records::Meta;
use crate::data::state::{Collection, State};
use crate::data::waiting_names::WaitingNames;
use crate::write::overlay::Overlay;

/// The context in which commands are decided, beside the overlay that they write to.
pub(crate) struct Context<'a> {
    /// The blueprints that relations go to, and the members that `user` fields may name.
    pub(crate) state: &'a State,
    /// For values that a changed blueprint would read as another type.
    pub(crate) sanitizer: &'a Sanitizer,
}

/// Decides the items of one write.
pub(super) struct Decider<'a, 'b> {
    pub(super) context: &'a Context<'a>,
    pub(super) blueprint: &'a Blueprint,
    /// The change of the blueprint that is under way.
    pub(super) change: Option<&'a BlueprintChange>,
    /// The author of the write: errors name only resources that it may see.
    pub(super) access: &'a Access,
    pub(super) overlay: &'a mut Overlay<'b>,
    /// The treatment of imported items that relate to resources that do not exist.
    pub(super) missing_targets: &'a MissingTargets,
    /// The names of the resources of items of this write that wait for a later line.
    pub(super) waiting: HashSet<String>,
    /// The names of the resources of items of earlier writes of the import that wait. None of the sets is empty.
    pub(super) waiting_before: Vec<&'a WaitingNames>,
    /// Ids and keys that items of this write will bring.
    pub(super) promised: HashMap<String, Promise>,
    /// The changes of other resources by the deletions of this write.
    pub(super) released: ReleaseTotals,
    /// True once an item was refused because the items of this write have written enough of stored values.
    pub(super) has_rewritten_enough: bool,
}

/// The changes of resources that referred to deleted ones.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReleaseTotals {
    /// The number of resources that were changed, or read to find out whether they must be. A resource that two
    /// deletions change counts twice.
    pub(super) count: u64,
    /// The bytes of attributes that were written.
    pub(super) bytes: usize,
}

/// A resource that items of this write will bring.
pub(super) struct Promise {
    /// Its id.
    pub(super) id: ResourceId,
    /// The number of items that bring it.
    pub(super) n_items: usize,
}

/// The names in the fields of a resource before an item, in any variant: targets and members as texts, by the field's
/// position.
pub(super) type HeldNames = HashMap<usize, HashSet<String>>;

/// The slugs of the fields whose values the writer has sent; `None` for all that are written.
pub(super) type SentFields = Option<HashSet<String>>;

/// A resource before and after an item.
pub(super) struct Edit {
    pub(super) id: ResourceId,
    pub(super) before: Option<Meta>,
    pub(super) after: Meta,
    /// The copies that change.
    pub(super) copies: Vec<WrittenCopy>,
    /// The variants whose working copies become live and go.
    pub(super) published_copies: Vec<u16>,
    /// Keys that go with the item.
    pub(super) removes: Vec<Key>,
    /// Keys that come with the item.
    pub(super) puts: Vec<(Key, Vec<u8>)>,
    /// The names by which it may relate to resources.
    pub(super) relations: value::Relations,
    /// The names in its fields before the item, once they were needed.
    pub(super) held: Option<HeldNames>,
    /// The fields whose errors the writer may know; those of others may quote values that it must not learn.
    pub(super) sent: SentFields,
    /// The source of the date of the last change.
    pub(super) updated: UpdatedAtSource,
    /// Set if the write brings back something from before; its history says so.
    pub(super) restored: Option<RestoredFrom>,
}

/// The origin of values that a write brings back.
pub(super) enum RestoredFrom {
    /// A revision.
    History,
    /// The trash, in which the resource had this meta record.
    Trash(Box<Meta>),
}

/// The source of the date of a resource's last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdatedAtSource {
    /// The server: each change sets it to the current time.
    Server,
    /// The line of an import, even if it gives the old date.
    Given,
}

/// A copy that an item writes.
pub(super) struct WrittenCopy {
    pub(super) variant: u16,
    /// The number of the version.
    pub(super) number: u64,
    /// The `attributes` object as JSON text.
    pub(super) attributes: String,
    pub(super) columns: Columns,
}

/// The requirement of a write for required fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredFieldRule {
    /// They must hold values.
    Values,
    /// They may be empty, as in an import.
    Nothing,
}

/// The result of looking up the relations of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relations {
    /// All of them name resources that exist.
    Resolved,
    /// Some name a resource that a later line of the import may bring.
    Unresolved,
}

impl<'a, 'b> Decider<'a, 'b> {
    pub(super) fn new(context: &'a Context<'a>, write: &'a Write, overlay: &'a mut Overlay<'b>) -> Self {
        let Write { blueprint, missing_targets, access, items: _ } = write;
        let waiting_before = match missing_targets {
            // The earlier writes are decided: a set that is empty stays empty, or gets what another one has.
            MissingTargets::Wait { earlier, .. } => earlier.iter().filter(|names| !names.is_empty()).collect(),
            MissingTargets::Refuse => Vec::new(),
        };
        let collection = context.state.blueprints.get(&blueprint.slug);
        let change = collection.and_then(|collection| collection.change.as_deref());
        Decider { waiting_before, ..Decider::begin(context, blueprint, change, access, overlay, missing_targets) }
    }

    /// Returns the context in which resources of another blueprint are decided, as a consequence of an item.
    pub(super) fn of_blueprint<'c>(&'c mut self, collection: &'c Collection) -> Decider<'c, 'b> {
        let Decider { context, access, missing_targets, .. } = *self;
        let (blueprint, change) = (&*collection.blueprint, collection.change.as_deref());
        Decider::begin(context, blueprint, change, access, self.overlay, missing_targets)
    }

    /// Returns a decider that has decided nothing, and before which no item waits.
    fn begin(
        context: &'a Context<'a>,
        blueprint: &'a Blueprint,
        change: Option<&'a BlueprintChange>,
        access: &'a Access,
        overlay: &'a mut Overlay<'b>,
        missing_targets: &'a MissingTargets,
    ) -> Self {
        Decider {
            context,
            blueprint,
            change,
            access,
            overlay,
            missing_targets,
            waiting: HashSet::new(),
            waiting_before: Vec::new(),
            promised: HashMap::new(),
            released: ReleaseTotals::default(),
            has_rewritten_enough: false,
        }
    }
}

impl Edit {
    /// Creates an edit that so far changes only what `after` says.
    pub(super) fn new(id: ResourceId, before: Option<Meta>, after: Meta) -> Self {
        Edit {
            id,
            before,
            after,
            copies: Vec::new(),
            published_copies: Vec::new(),
            removes: Vec::new(),
            puts: Vec::new(),
            relations: value::Relations::Ids,
            held: None,
            sent: None,
            updated: UpdatedAtSource::Server,
            restored: None,
        }
    }

    /// Returns the meta record that the resource had in the trash, if the write brings it back from there.
    pub(super) fn in_trash(&self) -> Option<&Meta> {
        match &self.restored {
            Some(RestoredFrom::Trash(meta)) => Some(meta),
            _ => None,
        }
    }
}
