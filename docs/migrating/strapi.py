#!/usr/bin/env python3
"""Turns an export of Strapi 5 into files for Bindery. Needs Python 3.9 or newer, and files.py beside it.

Reads what `npx strapi export --no-encrypt --no-compress -f site` writes. Writes two files for each content type into a folder:
`articles.json` is a blueprint, `articles.ndjson` has its items. The last argument is the address that the files of the media
library begin with, as seen by the readers of your site.

    python3 strapi.py site.tar out/ https://cms.example.com

It prints the commands to run next, and on standard error what it left out or changed, and how often. Run it again with a newer
export, and the same commands update what they imported before: the keys are Strapi's document ids.
"""
import collections
import html
import json
import pathlib
import sys
import tarfile

from files import Blueprint, noted, write

TYPES = {"string": "text", "text": "text", "richtext": "text", "time": "text", "json": "text", "blocks": "rich-text",
         "uid": "slug", "email": "email", "date": "date", "datetime": "datetime", "timestamp": "datetime", "boolean": "boolean",
         "integer": "number", "biginteger": "number", "float": "number", "decimal": "number", "enumeration": "enum"}
OWN = {"createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy", "locale", "localizations"}
FILE, LOCALE = "plugin::upload.file", "plugin::i18n.locale"
schemas, rows, links = {}, collections.defaultdict(list), collections.defaultdict(list)
documents, files, site = {}, {}, ""  # (type, row) -> document id; row -> file; what addresses of files begin with


def lines_of(path):
    """The lines of the export, each with the folder that it is in."""
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if member.name.endswith(".jsonl"):
                    for line in tar.extractfile(member).read().splitlines():
                        yield member.name.split("/")[0], json.loads(line)
    except tarfile.ReadError:
        sys.exit(f"{path} is no tar file; if its name ends with `.enc`, export with `--no-encrypt`")


def read(path):
    """Fills the tables above, and returns the code of the default language."""
    default = "en"
    for folder, line in lines_of(path):
        if folder == "schemas":
            schemas[line["uid"]] = line
        elif folder == "entities":
            rows[line["type"]].append((line["id"], line["data"]))
            documents[line["type"], line["id"]] = line["data"]["documentId"]
        elif folder == "links":
            add_link(line["left"], line["right"])
        elif line.get("type") == "core-store" and line["value"]["key"] == "plugin_i18n_default_locale":
            default = line["value"]["value"]
    return default


def add_link(left, right):
    """Notes a relation at the side that holds it: the left one, but files are on the left of what shows them."""
    holder, held = (right, left) if left["type"] == FILE and "field" in right else (left, right)
    links[holder["type"], holder["ref"], holder["field"]].append((holder.get("pos") or 0, held["type"], held["ref"]))


def related(uid, ref, name):
    """The documents that a field names, as pairs of a row and a document id."""
    held = [(kind, row) for _, kind, row in sorted(links.get((uid, ref, name), []))]
    return [(row, documents[kind, row]) for kind, row in held if (kind, row) in documents]


def inline(node):
    if node["type"] == "link":
        return f'<a href="{html.escape(node["url"])}">{"".join(map(inline, node["children"]))}</a>'
    made = html.escape(node["text"], quote=False).replace("\n", "<br>")
    for mark, tag in (("code", "code"), ("bold", "strong"), ("italic", "em"), ("underline", "u"), ("strikethrough", "s")):
        made = f"<{tag}>{made}</{tag}>" if node.get(mark) else made
    return made


def block(node):
    """The HTML of a block of Strapi's editor."""
    kind, children = node["type"], node.get("children", [])
    if kind == "image":
        alt = node["image"].get("alternativeText") or ""
        return f'<img src="{html.escape(address(node["image"]))}" alt="{html.escape(alt)}">'
    if kind == "list":
        tag = "ol" if node["format"] == "ordered" else "ul"
        return f"<{tag}>{''.join(map(block, children))}</{tag}>"
    if kind == "code":
        return "<pre><code>" + html.escape("".join(child.get("text", "") for child in children), quote=False) + "</code></pre>"
    tags = {"paragraph": "p", "heading": f"h{node.get('level')}", "quote": "blockquote", "list-item": "li"}
    if kind not in tags:
        noted[f"blocks of the unknown type `{kind}`: only their text is kept"] += 1
    return f"<{tags.get(kind, 'p')}>{''.join(map(inline, children))}</{tags.get(kind, 'p')}>"


def address(file):
    return file["url"] if "://" in file["url"] else site + file["url"]


def convert(kind, value):
    if value is None or value == "" and kind in ("email", "enumeration", "uid"):
        return None
    if kind == "blocks":
        return "\n".join(map(block, value))
    if kind == "biginteger":
        return int(value)
    return json.dumps(value, ensure_ascii=False) if kind == "json" else value


def is_private(uid, name, held, label):
    """Whether Strapi shows an attribute to nobody who asks its API. Notes each one that has a value."""
    of_type = (schemas[uid].get("options") or {}).get("privateAttributes") or []
    private = bool(schemas[uid]["attributes"][name].get("private")) or name in of_type
    noted[f"{label} dropped, since it is private"] += bool(private and held)
    return private


def as_block(uid, data):
    """A component of a list as one object of a page. What it relates to is named by its document id, files by their address."""
    made = {"__component": uid}
    for name, field in schemas[uid]["attributes"].items():
        if is_private(uid, name, data.get(name) is not None or related(uid, data.get("id"), name), f"{uid}: `{name}`"):
            continue
        if field["type"] == "component":
            parts = [as_block(field["component"], part) for part in listed(data.get(name))]
            made[name] = parts if field.get("repeatable") else next(iter(parts), None)
        elif field["type"] == "media":
            made[name] = [address(files[row]) for row, _ in related(uid, data["id"], name)]
        elif field["type"] == "relation":
            made[name] = [document for _, document in related(uid, data["id"], name)]
        elif field["type"] != "password":
            made[name] = convert(field["type"], data.get(name))
    return made


def listed(value):
    return value if isinstance(value, list) else [] if value is None else [value]


def put_all(into, attributes, uid, ref, data, prefix=""):
    """Sets the attributes of an entry, or those of a component that is not repeatable, with its name before them."""
    for name, field in schemas[uid]["attributes"].items():
        kind, label = field["type"], prefix + name
        if name in OWN and not prefix or field.get("mappedBy"):
            continue  # Strapi's own, or the other side of a relation, which the first side holds
        held = data.get(name) is not None or related(uid, ref, name)
        if is_private(uid, name, held, f"{into.slug}: `{label}`"):
            continue
        if kind == "component" and not field.get("repeatable"):
            part = data.get(name) or {}
            put_all(into, attributes, field["component"], part.get("id"), part, label + " ")
        elif kind in ("component", "dynamiczone"):
            parts = [as_block(part.get("__component") or field["component"], part) for part in listed(data.get(name))]
            into.put(attributes, label, "html-page", {"blocks": parts} if parts else None)
        elif kind == "media" or kind == "relation" and slug_of(field.get("target")):
            keys = list(dict.fromkeys(document for _, document in related(uid, ref, name)))
            is_list = field.get("multiple") if kind == "media" else field["relation"].endswith("Many")
            to = "files" if kind == "media" else slug_of(field["target"])
            value = keys if is_list else next(iter(keys), None)
            into.put(attributes, label, "references" if is_list else "reference", value, blueprint=to)
        elif kind in TYPES:
            settings = {"values": field["enum"]} if kind == "enumeration" else {}
            into.put(attributes, label, TYPES[kind], convert(kind, data.get(name)), **settings)
            if kind == "richtext" and data.get(name):
                noted[f"{into.slug}: `{label}` is Markdown and stays as it is, as text"] += 1
        elif held:
            noted[f"{into.slug}: `{label}` dropped, of the type `{kind}`"] += 1


def slug_of(uid):
    info = schemas[uid]["info"] if uid and uid.startswith("api::") else {}
    return info.get("singularName" if info and schemas[uid]["kind"] == "singleType" else "pluralName")


def add_type(uid, locales):
    """Adds the entries of a content type: of a document that is published, the published copies, else its drafts."""
    is_single, plugins = schemas[uid]["kind"] == "singleType", schemas[uid].get("pluginOptions") or {}
    is_localized = plugins.get("i18n", {}).get("localized")
    settings = {"kind": "singular_resource"} if is_single else {}
    into = Blueprint(slug_of(uid), variants=locales if is_localized else [], **settings)
    put_all(into, {}, uid, None, {})  # The blueprint has all fields, also those without values. The first one is its title.
    into.put({}, "documentId", "text", None)
    copies = collections.defaultdict(list)
    for ref, data in rows[uid]:
        copies[data["documentId"]].append((ref, data))
    for key, all_copies in copies.items():
        public = [(ref, data) for ref, data in all_copies if data["publishedAt"]]
        shown = {data["locale"]: data for _, data in public}
        for _, data in all_copies:
            if public and data["locale"] not in shown:
                noted[f"{into.slug}: draft of a language dropped, since other languages are published"] += 1
            elif public and not data["publishedAt"] and data["updatedAt"] != shown[data["locale"]]["updatedAt"]:
                noted[f"{into.slug}: changes dropped that are not published yet"] += 1
        values = {}
        for ref, data in public or all_copies:
            into.put(values.setdefault(data["locale"], {}), "documentId", "text", key)
            put_all(into, values[data["locale"]], uid, ref, data)
        dates = {name: [data[name] for _, data in public or all_copies if data[name]] for name in OWN if name.endswith("At")}
        into.add(key, {"variants": values} if is_localized else {"attributes": next(iter(values.values()))},
                 min(dates["publishedAt"], default=None), created_at=min(dates["createdAt"], default=None),
                 updated_at=max(dates["updatedAt"], default=None))


def add_file(into, data):
    attributes = {}
    for name in ("name", "alternativeText", "caption", "mime", "width", "height"):
        into.put(attributes, name, "number" if name in ("width", "height") else "text", data[name])
    into.put(attributes, "address", "file", address(data))
    into.add(data["documentId"], {"attributes": attributes}, data["createdAt"], created_at=data["createdAt"])


def main(path, folder):
    default = read(path)
    locales = [{"name": data["name"], "slug": data["code"], "default": data["code"] == default} for _, data in rows[LOCALE]]
    into = Blueprint("files")
    for row, data in rows[FILE]:
        files[row] = data
        add_file(into, data)
    for uid in schemas:
        if uid.startswith("api::"):
            add_type(uid, locales)
        elif schemas[uid]["modelType"] == "contentType" and uid not in (FILE, LOCALE):
            noted[f"`{uid}`: dropped"] += len(rows[uid])
    write(folder)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    site = sys.argv[3].rstrip("/")
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
