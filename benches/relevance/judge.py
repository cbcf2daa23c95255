#!/usr/bin/env python3
"""Judges ranked search (`q`) on real articles in six languages, beside SQLite's FTS5 with BM25.

Each question is made from an article that a reader could be looking for; that article, or one with the same title, is the
right answer. Questions that more than three titles would answer are left out. Four kinds of questions: a title with a typo, half a title, two of its words, and a rare word of the body with
a word of the title. Prints the mean reciprocal rank and how often the right answer is the first, or among the first ten.

    python3 benches/relevance/judge.py --data DIR --binary target/release/bindery

DIR holds `articles-cpp.ndjson.zst` and `articles-mdn.ndjson.zst`: lines `{"key", "variants": {LANGUAGE: {"title",
"description", "body"}}}`. Needs Python 3.9 and the program `zstd`, nothing else.
"""

import argparse
import html
import json
import os
import random
import re
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, defaultdict

LANGUAGES = {"cpp": ["en", "de", "fr", "ja", "ru", "zh-CN"], "mdn": ["en", "de"]}
KINDS = ["typo", "half a title", "two words", "a word of the body"]
WITHOUT_SPACES = {"ja", "zh-CN"}
# What the server takes unless a blueprint says otherwise.
WEIGHTS = {"title": 4, "description": 2, "body": 1}
TOKEN = "judge-of-ranked-search-with-32-characters"
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r"\w+")


def read(path, count):
    """Every n-th article, so that `count` are left."""
    lines = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout.decode().splitlines()
    step = max(1, len(lines) // count)
    return [json.loads(line) for line in lines[::step]][:count]


def text_of(body):
    return html.unescape(TAG.sub(" ", body))


class Server:
    """The server on an empty folder."""

    def __init__(self, binary, folder):
        self.base = None
        environment = dict(os.environ, BINDERY_ADMIN_TOKEN=TOKEN)
        command = [binary, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--log", "warn"]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "listens on " in line:
                self.base = line.split("listens on ")[1].split(",")[0].strip()
                break

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read()[:500]}")

    def load(self, slug, articles):
        fields = [{"name": name.title(), "slug": name, "type": "rich-text" if name == "body" else "text"} for name in WEIGHTS]
        variants = [{"name": v, "slug": v, "default": v == "en"} for v in LANGUAGES[slug]]
        blueprint = {"name": slug, "slug": slug, "fields": fields, "variants": variants, "record_title": "title"}
        self.ask("POST", "/v2/blueprints", blueprint)
        for start in range(0, len(articles), 500):
            lines = []
            for article in articles[start:start + 500]:
                copies = {v: {name: copy[name] for name in WEIGHTS} for v, copy in article["variants"].items()
                          if v in LANGUAGES[slug]}
                lines.append(json.dumps({"key": article["key"], "published_at": "2026-01-01", "variants": copies}))
            answer = self.ask("POST", f"/v2/resources/{slug}/import", "\n".join(lines).encode(), "application/x-ndjson")
            errors = [line for line in answer.splitlines() if b'"errors"' in line]
            if errors:
                print(f"{len(errors)} articles of {slug} were rejected, such as {errors[0][:200]!r}")

    def search(self, slug, language, words):
        query = urllib.parse.urlencode({"q": words, "variant": language, "per_page": 10, "fields": "attributes.title"})
        answer = json.loads(self.ask("GET", f"/v2/resources/{slug}?{query}"))
        return [item["attributes"]["title"] for item in answer["data"]]


class Sqlite:
    """FTS5 with the same weights. Its last word is a prefix, as in a box that searches while one types."""

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def load(self, slug, articles):
        for language in LANGUAGES[slug]:
            tokenizer = "trigram" if language in WITHOUT_SPACES else "unicode61 remove_diacritics 2"
            table = self.table(slug, language)
            self.connection.execute(f"create virtual table {table} using fts5(title, description, body, tokenize='{tokenizer}')")
            rows = [(copy["title"], copy["description"] or "", text_of(copy["body"] or ""))
                    for article in articles if (copy := article["variants"].get(language))]
            self.connection.executemany(f"insert into {table} values (?, ?, ?)", rows)

    @staticmethod
    def table(slug, language):
        return f"{slug}_{language.replace('-', '_')}"

    def search(self, slug, language, words):
        table = self.table(slug, language)
        wanted = " ".join(f'"{word}"' for word in words.split())
        wanted += "" if language in WITHOUT_SPACES else "*"
        sql = (f"select title from {table} where {table} match ? order by bm25({table}, "
               f"{', '.join(str(weight) for weight in WEIGHTS.values())}) limit 10")
        return [title for (title,) in self.connection.execute(sql, (wanted,))]


def misspelled(word, chance):
    """One letter is missing, wrong, doubled, or swapped with the next; never the first."""
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1:]
    if kind == 1:
        return word[:at] + chance.choice([c for c in "eaisnt" if c != word[at]]) + word[at + 1:]
    if kind == 2:
        return word[:at] + word[at] + word[at:]
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2:]
    return swapped if swapped != word else word[:at] + word[at + 1:]


def question(kind, language, title, body, frequency, chance):
    """What a reader types; None if the article does not suit this kind."""
    if language in WITHOUT_SPACES:
        runs = re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]{2,}", title)
        text = max(runs, key=len, default="")
        if len(text) < 6:
            return None
        if kind == "typo":
            return None
        if kind == "half a title":
            return text[:max(3, len(text) // 2)]
        if kind == "two words":
            return f"{text[:3]} {text[-3:]}"
        rare = [word for word in set(re.findall(r"[\u30a0-\u30ff\u4e00-\u9fff]{4,6}", body)) if 1 <= frequency[word] <= 3]
        return f"{min(rare)} {text[:3]}" if rare else None
    words = [word for word in WORD.findall(title) if len(word) >= 4 and not word.isdigit()]
    if len(words) < 3:
        return None
    if kind == "typo":
        longest = max(words, key=len)
        if len(longest) < 6:
            return None
        return " ".join(misspelled(word, chance) if word == longest else word for word in words[:4])
    if kind == "half a title":
        return " ".join(WORD.findall(title)[:max(2, len(WORD.findall(title)) // 2)])
    if kind == "two words":
        return " ".join(chance.sample(words, 2))
    rare = sorted(word for word in set(WORD.findall(body.lower())) if len(word) >= 6 and word.isalpha() and frequency[word] <= 3)
    return f"{chance.choice(rare)} {max(words, key=len)}" if rare else None


def is_vague(kind, asked, titles):
    """Whether more than three titles have all of a question's words."""
    words = asked.lower().split()
    return kind in ("half a title", "two words") and sum(all(word in title for word in words) for title in titles) > 3


def questions(slug, articles, count, chance):
    """`count` of each kind in each language."""
    for language in LANGUAGES[slug]:
        copies = [copy for article in articles if (copy := article["variants"].get(language)) and copy["title"]]
        frequency = Counter()
        pattern = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]{4,6}") if language in WITHOUT_SPACES else WORD
        for copy in copies:
            frequency.update(set(pattern.findall(text_of(copy["body"] or "").lower())))
        titles = {copy["title"].lower() for copy in copies}
        shuffled = chance.sample(copies, len(copies))
        for kind in KINDS:
            made = 0
            while made < count and shuffled:
                copy = shuffled.pop()
                asked = question(kind, language, copy["title"], text_of(copy["body"] or ""), frequency, chance)
                if asked and not is_vague(kind, asked, titles):
                    made += 1
                    yield slug, language, kind, asked, copy["title"]
                elif kind == "typo" and language in WITHOUT_SPACES:
                    break


def judge(engine, asked):
    """The rank of the right answer for each question, or None; and how long the questions took."""
    ranks, start = [], time.monotonic()
    for slug, language, _, words, title in asked:
        found = engine.search(slug, language, words)
        ranks.append(found.index(title) + 1 if title in found else None)
    return ranks, (time.monotonic() - start) / max(1, len(asked)) * 1000


def summary(ranks):
    if not ranks:
        return "–"
    reciprocal = sum(1 / rank for rank in ranks if rank) / len(ranks)
    first, ten = sum(rank == 1 for rank in ranks), sum(rank is not None for rank in ranks)
    return f"{reciprocal:.2f} | {first / len(ranks):.0%} | {ten / len(ranks):.0%}"


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", required=True)
    options.add_argument("--binary", required=True)
    options.add_argument("--articles", type=int, default=3000, help="how many of each file")
    options.add_argument("--each", type=int, default=5, help="questions of each kind in each language")
    options.add_argument("--misses", action="store_true", help="print the questions without a right answer")
    options = options.parse_args()
    corpus = {slug: read(f"{options.data}/articles-{slug}.ndjson.zst", options.articles) for slug in LANGUAGES}
    chance = random.Random(7)
    asked = [made for slug, articles in corpus.items() for made in questions(slug, articles, options.each, chance)]
    with tempfile.TemporaryDirectory() as folder:
        server, sqlite = Server(options.binary, f"{folder}/data"), Sqlite()
        try:
            for slug, articles in corpus.items():
                server.load(slug, articles)
                sqlite.load(slug, articles)
            results = {"Bindery": judge(server, asked), "SQLite FTS5": judge(sqlite, asked)}
        finally:
            server.process.terminate()
            server.process.wait()
    print(f"{len(asked)} questions about {sum(map(len, corpus.values()))} articles\n")
    print("| | " + " | ".join(f"{name}: MRR | first | of ten" for name in results) + " |")
    print("|---|" + "---|" * 3 * len(results))
    groups = defaultdict(list)
    for number, (_, language, kind, _, _) in enumerate(asked):
        for group in ("all", language, kind):
            groups[group].append(number)
    for group, numbers in sorted(groups.items(), key=lambda item: (item[0] != "all", item[0] in KINDS, item[0])):
        cells = [summary([ranks[number] for number in numbers]) for ranks, _ in results.values()]
        print(f"| {group} ({len(numbers)}) | " + " | ".join(cells) + " |")
    print("| ms a question | " + " | ".join(f"{took:.1f} | | " for _, took in results.values()) + "|")
    if options.misses:
        for name, (ranks, _) in results.items():
            for rank, (slug, language, kind, words, title) in zip(ranks, asked):
                if rank is None or rank > 3:
                    print(f"{name}: {slug} {language} {kind}: {words!r} for {title!r}: {rank}")


if __name__ == "__main__":
    main()
