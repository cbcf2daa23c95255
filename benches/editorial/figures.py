#!/usr/bin/env python3
"""Measures working copies, history and their sweep over HTTP, on one blueprint of real articles.

    python3 benches/editorial/figures.py --articles articles.ndjson --size 1000000 --binary target/release/bindery

Imports the articles and reads every kind of list. Then it gives 20 revisions to a tenth of the articles and working copies to a
hundredth, and reads every kind of list of live and of working copies in turns, first right after a write and then once more. It
prints the medians, the ratio of working to live ones, and that of live ones to those before there were any working copies. At last it
keeps fewer revisions, and writes while the others are removed. `--articles` is NDJSON with one article a line, as `cargo bench
--bench scale` generates it in `target/scale`. `--data` is a folder with the articles, which is changed, instead of an import.
Needs Python 3.9, and room on the disk for the articles four times.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import select
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

TOKEN = "figures-of-editorial-work-in-32-characters"
PATH = "/v2/resources/articles"
FIELDS = [
    {"name": "Title", "type": "text", "required": True}, {"name": "Slug", "type": "slug", "unique": True},
    {"name": "Summary", "type": "text"}, {"name": "Body", "type": "rich-text"},
    {"name": "Status", "type": "enum", "settings": {"values": None}},
    {"name": "Category", "type": "enum", "settings": {"values": None}},
    {"name": "Price", "type": "number"}, {"name": "Reading minutes", "type": "number"},
    {"name": "Featured", "type": "boolean"}, {"name": "Tags", "type": "multi-enum", "settings": {"values": None}},
    {"name": "Published on", "type": "date"}]
EDITORIAL = {"working_copy": True, "history": {"keep": 50, "days": 365}, "trash": {"days": 30}}
REVISIONS = 20
BULK = 100
SWEEP_SECONDS = 90


def is_closed(socket):
    """Whether the other side has closed it: then it can be read although nothing was asked."""
    return bool(select.select([socket], [], [], 0)[0])


class Server:
    """A server with a folder of its own."""

    def __init__(self, binary, data, port):
        self.port, self.data = port, data
        self.local = threading.local()
        env = {**os.environ, "BINDERY_ADMIN_TOKEN": TOKEN, "BINDERY_LOG_FILTER": "warn"}
        command = [binary, "serve", "--quiet", "--data", self.data, "--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        while True:
            with contextlib.suppress(OSError, AssertionError):
                self.call("GET", "/readyz")
                return
            assert self.process.poll() is None, "the server exited"
            time.sleep(0.1)

    def call(self, method, path, body=None):
        """Answers the body and the milliseconds that the request took."""
        if getattr(self.local, "connection", None) is None:
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        # A server closes a connection that was idle for minutes.
        if self.local.connection.sock is not None and is_closed(self.local.connection.sock):
            self.local.connection.close()
        if self.local.connection.sock is None:
            self.local.connection.connect()
        began = time.perf_counter()
        self.local.connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self.local.connection.getresponse()
        data = response.read()
        took = (time.perf_counter() - began) * 1000
        assert response.status < 300, (method, path, response.status, data[:300])
        return data, took

    def get(self, path):
        return json.loads(self.call("GET", path)[0])

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def bytes(self):
        return sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for folder, _, names in os.walk(self.data) for name in names)


def load(server, articles, size, settings):
    server.call("POST", "/v2/blueprints", {"name": "Articles", "slug": "articles", "fields": FIELDS, **settings})
    def lines():
        with open(articles, encoding="utf-8") as file:
            for _, line in zip(range(size), file):
                article = json.loads(line)
                published = article.pop("published_at", None)
                created = article.pop("created_at", None)
                yield (json.dumps({"attributes": article, "published_at": published, "created_at": created}) + "\n").encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=3600)
    began = time.perf_counter()
    connection.putrequest("POST", f"{PATH}/import")
    for name, value in {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    answers = []
    reader = threading.Thread(target=lambda: answers.append(read_import(connection)))
    reader.start()
    chunk = b""
    for line in lines():
        chunk += line
        if len(chunk) > 1 << 18:
            connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            chunk = b""
    connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(chunk), chunk) if chunk else b"0\r\n\r\n")
    reader.join()
    assert answers and "error" not in answers[0].lower()[:200], answers
    print(f"import: {size / (time.perf_counter() - began):,.0f} articles a second; {answers[0].strip()[-200:]}", flush=True)


def read_import(connection):
    response = connection.getresponse()
    last = b""
    while piece := response.read1(1 << 20):
        last = (last + piece)[-2000:]
    return last.decode(errors="replace")


def ids_of(server, wanted):
    """Ids that are spread over all dates, oldest first."""
    ids = []
    total = server.get(f"{PATH}?per_page=1")["meta"]["total"]
    pages = max(1, wanted // 100)
    for number in range(pages):
        page = 1 + number * max(1, total // 100 // pages)
        ids += [one["id"] for one in server.get(f"{PATH}?sort=created_at&per_page=100&fields=id&page={page}")["data"]]
    return ids[:wanted]


def in_parallel(jobs, threads=4):
    jobs, lock, errors = iter(jobs), threading.Lock(), []
    def work():
        while not errors:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            try:
                job()
            except Exception as error:  # noqa: BLE001: reported below
                errors.append(error)
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors, errors[:1]


def revise(server, ids):
    before, began = server.bytes(), time.perf_counter()
    for turn in range(REVISIONS):
        def job(part):
            return lambda: server.call("PATCH", f"{PATH}/bulk", {"updates": [{"id": one, "attributes": {"reading_minutes": turn + 1000}} for one in part]})
        in_parallel(job(ids[at:at + BULK]) for at in range(0, len(ids), BULK))
    count = len(ids) * REVISIONS
    print(f"revisions: {count:,} in {time.perf_counter() - began:,.0f} s, {(server.bytes() - before) / count:,.0f} bytes each on the disk", flush=True)


def edit(server, ids):
    chance = random.Random(7)
    def job(part):
        changed = [{"id": one, "attributes": {"title": f"Edited {chance.randrange(10**9)}", "status": chance.choice(["live", "draft"]), "price": chance.randrange(900)}} for one in part]
        return lambda: server.call("PATCH", f"{PATH}/bulk?copy=working", {"updates": changed})
    in_parallel(job(ids[at:at + BULK]) for at in range(0, len(ids), BULK))


def kinds(sample):
    """Names, and functions that answer another query string each time."""
    chance = random.Random(1)
    title = lambda: chance.choice([word for word in chance.choice(sample)["attributes"]["title"].split() if len(word) > 4] or ["linux"])
    status = lambda: chance.choice(["live", "draft", "archived", "review"])
    quote = urllib.parse.quote
    return {
        "newest": lambda: f"page={1 + chance.randrange(900)}",
        "published": lambda: f"filter[published]=true&page={1 + chance.randrange(900)}",
        "status, by price": lambda: f"filter[status]={status()}&sort=price&page={1 + chance.randrange(900)}",
        "price range": lambda: f"filter[price][between]={(low := chance.randrange(600))},{low + 80}&sort=price",
        "by title": lambda: f"sort=title&page={1 + chance.randrange(900)}",
        "title contains": lambda: f"filter[title][contains]={quote(title()[1:])}&sort=-published_at",
        "search": lambda: f"search={quote(title()[:-1])}",
        "q": lambda: f"q={quote(title() + ' ' + title())}",
        "facets": lambda: f"filter[status]={status()}&facets=category,status,featured&page={1 + chance.randrange(900)}",
        "facets of all": lambda: f"facets=category,tags&page={1 + chance.randrange(900)}",
        "stats": lambda: f"filter[category]={chance.choice(['news', 'cloud', 'kernel', 'design'])}&stats=price&page={1 + chance.randrange(900)}",
    }


def lists(server, ids, sample, rounds, copies):
    """Reads each list in turns, first after a write and again. Returns the medians by name, state and kind of copy."""
    chance, medians = random.Random(3), {}
    for name, make in kinds(sample).items():
        times = {}
        for turn in range(rounds):
            query = make()
            # Whoever reads first may warm what the next one reads.
            for copy in copies[turn % len(copies):] + copies[:turn % len(copies)]:
                server.call("PATCH", f"{PATH}/{chance.choice(ids)}?copy={copy}", {"attributes": {"reading_minutes": chance.randrange(10**6)}})
                for state, count in [("first", 25), ("again", 24)]:
                    # Another number of rows, because a kept answer would say nothing.
                    path = f"{PATH}?{query}&copy={copy}&fields=id,attributes.title&per_page={count}"
                    times.setdefault((state, copy), []).append(server.call("GET", path)[1])
        medians.update({(name, *of): statistics.median(taken) for of, taken in times.items()})
    return medians


def show(before, after):
    print(f"{'list':<18}{'state':<8}{'before ms':>10}{'live ms':>9}{'ratio':>7}{'working ms':>11}{'ratio':>7}")
    for name, state in dict.fromkeys((name, state) for name, state, _ in after):
        plain, live, working = before.get((name, state, "live")), after[name, state, "live"], after[name, state, "working"]
        since = f"{plain:>10.2f}{live:>9.2f}{live / plain:>7.2f}" if plain else f"{'':>10}{live:>9.2f}{'':>7}"
        print(f"{name:<18}{state:<8}{since}{working:>11.2f}{working / live:>7.2f}", flush=True)


def sweep(server, ids):
    """Writes while revisions go."""
    sample = ids[::max(1, len(ids) // 20)]
    count = lambda: sum(len(server.get(f"{PATH}/{one}/history?limit=100")["data"]) for one in sample)
    before, busy = count(), []
    write = lambda: server.call("PATCH", f"{PATH}/{ids[0]}?copy=working", {"attributes": {"reading_minutes": random.randrange(10**6)}})[1]
    quiet = [write() for _ in range(2000)]
    blueprint = server.get("/v2/blueprints/articles")["data"]
    kept = {name: blueprint[name] for name in ("name", "slug", "fields", *EDITORIAL)}
    server.call("PUT", "/v2/blueprints/articles", {**kept, "history": {"keep": REVISIONS // 2, "days": 365}})
    began = time.perf_counter()
    # Readers see none of the others from now on; they are removed meanwhile.
    while time.perf_counter() - began < SWEEP_SECONDS:
        busy.append(write())
    removed = (before - count()) * len(ids) // len(sample)
    print(f"sweep: {removed:,} revisions; {len(busy):,} writes in {SWEEP_SECONDS} s: median {statistics.median(busy):.1f} ms ({statistics.median(quiet):.1f} before), "
          f"99.9 % within {sorted(busy)[len(busy) * 999 // 1000]:.1f}, the longest {max(busy):.1f} ms ({max(quiet):.1f} before)", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--articles")
    options.add_argument("--size", type=int, default=100_000)
    options.add_argument("--binary", default="target/release/bindery")
    options.add_argument("--data", help="a folder with the articles")
    options.add_argument("--work", help="a folder for the data, which is removed")
    options.add_argument("--rounds", type=int, default=21)
    options.add_argument("--changed", action="store_true", help="the folder of --data has the revisions, too")
    options.add_argument("--only", action="append", choices=["lists", "sweep"], help="leaves out the other part")
    chosen = options.parse_args()
    work = tempfile.mkdtemp(dir=chosen.work, prefix="editorial-")
    server = Server(chosen.binary, chosen.data or os.path.join(work, "data"), 7811)
    try:
        if not chosen.data:
            load(server, chosen.articles, chosen.size, EDITORIAL)
        ids = ids_of(server, chosen.size // 10)
        sample = server.get(f"{PATH}?per_page=100&page={chosen.size // 500 + 1}")["data"]
        parts = chosen.only or ["lists", "sweep"]
        before = {}
        if not chosen.changed:
            before = lists(server, ids, sample, chosen.rounds, ["live"]) if "lists" in parts else {}
            revise(server, ids)
        edit(server, ids[::10])
        if "lists" in parts:
            show(before, lists(server, ids, sample, chosen.rounds, ["live", "working"]))
        if "sweep" in parts:
            sweep(server, ids)
    finally:
        server.stop()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
