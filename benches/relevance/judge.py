#!/usr/bin/env python3
"""Judges ranked search (`q`) on real articles in six languages, beside SQLite's FTS5 and PostgreSQL's full text search.

Each question is made from an article that a reader could be looking for; that article, or one with the same title, is the
right answer. Questions that more than three titles would answer are left out. The kinds of questions: a title with a typo, half
a title, two of its words, a rare word of the body with a word of the title, another form of a word, a part of a compound or of a
name in camel case, a part of a name with dots, colons or apostrophes, the words in another order, the title without accents, and a
whole sentence. Prints the mean reciprocal rank and how often the
right answer is the first, or among the first ten.

    python3 benches/relevance/judge.py --data DIR --binary target/release/bindery

DIR holds `articles-cpp.ndjson.zst` and `articles-mdn.ndjson.zst`: lines `{"key", "variants": {LANGUAGE: {"title",
"description", "body"}}}`. Needs Python 3.9 and the program `zstd`. PostgreSQL is judged if its programs are in `PATH` or in
`/usr/lib/postgresql/*/bin`; it is started in a temporary folder, without TCP, and stopped at the end.
"""

import argparse
import contextlib
import glob
import html
import json
import os
import pwd
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, defaultdict

LANGUAGES = {"cpp": ["en", "de", "fr", "ja", "ru", "zh-CN"], "mdn": ["en", "de"]}
KINDS = ["typo", "half a title", "two words", "a word of the body", "another form", "part of a compound", "part of a name",
         "another order", "without accents", "a sentence"]
# Endings of a title's word, and those of another form of it.
ENDINGS = {"en": ["", "s", "es", "ing", "ed", "er", "ers"], "de": ["", "e", "en", "n", "s", "es", "er", "ern"],
           "fr": ["", "s", "e", "es", "er", "ant"],
           "ru": ["", "\u0430", "\u0443", "\u044b", "\u0438", "\u0435", "\u043e\u0439", "\u043e\u043c", "\u043e\u0432", "\u0430\u043c\u0438", "\u044f", "\u044e", "\u0435\u0439"]}
SENTENCES = {"en": "how do I use the {} in my program", "de": "wie verwende ich {} in meinem Programm",
             "fr": "comment utiliser {} dans mon programme",
             "ru": "\u043a\u0430\u043a \u0438\u0441\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u044c {} \u0432 \u043c\u043e\u0435\u0439 \u043f\u0440\u043e\u0433\u0440\u0430\u043c\u043c\u0435",
             "ja": "{}\u306e\u4f7f\u3044\u65b9\u3092\u6559\u3048\u3066\u304f\u3060\u3055\u3044", "zh-CN": "\u5982\u4f55\u5728\u6211\u7684\u7a0b\u5e8f\u4e2d\u4f7f\u7528{}"}
JOINT = re.compile(r"\w+(?:[.:'\u2019]\w+)+")
HUMP = re.compile(r"[A-Z]?[a-z]{3,}")
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


def quoted(text):
    """A literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


class Server:
    """The server on an empty folder."""

    def __init__(self, binary, folder, parameters):
        self.base, self.parameters = None, parameters
        environment = dict(os.environ, BINDERY_ADMIN_TOKEN=TOKEN)
        command = [binary, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--log-filter", "warn"]
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
        answer = json.loads(self.ask("GET", f"/v2/resources/{slug}?{query}&{self.parameters}"))
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


class Postgres:
    """A PostgreSQL server in a temporary folder, with a table for each collection and language."""

    # Languages without a configuration of their own get `simple`: no stemming, no stop words.
    CONFIGURATIONS = {"en": "english", "de": "german", "fr": "french", "ru": "russian"}
    SETTINGS = {"listen_addresses": "", "shared_buffers": "512MB", "work_mem": "64MB", "random_page_cost": "1.1", "jit": "off",
                "fsync": "off", "client_min_messages": "error"}

    def __init__(self, programs):
        self.programs, self.process, self.client = programs, None, None
        # PostgreSQL refuses to run as root.
        self.user = self.other_user() if os.geteuid() == 0 else None
        self.folder = tempfile.mkdtemp(prefix="judge-")
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.psql = [f"{programs}/psql", "-h", self.folder, "-U", "postgres", "-d", "postgres", "-XqAt", "-v", "ON_ERROR_STOP=1"]
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def find():
        """The folder with PostgreSQL's programs, or None."""
        found = shutil.which("initdb")
        folders = [os.path.dirname(os.path.realpath(found))] if found else []
        folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        needed = ("initdb", "postgres", "psql")
        return next((folder for folder in folders if all(os.path.exists(f"{folder}/{name}") for name in needed)), None)

    @staticmethod
    def other_user():
        names = {entry.pw_name for entry in pwd.getpwall()}
        return pwd.getpwnam("postgres" if "postgres" in names else "nobody")

    def spawn(self, program, *arguments):
        rights = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        with open(f"{self.folder}/log", "ab") as log:
            return subprocess.Popen([f"{self.programs}/{program}", *arguments], cwd=self.folder, stdout=log, stderr=log, **rights)

    def start(self):
        data = f"{self.folder}/data"
        initdb = self.spawn("initdb", "-D", data, "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-U", "postgres", "-N")
        if initdb.wait() == 0:
            settings = [part for name, value in self.SETTINGS.items() for part in ("-c", f"{name}={value}")]
            self.process = self.spawn("postgres", "-D", data, "-c", f"unix_socket_directories={self.folder}", *settings)
        until = time.monotonic() + 60
        while subprocess.run([*self.psql, "-c", "select 1"], capture_output=True).returncode != 0:
            if self.process is None or self.process.poll() is not None or time.monotonic() > until:
                with open(f"{self.folder}/log", errors="replace") as log:
                    raise SystemExit(f"PostgreSQL did not start: {log.read()[-1000:]}")
            time.sleep(0.1)
        self.client = subprocess.Popen(self.psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.trigrams = self.rows("select name from pg_available_extensions where name = 'pg_trgm'") != []
        if self.trigrams:
            self.run("create extension pg_trgm", "set pg_trgm.word_similarity_threshold = 0.4")

    def stop(self):
        if self.client:
            self.client.stdin.close()
            self.client.wait()
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # "fast shutdown": does not wait for clients
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *statements):
        self.client.stdin.write(";\n".join(statements) + ";\n")
        self.client.stdin.flush()

    def rows(self, sql):
        """The only column of a query's rows."""
        self.run(f"select to_json(array({sql}))")
        line = self.client.stdout.readline()
        if not line:
            raise SystemExit(f"PostgreSQL rejected {sql}")
        return json.loads(line)

    def load(self, slug, articles):
        for language in LANGUAGES[slug]:
            table, configuration = Sqlite.table(slug, language), self.CONFIGURATIONS.get(language, "simple")
            self.run(f"create table {table} (title text, description text, body text)", f"copy {table} from stdin")
            for copy in (copy for article in articles if (copy := article["variants"].get(language))):
                row = (copy["title"] or "", copy["description"] or "", text_of(copy["body"] or ""))
                self.client.stdin.write("\t".join(text.translate(self.ESCAPES) for text in row) + "\n")
            self.client.stdin.write("\\.\n")
            words = " || ".join(f"setweight(to_tsvector('{configuration}', {name}), '{letter}')"
                                for name, letter in zip(WEIGHTS, "ABD"))
            self.run(f"alter table {table} add words tsvector generated always as ({words}) stored",
                     f"create index on {table} using gin (words)")
            if self.trigrams:
                columns = ", ".join(f"{name} gin_trgm_ops" for name in WEIGHTS)
                self.run(f"create index on {table} using gin ({columns})")
            self.run(f"vacuum analyze {table}")
            self.rows(f"select 1 from {table} limit 1")  # waits for all of it

    # What `copy` needs escaped; it accepts no NUL.
    ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": None})

    def wanted(self, language, words):
        """A query for all of the words. The last one is a prefix, as for SQLite. In languages without spaces each one is:
        PostgreSQL does not divide them into words, so that a row of characters is found only by its beginning."""
        configuration, words = self.CONFIGURATIONS.get(language, "simple"), words.split()
        whole, begun = ([], words) if language in WITHOUT_SPACES else (words[:-1], words[-1:])
        parts = [f"to_tsquery('{configuration}', {quoted(quoted(word) + ':*')})" for word in begun]
        if whole:
            parts.append(f"websearch_to_tsquery('{configuration}', {quoted(' '.join(whole))})")
        return f"(select {' && '.join(parts)} as query) as wanted"


class FullText:
    """PostgreSQL's full text search with the same weights. Of `ts_rank` and the normalizations of `ts_rank_cd`, this one found
    the most right answers: divided by the number of different words."""

    RANK = "ts_rank_cd('{0.25, 0.25, 0.5, 1}', words, query, 8)"

    def __init__(self, postgres):
        self.postgres = postgres

    def search(self, slug, language, words):
        return self.postgres.rows(f"select title from {Sqlite.table(slug, language)}, {self.postgres.wanted(language, words)} "
                                  f"where words @@ query order by {self.RANK} desc, title limit 10")


class Trigrams(FullText):
    """The same with `pg_trgm`: what full text search finds comes first, then titles that are similar to what was asked for. Both
    are ordered by the sum of rank and similarity, which found more right answers than the rank, or than one order of both. In
    languages without spaces, what has the characters anywhere (`ilike`) is found instead, as with SQLite's trigrams."""

    RANK = "ts_rank_cd('{0.25, 0.25, 0.5, 1}', words, query, 2)"

    def search(self, slug, language, words):
        table, asked = Sqlite.table(slug, language), quoted(words)
        if language in WITHOUT_SPACES:
            parts = [quoted("%" + re.sub(r"([\\%_])", r"\\\1", word) + "%") for word in words.split()]
            condition = " and ".join("(" + " or ".join(f"{name} ilike {part}" for name in WEIGHTS) + ")" for part in parts)
            score = " + ".join(f"{weight} * ({name} ilike {part})::int" for part in parts for name, weight in WEIGHTS.items())
            return self.postgres.rows(f"select title from {table} where {condition} "
                                      f"order by {score} desc, similarity({asked}, title) desc, title limit 10")
        score = f"{self.RANK} + word_similarity({asked}, title) + similarity({asked}, title)"
        return self.postgres.rows(f"select title from {table}, {self.postgres.wanted(language, words)} "
                                  f"where words @@ query or {asked} <% title "
                                  f"order by words @@ query desc, {score} desc, title limit 10")


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


def other_form(word, language, vocabulary, chance):
    """A word of the articles with the same beginning and another ending."""
    endings = ENDINGS.get(language, [])
    stems = [word[:len(word) - len(end)] for end in endings if word.endswith(end) and len(word) - len(end) >= 4]
    forms = sorted({stem + end for stem in stems[-1:] for end in endings} & vocabulary - {word})
    return chance.choice(forms) if forms else None


def part_of_compound(word, language, vocabulary):
    """A part of a name in camel case, or in German of a compound whose parts are words of the articles."""
    humps = HUMP.findall(word)
    if len(humps) > 1 and "".join(humps) in word:
        return max(humps, key=len).lower()
    if language != "de" or not word.isalpha():
        return None
    lower = word.lower()
    for at in range(len(lower) - 4, 3, -1):
        first, rest = lower[:at], lower[at:]
        if rest in vocabulary and any(first.endswith(link) and first[:len(first) - len(link)] in vocabulary
                                      for link in ("", "s", "es", "n", "en") if len(first) - len(link) >= 4):
            return rest
    return None


def plain(text):
    """A text without accents."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def question(kind, language, title, body, frequency, chance):
    """What a reader types; None if the article does not suit this kind."""
    if language in WITHOUT_SPACES:
        runs = re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]{2,}", title)
        text = max(runs, key=len, default="")
        if len(text) < 6:
            return None
        if kind == "half a title":
            return text[:max(3, len(text) // 2)]
        if kind == "two words":
            return f"{text[:3]} {text[-3:]}"
        if kind == "another order":
            return f"{text[len(text) // 2:]} {text[:len(text) // 2]}"
        if kind == "a sentence":
            return SENTENCES[language].format(text)
        if kind != "a word of the body":
            return None
        rare = [word for word in set(re.findall(r"[\u30a0-\u30ff\u4e00-\u9fff]{4,6}", body)) if 1 <= frequency[word] <= 3]
        return f"{min(rare)} {text[:3]}" if rare else None
    if kind == "part of a name":
        parts = [part for name in JOINT.findall(title) for part in WORD.findall(name) if len(part) >= 4 and not part.isdigit()]
        return chance.choice(parts) if parts else None
    words = [word for word in WORD.findall(title) if len(word) >= 4 and not word.isdigit()]
    if kind == "part of a compound":
        parts = [(word, part_of_compound(word, language, frequency.keys())) for word in words]
        parts = [(word, part) for word, part in parts if part]
        if not parts:
            return None
        word, part = chance.choice(parts)
        others = [other for other in words if other != word]
        return f"{part} {chance.choice(others)}" if others else part
    if len(words) < 2:
        return None
    if kind == "another form":
        forms = [(word, other_form(word.lower(), language, frequency.keys(), chance)) for word in words]
        forms = [(word, form) for word, form in forms if form and form not in title.lower()]
        if not forms:
            return None
        word, form = chance.choice(forms)
        return f"{form} {chance.choice([other for other in words if other != word] or [''])}".strip()
    if kind == "without accents":
        return plain(title) if plain(title) != title and language != "ru" else None
    if kind == "a sentence":
        return SENTENCES[language].format(" ".join(words[:3]))
    if len(words) < 3:
        return None
    if kind == "another order":
        return " ".join(reversed(words[:4]))
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
    if kind == "a sentence":
        return False
    if kind == "another form":
        # Every form of the first word counts.
        words[0] = words[0][:max(4, len(words[0]) - 3)]
    is_short = kind not in ("typo", "a word of the body", "without accents")
    return is_short and sum(all(word in title for word in words) for title in titles) > 3


def questions(slug, articles, count, chance):
    """`count` of each kind in each language."""
    for language in LANGUAGES[slug]:
        copies = [copy for article in articles if (copy := article["variants"].get(language)) and copy["title"]]
        frequency = Counter()
        pattern = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]{4,6}") if language in WITHOUT_SPACES else WORD
        for copy in copies:
            frequency.update(set(pattern.findall(text_of(copy["body"] or "").lower())))
        titles = {copy["title"].lower() for copy in copies}
        for kind in KINDS:
            # Each kind is asked about other articles, but not every article suits every kind.
            shuffled = chance.sample(copies, len(copies))
            made = 0
            while made < count and shuffled:
                copy = shuffled.pop()
                asked = question(kind, language, copy["title"], text_of(copy["body"] or ""), frequency, chance)
                if asked and not is_vague(kind, asked, titles):
                    made += 1
                    yield slug, language, kind, asked, copy["title"]


def judge(engine, asked):
    """The rank of the right answer for each question, or None, and the first answer; and how long the questions took."""
    ranks, firsts, start = [], [], time.monotonic()
    for slug, language, _, words, title in asked:
        found = engine.search(slug, language, words)
        ranks.append(found.index(title) + 1 if title in found else None)
        firsts.append(found[0] if found else None)
    return ranks, firsts, (time.monotonic() - start) / max(1, len(asked)) * 1000


def summary(ranks):
    if not ranks:
        return "–"
    reciprocal = sum(1 / rank for rank in ranks if rank) / len(ranks)
    first, ten = sum(rank == 1 for rank in ranks), sum(rank is not None for rank in ranks)
    return f"{reciprocal:.2f}, {first / len(ranks):.0%}, {ten / len(ranks):.0%}"


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", required=True)
    options.add_argument("--binary", required=True)
    options.add_argument("--articles", type=int, default=3000, help="how many of each file")
    options.add_argument("--each", type=int, default=5, help="questions of each kind in each language")
    options.add_argument("--seed", type=int, default=7, help="which questions")
    options.add_argument("--parameters", default="", help="more parameters of Bindery's questions, such as q_mode=exact")
    options.add_argument("--only-bindery", action="store_true", help="ask Bindery only")
    options.add_argument("--misses", action="store_true", help="print the questions whose first answer is not the right one")
    options = options.parse_args()
    corpus = {slug: read(f"{options.data}/articles-{slug}.ndjson.zst", options.articles) for slug in LANGUAGES}
    chance = random.Random(options.seed)
    asked = [made for slug, articles in corpus.items() for made in questions(slug, articles, options.each, chance)]
    programs = None if options.only_bindery else Postgres.find()
    if programs is None and not options.only_bindery:
        print("PostgreSQL is skipped: there is no initdb in PATH or /usr/lib/postgresql/*/bin\n")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server = Server(options.binary, f"{folder}/data", options.parameters)
        stack.callback(server.process.wait)
        stack.callback(server.process.terminate)
        stores = {"Bindery": server} if options.only_bindery else {"Bindery": server, "SQLite FTS5": Sqlite()}
        engines = dict(stores)
        if programs:
            postgres = stores["PostgreSQL"] = Postgres(programs)
            stack.callback(postgres.stop)
            engines["PostgreSQL"] = FullText(postgres)
            if postgres.trigrams:
                engines["PostgreSQL with pg_trgm"] = Trigrams(postgres)
            else:
                print("pg_trgm is skipped: the extension is not installed\n")
        for slug, articles in corpus.items():
            for store in stores.values():
                store.load(slug, articles)
        results = {name: judge(engine, asked) for name, engine in engines.items()}
    print(f"{len(asked)} questions about {sum(map(len, corpus.values()))} articles: mean reciprocal rank, right answer first, "
          "right answer among the first ten\n")
    print("| | " + " | ".join(results) + " |")
    print("|---|" + "---|" * len(results))
    groups = defaultdict(list)
    for number, (_, language, kind, _, _) in enumerate(asked):
        for group in ("all", language, kind):
            groups[group].append(number)
    for group, numbers in sorted(groups.items(), key=lambda item: (item[0] != "all", item[0] in KINDS, item[0])):
        cells = [summary([ranks[number] for number in numbers]) for ranks, _, _ in results.values()]
        print(f"| {group} ({len(numbers)}) | " + " | ".join(cells) + " |")
    print("| ms a question | " + " | ".join(f"{took:.1f}" for _, _, took in results.values()) + " |")
    if options.misses:
        for name, (ranks, firsts, _) in results.items():
            for rank, first, (slug, language, kind, words, title) in zip(ranks, firsts, asked):
                if rank != 1:
                    print(f"{name}: {slug} {language} {kind}: {words!r} for {title!r}: {rank}; first is {first!r}")


if __name__ == "__main__":
    main()
