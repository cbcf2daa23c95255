"""Collects blueprints and their items, and writes them as files that `bindery` reads. The scripts beside it use it."""
import collections
import json
import re
import sys

RESERVED = {"published", "published_at", "created_at", "updated_at", "id", "type"}
NO_DATE = "2000-01-01"  # for items without any date: a site only sees what is published
noted = collections.Counter()  # what was left out or changed -> how often
blueprints = {}  # slug -> Blueprint


class Blueprint:
    """The fields of a blueprint are those that `put` was called with."""

    def __init__(self, slug, **settings):
        self.slug, self.settings, self.fields, self.items = slug, settings, {}, {}
        if slug in blueprints:
            sys.exit(f"two sources would both become the blueprint `{slug}`")
        blueprints[slug] = self

    def put(self, attributes, name, kind, value, source=None, **settings):
        """Sets an attribute. `source` says where the field comes from: those of two sources or names do not share a slug."""
        field = re.sub("[^a-z0-9]+", "_", re.sub("([a-z0-9])([A-Z])", r"\1_\2", name).lower()).strip("_")[:50]
        own = {"name": name, "description": source}
        of_other = lambda: field in self.fields and not own.items() <= self.fields[field].items()
        if not field[:1].isalpha() or field in RESERVED or of_other():
            field = "custom_" + field
        plain, number = field, 2
        while of_other():
            field, number = f"{plain}_{number}", number + 1
        self.fields[field] = {"name": name, "slug": field, "type": kind, "description": source, "settings": settings}
        if kind == "number" and value is not None and abs(value) >= 2**53:
            noted[f"{self.slug}: `{name}` dropped, a number of 2^53 or more"] += 1
            value = None
        attributes[field] = value

    def add(self, key, values, published_at=None, **dates):
        """Adds an item, with `attributes` or `variants`. Of two with a key, the later one stays."""
        self.items[key] = {"key": key, "published_at": published_at, **{k: v for k, v in dates.items() if v}, **values}

    def relations(self):
        return {slug: field["settings"]["blueprint"] for slug, field in self.fields.items() if "blueprint" in field["settings"]}


def in_order():
    """The blueprints, each after those that it relates to, as far as possible."""
    ordered, rest = [], list(blueprints.values())
    while rest:
        waiting = {blueprint.slug for blueprint in rest}
        rest.sort(key=lambda blueprint: len(set(blueprint.relations().values()) & waiting - {blueprint.slug}))
        ordered.append(rest.pop(0))
    return ordered


def without(item, fields):
    kept = lambda attributes: {slug: value for slug, value in attributes.items() if slug not in fields}
    if "variants" in item:
        return {**item, "variants": {code: kept(copy) for code, copy in item["variants"].items()}}
    return {**item, "attributes": kept(item["attributes"])}


def write(folder):
    """Writes all files, and prints the commands that import them and what was noted."""
    folder.mkdir(parents=True, exist_ok=True)
    commands, last, known = [f"bindery blueprint apply {folder}/"], [], set()
    for blueprint in in_order():
        slug, items = blueprint.slug, blueprint.items.values()
        known.add(slug)
        # Two blueprints may relate to each other. The first one is imported without that relation, and once more at the end.
        late = [field for field, to in blueprint.relations().items() if to not in known]
        definition = {"name": slug.replace("_", " ").replace("-", " ").capitalize(), "slug": slug, **blueprint.settings,
                      "record_title": next(iter(blueprint.fields), None), "fields": list(blueprint.fields.values())}
        (folder / f"{slug}.json").write_text(json.dumps(definition, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        write_items(folder / f"{slug}.ndjson", (without(item, late) for item in items))
        commands.append(f"bindery import {slug} {folder}/{slug}.ndjson    # {len(items)}")
        if late:
            write_items(folder / f"{slug}.relations.ndjson", items)
            last.append(f"bindery import {slug} {folder}/{slug}.relations.ndjson")
    print("\n".join(commands + last))
    for what, count in sorted(noted.items()):
        if count:
            print(f"{count:6} {what}", file=sys.stderr)


def write_items(path, items):
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
