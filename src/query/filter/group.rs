//! Groups: the parameters `filter[…]` of a request as a tree (`API.md` 4.6.13). Must not know what a field is.

use std::collections::BTreeMap;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::Error;
use bindery_model::sent::quote;

use super::super::message::quoted_list;
use super::super::name;
use super::super::nearest::with_nearest;
use super::condition::invalid;

/// The greatest depth of nested groups.
const MAX_LEVELS: usize = 4;
/// The most relations that a condition may follow.
pub(super) const MAX_RELATIONS: usize = 2;
/// The greatest number of a group.
const MAX_NUMBER: u8 = 99;

/// Filters in one group: all of them must hold.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    pub(super) filters: Vec<RawFilter<'a>>,
    /// The groups in `$or`, by number.
    pub(super) any: BTreeMap<u8, Group<'a>>,
    /// The groups in `$and`, by number.
    pub(super) all: BTreeMap<u8, Group<'a>>,
    /// The group in `$not`.
    pub(super) not: Option<Box<Group<'a>>>,
    /// The groups in `$some`, by relation: the conditions that one related resource must meet.
    pub(super) some: BTreeMap<&'a str, Group<'a>>,
}

/// One filter as it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawFilter<'a> {
    /// The text between `filter[` and the operator, for messages: `price`, or `$or][0][price` in a group.
    pub(super) label: &'a str,
    pub(super) field: &'a str,
    pub(super) operator: &'a str,
    pub(super) value: &'a str,
}

impl<'a> Group<'a> {
    /// Adds a filter to the group that its parameter names. `blueprint` is for messages.
    ///
    /// # Errors
    /// `INVALID_FILTER` if the parameter is malformed, or nested too deep.
    pub(super) fn add(&mut self, parameter: &'a str, value: &'a str, blueprint: &Blueprint) -> Result<(), Error> {
        let fields = || format!("Filterable fields: {}", quoted_list(name::filterable(blueprint)));
        let malformed = || {
            let form = "write `filter[<field>]=…` or `filter[<field>][<operator>]=…`";
            invalid(format!("{} is not a valid filter; {form}. {}", quote(parameter), fields()))
        };
        let wrong = |problem: String| invalid(format!("{} is not a valid filter: {problem}", quote(parameter)));
        // The key may have been meant as a field, as in `filter[$price]=5`. Behind `$some`, the fields are those of another
        // blueprint.
        let unknown = |key: &str, relations: usize| match relations {
            0 => wrong(format!("{}. {}", unknown_group(key), fields())),
            _ => wrong(unknown_group(key)),
        };
        let inside = parameter.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']')).ok_or_else(malformed)?;
        let keys: Vec<&str> = inside.split("][").collect();
        if keys.iter().any(|key| key.contains(['[', ']'])) {
            return Err(malformed());
        }
        let (mut group, mut rest) = (self, &keys[..]);
        let (mut levels, mut relations) = (0, 0);
        loop {
            (group, rest) = match rest {
                [key @ ("$or" | "$and"), after @ ..] => {
                    let number = after.first().copied().unwrap_or_default();
                    let number = group_number(number).ok_or_else(|| {
                        wrong(format!(
                            "`{key}` is followed by a number from 0 to {MAX_NUMBER}, as in `filter[{key}][0][<field>]`"
                        ))
                    })?;
                    let groups = if *key == "$or" { &mut group.any } else { &mut group.all };
                    levels += 1;
                    (groups.entry(number).or_default(), &after[1..])
                }
                ["$not", after @ ..] => {
                    if after.len() > 1 && group_number(after[0]).is_some() {
                        return Err(wrong("`$not` takes no numbers; write `filter[$not][<field>]`".to_owned()));
                    }
                    levels += 1;
                    (&mut **group.not.get_or_insert_default(), after)
                }
                [relation, "$some", after @ ..] => {
                    relations += 1;
                    (group.some.entry(relation).or_default(), after)
                }
                [] => return Err(wrong("a field is missing at its end".to_owned())),
                ["$some", ..] => {
                    return Err(wrong(
                        "`$some` follows a relation, as in `filter[<relation>][$some][<field>]`".to_owned(),
                    ));
                }
                [key, ..] if key.starts_with('$') => return Err(unknown(key, relations)),
                [_, key, _, ..] if key.starts_with('$') => return Err(unknown(key, relations)),
                [field] => {
                    group.filters.push(RawFilter { label: inside, field, operator: "eq", value });
                    return Ok(());
                }
                [field, operator] => {
                    let label = &inside[..inside.len() - operator.len() - "][".len()];
                    group.filters.push(RawFilter { label, field, operator, value });
                    return Ok(());
                }
                _ => return Err(malformed()),
            };
            if levels > MAX_LEVELS {
                return Err(wrong(format!("groups may be nested to {MAX_LEVELS} levels")));
            }
            if relations > MAX_RELATIONS {
                return Err(wrong(format!(
                    "it goes through {relations} relations; at most {MAX_RELATIONS} are possible"
                )));
            }
        }
    }
}

/// Returns the number of a group, in digits only and without zeros in front.
fn group_number(key: &str) -> Option<u8> {
    let is_plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key.len() == 1 || !key.starts_with('0'));
    key.parse().ok().filter(|number| is_plain && *number <= MAX_NUMBER)
}

fn unknown_group(key: &str) -> String {
    let problem = with_nearest(&format!("there is no group {}", quote(key)), key, ["$or", "$and", "$not", "$some"]);
    format!("{problem} Groups are `$or` and `$and` with a number, `$not`, and `$some` after a relation")
}
