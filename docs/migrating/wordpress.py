#!/usr/bin/env python3
"""Turns an export of WordPress into files for Bindery. Needs Python 3.9 or newer, and files.py beside it.

Reads what "Tools > Export > All content" downloads (WXR): one file or several. Writes two files for each type of post and each
taxonomy into a folder: `posts.json` is a blueprint, `posts.ndjson` has its items.

    python3 wordpress.py site.WordPress.2026-11-20.xml out/

It prints the commands to run next, and on standard error what it left out or changed, and how often. Run it again with a newer
export, and the same commands update what they imported before: the keys are those of WordPress.
"""
import collections
import html
import pathlib
import re
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote, urlsplit

from files import NO_DATE, Blueprint, blueprints, noted, write

SLUGS = {"post": "posts", "page": "pages", "attachment": "attachments", "category": "categories", "post_tag": "tags"}
DROPPED = ("wp_", "nav_menu_item", "customize_", "custom_css", "oembed_", "revision", "user_request")
BLOCK = r"(?:address|article|aside|blockquote|div|dl|figure|form|h[1-6]|hr|iframe|ol|p|pre|section|table|ul)\b"


def text(node, tag):
    return node.findtext("{*}" + tag) or ""


def plain(source):
    """Titles and names are HTML in WordPress, and text in Bindery."""
    return html.unescape(re.sub(r"</?(?:a|b|br|code|em|i|small|span|strong|sub|sup)\b[^>]*>", "", source))


def slug(source):
    source = unquote(source)
    kept = "".join(c for c in source if c in "-_.~/" or unicodedata.category(c)[0] in "LM" or c.isdecimal())
    noted["slugs: characters dropped that Bindery does not accept, such as emoji"] += kept != source
    return kept or None


def time(node, tag):
    date = text(node, tag)
    return date.replace(" ", "T") + "Z" if date > "0001" else None


def blueprint(name):
    own = SLUGS.get(name) or re.sub("[^a-z0-9_]", "_", re.sub("^(?=[^a-z])", "x", name.lower()))
    return blueprints.get(own) or Blueprint(own, scheduled=True)


def add_author(node):
    into, login, attributes = blueprint("authors"), text(node, "author_login"), {}
    into.put(attributes, "Name", "text", text(node, "author_display_name"))
    into.put(attributes, "Slug", "slug", slug(login.replace(" ", "-")))
    into.add(login, {"attributes": attributes}, NO_DATE)
    noted["authors: email addresses dropped, since a site could show them"] += 1


def add_term(taxonomy, key, name, parent="", description=""):
    into, attributes = blueprint(taxonomy), {}
    into.put(attributes, "Name", "text", plain(name))
    into.put(attributes, "Slug", "slug", slug(key))
    into.put(attributes, "Description", "rich-text", description)
    into.put(attributes, "Parent", "reference", parent or None, blueprint=into.slug)
    if key not in into.items:
        into.add(key, {"attributes": attributes}, NO_DATE)


def caption(match):
    parts = re.fullmatch(r"\s*((?:<a\b[^>]*>)?\s*<img[^>]*>\s*(?:</a>)?)(.*)", match[1], re.S)
    return f"<figure>{parts[1]}<figcaption>{parts[2].strip()}</figcaption></figure>" if parts else match[0]


def embed(match):
    noted["embeds: written as links"] += 1
    return f'<a href="{html.escape(match[1])}">{html.escape(match[1])}</a>'


def body(source):
    """The HTML that WordPress shows for a text, as far as it needs no plugin for it."""
    source = re.sub(r"\[caption\b[^\]]*\](.*?)\[/caption\]", caption, source.replace("\r", ""), flags=re.S)
    for name in re.findall(r"<!--\s*wp:([\w/-]+)\s(?:(?!-->).)*/-->", source, re.S):
        noted[f"block `{name}`: dropped, since WordPress makes its content"] += 1
    for name in re.findall(r"<!--(more|nextpage)", source):
        noted[f"mark `{name}`: dropped"] += 1
    for name, more in re.findall(r"\[([a-z][\w-]*)(\s+[\w-]+=[^\]]*|)/?\]", source):
        if more or f"[/{name}]" in source or name == "gallery":
            noted[f"shortcode `{name}`: left as text"] += 1
    is_classic = "<!-- wp:" not in source
    source = re.sub(r"<!--.*?-->", "", source, flags=re.S)
    source = re.sub(r"^[ \t]*(https?://[^\s<]+)[ \t]*$", embed, source, flags=re.M)
    return paragraphs(source) if is_classic else re.sub(r"\n{2,}", "\n", source).strip()


def paragraphs(source):
    """The classic editor stores an empty line where a paragraph ends."""
    source = re.sub(rf"(<{BLOCK})", r"\n\n\1", re.sub(rf"(</{BLOCK}>)", r"\1\n\n", source))
    parts = [part.strip() for part in re.findall(r"<pre\b.*?</pre>|(?:(?!<pre\b|\n\s*\n).)+", source, re.S)]
    is_block = re.compile(f"</?{BLOCK}").match
    return "\n".join(part if is_block(part) else "<p>" + part.replace("\n", "<br>\n") + "</p>" for part in parts if part)


def add_post(post, kinds):
    kind, key = text(post, "post_type"), text(post, "post_id")
    status = "password" if text(post, "post_password") else text(post, "status")
    into, attributes, meta, terms = blueprint(kind), {}, collections.defaultdict(list), collections.defaultdict(list)
    for node in post.iterfind("{*}postmeta"):
        meta[text(node, "meta_key")].append(text(node, "meta_value"))
    content, excerpt = (node.text or "" for node in post.findall("{*}encoded"))
    address = urlsplit(text(post, "link"))
    into.put(attributes, "Title", "text", plain(text(post, "title")))
    into.put(attributes, "Slug", "slug", slug(text(post, "post_name")))
    into.put(attributes, "Body", "rich-text", body(content))
    into.put(attributes, "Excerpt", "rich-text", excerpt)
    into.put(attributes, "Status", "enum", status)
    into.put(attributes, "Address", "link", (address.path or "/") + ("?" + address.query if address.query else ""))
    into.put(attributes, "Wordpress id", "number", int(key))
    into.put(attributes, "Old slugs", "multi-enum", list(dict.fromkeys(map(unquote, meta.pop("_wp_old_slug", [])))))
    into.put(attributes, "Order", "number", int(text(post, "menu_order") or 0))
    into.put(attributes, "Sticky", "boolean", text(post, "is_sticky") == "1")
    if kind == "attachment":
        into.put(attributes, "File", "file", text(post, "attachment_url"))
        into.put(attributes, "Alt", "text", "".join(meta.pop("_wp_attachment_image_alt", [])))
    parent, picture, author = text(post, "post_parent"), meta.pop("_thumbnail_id", ["0"])[-1], text(post, "creator")
    for name, to, related, is_known in (("Author", "authors", author, author in blueprint("authors").items),
                                        ("Parent", into.slug, parent, kinds.get(parent) == kind),
                                        ("Picture", "attachments", picture, kinds.get(picture) == "attachment")):
        if is_known:
            into.put(attributes, name, "reference", related, blueprint=to)
        noted[f"{kind}: {name.lower()} dropped, of another type or not exported"] += related not in ("", "0") and not is_known
    for node in post.iterfind("category"):
        add_term(node.get("domain"), node.get("nicename"), node.text or "")
        terms[node.get("domain")].append(node.get("nicename"))
    for name, keys in terms.items():
        to = blueprint(name).slug
        into.put(attributes, to.capitalize(), "references", keys, f"Taxonomy `{name}`", blueprint=to)
    for name, values in meta.items():
        if name.startswith("_"):
            noted[f"metadata `{name}`: dropped"] += len(values)
        else:
            into.put(attributes, name, "text", "\n".join(values), f"Custom field `{name}`")
    noted["comments: dropped"] += len(post.findall("{*}comment"))
    is_open = status in ("publish", "future", "inherit")
    noted[f"{kind}: with the status `{status}`, written as drafts"] += not is_open
    # Plugins and old imports leave out the dates in UTC. The others are in the zone of the site, which the export does not name.
    date = time(post, "post_date_gmt") or time(post, "post_date")
    updated = time(post, "post_modified_gmt") or time(post, "post_modified")
    noted[f"{kind}: published without a date in UTC"] += is_open and not time(post, "post_date_gmt")
    into.add(key, {"attributes": attributes}, (date or NO_DATE) if is_open else None, updated_at=updated,
             created_at=min(filter(None, (date, updated)), default=None))


def read(path):
    raw = pathlib.Path(path).read_text(encoding="utf-8")
    clean = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", raw)
    noted["control characters: dropped, since XML does not allow them"] += len(raw) - len(clean)
    return ElementTree.fromstring(clean).find("channel")


def add_terms(channel):
    for node in channel.iterfind("{*}category"):
        names = ("category_nicename", "cat_name", "category_parent", "category_description")
        add_term("category", *(text(node, name) for name in names))
    for node in channel.iterfind("{*}tag"):
        add_term("post_tag", text(node, "tag_slug"), text(node, "tag_name"), description=text(node, "tag_description"))
    for node in channel.iterfind("{*}term"):
        if text(node, "term_taxonomy") != "nav_menu":
            add_term(*(text(node, "term_" + name) for name in ("taxonomy", "slug", "name", "parent", "description")))


def main(paths, folder):
    posts = {}
    for channel in map(read, paths):
        for node in channel.iterfind("{*}author"):
            add_author(node)
        add_terms(channel)
        for post in channel.iterfind("item"):
            kind, status = text(post, "post_type"), text(post, "status")
            if kind.startswith(DROPPED) or status in ("trash", "auto-draft"):
                noted[f"{kind}: dropped, with the status `{status}`"] += 1
            else:
                posts[text(post, "post_id")] = post
    kinds = {key: text(post, "post_type") for key, post in posts.items()}
    for post in posts.values():
        add_post(post, kinds)
    write(folder)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:-1], pathlib.Path(sys.argv[-1]))
