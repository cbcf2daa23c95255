#!/usr/bin/env python3
"""Turns the content of a Directus 11 server into files for Bindery. Needs Python 3.9 or newer, and files.py beside it.

Reads the API of Directus with a token of an administrator (your user's page, "Token", "Generate"). Writes two files for each
collection into a folder: `articles.json` is a blueprint, `articles.ndjson` has its items.

    DIRECTUS_TOKEN=… python3 directus.py https://cms.example.com out/ categories tags

The names behind the folder are the collections without a field `status` that everybody may read. Items of the others become
drafts, unless their `status` is `published`.

It prints the commands to run next, and on standard error what it left out or changed, and how often. Run it again later, and
the same commands update what they imported before: the keys are the primary keys of Directus. It only reads from Directus.
"""
import functools
import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

from files import NO_DATE, Blueprint, noted, write

TYPES = {"string": "text", "text": "text", "uuid": "text", "time": "text", "integer": "number", "bigInteger": "number",
         "float": "number", "decimal": "number", "boolean": "boolean", "date": "date", "dateTime": "datetime",
         "timestamp": "datetime", "csv": "multi-enum", "json": "text", "geometry": "text"}
LISTS = ("tags", "select-multiple-dropdown", "select-multiple-checkbox", "select-multiple-checkbox-tree")
PUBLISHED = ("published_at", "published_on", "publish_date", "publish_on", "date_published")
server, public = "", set()  # its address, and the collections without a status that everybody may read
fields, relations, rows = {}, {}, {}  # by collection: its fields, its relations, its items by their primary keys


def get(path, **query):
    address = f"{server}{path}?{urllib.parse.urlencode(query)}"
    headers = {"Authorization": "Bearer " + os.environ.get("DIRECTUS_TOKEN", "")}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        sys.exit(f"{address} answered {error.code} {error.reason}: {error.read(500).decode(errors='replace')}")
    except (OSError, ValueError) as error:
        sys.exit(f"{address} cannot be read: {error}")


def get_all(path, primary):
    """The items of a collection by their keys. Asks until a page is empty, since a server may send fewer than asked for."""
    items, offset = {}, 0
    while page := get(path, limit=100, offset=offset, sort=primary):
        items.update((item[primary], item) for item in page)
        offset += len(page)
    return items


def read():
    """Reads everything, and returns the collections by their names."""
    if not get("/policies/me/globals").get("admin_access"):
        sys.exit("the token is not one of an administrator: what it cannot read would be missing")
    collections = {it["collection"]: it for it in get("/collections") if it["schema"]}
    for field in get("/fields"):
        fields.setdefault(field["collection"], {})[field["field"]] = field
    for relation in get("/relations"):
        relations.setdefault(relation["collection"], {})[relation["field"]] = relation
    for name, collection in collections.items():
        if name in ("directus_users", "directus_files"):
            rows[name] = get_all("/" + name.removeprefix("directus_"), "id")
        elif name.startswith("directus_"):
            continue
        elif (collection["meta"] or {}).get("singleton"):
            item = get(f"/items/{name}")
            rows[name] = {item[key_of(name)]: item} if item.get(key_of(name)) is not None else {}
        else:
            rows[name] = get_all(f"/items/{name}", key_of(name))
    return collections


def key_of(collection):
    keys = [name for name, field in fields[collection].items() if (field["schema"] or {}).get("is_primary_key")]
    return keys[0]


def key(collection, value):
    """The key of an item in Bindery, which must not look like an id of Bindery: those are UUIDs, too."""
    return None if value is None else f"{collection}/{value}"


def slug_of(collection):
    return re.sub("[^a-z0-9_-]", "_", re.sub("^(?=[^a-z])", "x", collection.lower()))


def special(field):
    return set((field["meta"] or {}).get("special") or ())


@functools.cache
def junction(collection, name):
    """What holds a field that is a list: a collection, its field that names the item, and the one that names the other side."""
    for relation in (relation for of in relations.values() for relation in of.values() if relation["meta"]):
        if (relation["meta"]["one_collection"], relation["meta"]["one_field"]) == (collection, name):
            return relation["collection"], relation["field"], relation["meta"]["junction_field"], relation["meta"]["sort_field"]
    return None


@functools.cache
def joined(collection, name):
    """The rows of a junction by the key of the item that they belong to, in their order."""
    through, own, _, sort = junction(collection, name)
    found = {}
    for row in sorted(rows[through].values(), key=lambda row: (row.get(sort) is None, row.get(sort) or 0)):
        found.setdefault(row[own], []).append(row)
    return found


def put(into, attributes, collection, field, value, label=None):
    """Sets the attribute of a field that is a column of its table."""
    name, kind, interface = field["field"], field["type"], (field["meta"] or {}).get("interface") or ""
    label, to = label or name, (relations.get(collection, {}).get(name) or {}).get("related_collection")
    if to in rows:
        into.put(attributes, label, "reference", key(to, value), blueprint=slug_of(to))
    elif kind not in TYPES or to or "hash" in special(field) or "conceal" in special(field):
        noted[f"{collection}: `{name}` dropped, of the type `{to or kind}`"] += value is not None
    elif interface == "input-rich-text-html":
        into.put(attributes, label, "rich-text", value)
    elif interface == "select-dropdown" and kind == "string":
        into.put(attributes, label, "enum", value or None)
    elif kind == "csv" or kind == "json" and interface in LISTS:
        parts = [str(part) for part in value or [] if part not in (None, "")]
        into.put(attributes, label, "multi-enum", list(dict.fromkeys(parts)))
    elif interface == "select-color" and kind == "string":
        into.put(attributes, label, "color", value or None)
    elif kind in ("json", "geometry"):
        into.put(attributes, label, "text", None if value is None else json.dumps(value, ensure_ascii=False))
    elif TYPES[kind] == "number":
        into.put(attributes, label, "number", float(value) if isinstance(value, str) else value)
    else:
        if value and interface == "input-rich-text-md":
            noted[f"{collection}: `{name}` is Markdown and stays as it is, as text"] += 1
        into.put(attributes, label, TYPES[kind], value)


def put_list(into, attributes, collection, name, item_key, kind):
    """Sets the attribute of a field whose values are in a junction."""
    through, own, other, sort = junction(collection, name)
    found, used = joined(collection, name).get(item_key, []), {key_of(through), own, other, sort}
    to = relations[through].get(other, {}).get("related_collection")
    if kind == "m2a":
        of = relations[through][other]["meta"]["one_collection_field"]
        used.add(of)
        blocks = [{"collection": row[of], **block(row[of], row[other])} for row in found if block(row[of], row[other])]
        noted[f"{collection}: blocks of `{name}` dropped, which are missing or not published"] += len(found) - len(blocks)
        into.put(attributes, name, "html-page", {"blocks": blocks} if blocks else None)
    elif to in rows:
        named = dict.fromkeys(key(to, row[other]) for row in found if row[other] is not None)
        into.put(attributes, name, "references", list(named), blueprint=slug_of(to))
    else:
        noted[f"{collection}: `{name}` dropped, a relation to `{to}`"] += len(found)
    for column in fields[through].keys() - used:
        noted[f"{through}: `{column}` dropped, which says more about a relation"] += sum(bool(row.get(column)) for row in found)


@functools.cache
def block(collection, item_key):
    """A block holds what the item that it names has. The name is text in the database, also if the key is a number."""
    item = next((item for own, item in rows[collection].items() if str(own) == str(item_key)), {})
    is_open = item.get("status", "published") == "published"
    return {name: value for name, value in item.items() if is_open and "hash" not in special(fields[collection][name])}


def variant(code):
    return str(code).replace("_", "-")


def lists_of(collection):
    """The fields that are lists of other items, and what kind of list."""
    kinds = {name: special(field) & {"m2m", "files", "m2a", "translations"} for name, field in fields[collection].items()}
    return {name: kind.pop() for name, kind in kinds.items() if kind and junction(collection, name)}


def add_collection(collection, meta, default):
    lists, columns = lists_of(collection), [field for field in fields[collection].values() if field["type"] != "alias"]
    translations = next((name for name, kind in lists.items() if kind == "translations"), None)
    languages = languages_of(collection, translations, default) if translations else []
    settings = {"kind": "singular_resource"} if meta["singleton"] else {"scheduled": True}
    into = Blueprint(slug_of(collection), variants=languages, **settings)
    dated = {mark: field["field"] for field in columns for mark in special(field) & {"date-created", "date-updated"}}
    for item_key, item in [(None, {}), *rows[collection].items()]:  # The first one is only for the fields.
        attributes = {}
        for field in columns:
            if field["field"] not in (key_of(collection), *dated.values()):
                put(into, attributes, collection, field, item.get(field["field"]))
        into.put(attributes, "Directus key", "text", str(item_key))  # Not first: the first field is the title.
        for name in lists:
            if name != translations:
                put_list(into, attributes, collection, name, item_key, lists[name])
        values = {"attributes": attributes}
        if languages:
            values = {"variants": translated(into, collection, translations, item_key, attributes, languages)}
        if item_key is not None:
            status = item.get("status", "published" if collection in public else "none")
            noted[f"{collection}: with the status `{status}`, written as drafts"] += status != "published"
            created, updated = item.get(dated.get("date-created")), item.get(dated.get("date-updated"))
            published = next(filter(None, map(item.get, PUBLISHED)), created or NO_DATE)
            into.add(key(collection, item_key), values, published if status == "published" else None,
                     created_at=created, updated_at=updated or created)


def languages_of(collection, name, default):
    through, _, other, _ = junction(collection, name)
    codes = list(rows[relations[through][other]["related_collection"]])
    chosen = default if default in codes else next(iter(codes), None)
    return [{"name": str(code), "slug": variant(code), "default": code == chosen} for code in codes]


def translated(into, collection, name, item_key, attributes, languages):
    """A copy for each language. Fields without translations have one value in all of them."""
    through, own, other, _ = junction(collection, name)
    known = rows[relations[through][other]["related_collection"]]
    copies = {language["slug"]: dict(attributes) for language in languages if language["default"]}
    for row in [{}] if item_key is None else joined(collection, name).get(item_key, []):
        if row and row[other] not in known:
            noted[f"{through}: translations dropped without a language that exists"] += 1
            continue
        copy = copies.setdefault(variant(row.get(other)), dict(attributes))
        for column, field in fields[through].items():
            if field["type"] != "alias" and column not in (key_of(through), own, other):
                put(into, copy, through, field, row.get(column), f"{name} {column}" if column in fields[collection] else column)
    return copies


def used(system):
    """The keys of the users or files that items name. A site could show all others, which may be private."""
    holders = [(of, name) for of in rows for name, it in relations.get(of, {}).items() if it["related_collection"] == system]
    keys = {row[name] for of, name in holders if not of.startswith("directus_") for row in rows[of].values()}
    noted[f"{system}: dropped, since no item names them"] += len(rows[system].keys() - keys)
    return [(None, {}), *((item_key, item) for item_key, item in rows[system].items() if item_key in keys)]


def add_users():
    """Only their names, for the same reason."""
    into = Blueprint("directus_users")
    for item_key, item in used(into.slug):
        attributes = {}
        into.put(attributes, "Name", "text", " ".join(filter(None, (item.get("first_name"), item.get("last_name")))))
        into.put(attributes, "Directus key", "text", item_key)
        if item_key:
            into.add(key(into.slug, item_key), {"attributes": attributes}, NO_DATE)


def add_files():
    into = Blueprint("directus_files")
    for item_key, item in used(into.slug):
        attributes = {}
        for name in ("title", "description", "filename_download", "type", "width", "height"):
            into.put(attributes, name, "number" if name in ("width", "height") else "text", item.get(name))
        into.put(attributes, "address", "file", f"{server}/assets/{item_key}")
        into.put(attributes, "Directus key", "text", item_key)
        if item_key:
            dates = {"published_at": item["uploaded_on"] or NO_DATE, "created_at": item["created_on"]}
            into.add(key(into.slug, item_key), {"attributes": attributes}, **dates)


def main(folder):
    collections, default = read(), get("/settings", fields="default_language")["default_language"]
    own = [name for name in rows if not name.startswith("directus_")]
    if unknown := public.difference(own):
        sys.exit(f"there is no collection {', '.join(sorted(unknown))}; there are {', '.join(own)}")
    through = {junction(name, field)[0] for name in own for field in lists_of(name)}
    add_users()
    add_files()
    for name in own:
        if name not in through:
            add_collection(name, collections[name]["meta"] or {"singleton": False}, default)
    noted["content versions: dropped"] += len(get_all("/versions", "id"))
    write(folder)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    server, public = sys.argv[1].rstrip("/"), set(sys.argv[3:])
    main(pathlib.Path(sys.argv[2]))
