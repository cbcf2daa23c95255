#!/usr/bin/env python3
"""Measures a cluster of three nodes over HTTP: saves, imports, reads, and the processor time that nodes need to follow writes.

    python3 benches/cluster/figures.py --articles articles.ndjson --binary target/release/bindery

The storage is a bucket in the memory of this program that takes so many milliseconds for each put of a group. Saves come one after another from one client, through each node in turns, with and without an import through another
node beside them. Reads need `wrk`; without it they are left out. `--articles` is NDJSON with one article a line, as `cargo bench --bench
scale` generates it in `target/scale`. Needs Python 3.9. Processor time is that of the whole process, user and system.
"""

import argparse
import collections
import contextlib
import http.client
import http.server
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

TOKEN = "figures-of-a-cluster-of-three-in-32-characters"
KEY = "a-key-of-the-cluster-of-three-in-32-characters"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
DELAYS = [0, 5, 30, 60]
FIELDS = [
    {"name": "Title", "type": "text"}, {"name": "Summary", "type": "text"}, {"name": "Body", "type": "rich-text"},
    {"name": "Price", "type": "number"}, {"name": "Reading minutes", "type": "number"}, {"name": "Featured", "type": "boolean"}]
NAMES = ["title", "summary", "body", "price", "reading_minutes", "featured"]


class Bucket(http.server.ThreadingHTTPServer):
    """A bucket of the S3 protocol in memory, with conditional puts."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, delay):
        super().__init__(("127.0.0.1", 0), BucketHandler)
        self.delay = delay / 1000
        self.objects, self.uploads, self.requests = {}, {}, collections.Counter()
        self.lock, self.numbers = threading.Lock(), itertools.count(1)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def environment(self):
        return {"AWS_ENDPOINT": f"http://127.0.0.1:{self.server_port}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "eu-central-1",
                "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


class BucketHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        name = urllib.parse.unquote(url.path).lstrip("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "PUT" and "/log/" in name:
            time.sleep(self.server.delay)
        with self.server.lock:
            self.server.requests["list" if "list-type" in query else self.command.lower()] += 1
            status, answer, headers = self.act(name, query, body)
        self.send_response(status)
        for header, value in {"Content-Length": len(answer), **headers}.items():
            self.send_header(header, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def act(self, name, query, body):
        upload = query.get("uploadId")
        if self.command == "PUT" and upload:
            self.server.uploads[upload][int(query["partNumber"])] = body
            return 200, b"", {"ETag": f'"part-{query["partNumber"]}"'}
        if self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and name in self.server.objects:
                return 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
            return 200, b"", {"ETag": self.store(name, body)}
        if self.command == "POST" and "uploads" in query:
            upload = f"upload-{next(self.server.numbers)}"
            self.server.uploads[upload] = {}
            text = f"<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return 200, text.encode(), {}
        if self.command == "POST" and upload:
            parts = self.server.uploads.pop(upload)
            tag = self.store(name, b"".join(parts[number] for number in sorted(parts)))
            text = f"<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket><Key>k</Key><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
            return 200, text.encode(), {}
        if self.command == "POST" and "delete" in query:
            keys = re.findall("<Key>(.*?)</Key>", body.decode())
            for key in keys:
                self.server.objects.pop(f"{name.rstrip('/')}/{key}", None)
            deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, f"<DeleteResult>{deleted}</DeleteResult>".encode(), {}
        if self.command == "DELETE":
            self.server.objects.pop(name, None)
            return 204, b"", {}
        if "list-type" in query:
            return 200, self.listing(name.rstrip("/") + "/", query).encode(), {"Content-Type": "application/xml"}
        return self.read(name)

    def store(self, name, body):
        tag = f'"{next(self.server.numbers):016x}"'
        self.server.objects[name] = (body, tag, time.time())
        return tag

    def listing(self, bucket, query):
        prefix, after = bucket + query.get("prefix", ""), query.get("continuation-token") or query.get("start-after") or ""
        names = sorted(name for name in self.server.objects if name.startswith(prefix) and name > bucket + after)
        items = ""
        for name in names[:1000]:
            body, tag, at = self.server.objects[name]
            modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
            items += (f"<Contents><Key>{name[len(bucket):]}</Key><LastModified>{modified}</LastModified><ETag>{tag}</ETag>"
                      f"<Size>{len(body)}</Size></Contents>")
        more = f"<NextContinuationToken>{names[999][len(bucket):]}</NextContinuationToken>" if len(names) > 1000 else ""
        return f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{items}{more}</ListBucketResult>"

    def read(self, name):
        if name not in self.server.objects:
            return 404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>", {}
        body, tag, at = self.server.objects[name]
        headers = {"ETag": tag, "Last-Modified": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(at))}
        wanted = self.headers.get("Range")
        if self.command == "HEAD":
            return 200, b"", {**headers, "Content-Length": len(body)}
        if not wanted:
            return 200, body, headers
        first, last = wanted.removeprefix("bytes=").split("-")
        first, last = (int(first), min(int(last or len(body)), len(body) - 1)) if first else (max(0, len(body) - int(last)), len(body) - 1)
        return 206, body[first:last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"}


class Node:
    """A server: a node of the cluster of a bucket, or a single one."""

    def __init__(self, binary, data, bucket=None):
        arguments = ["--data", data]
        environment = {**os.environ, "BINDERY_ADMIN_TOKEN": TOKEN, "BINDERY_LOG_FILTER": "warn"}
        if bucket:
            arguments += ["--log", "s3://bucket/prefix"]
            environment.update(bucket.environment(), BINDERY_CLUSTER_KEY=KEY)
        self.port = free_port()
        listen = ["--quiet", "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen([binary, "serve", *arguments, *listen], env=environment, stdout=subprocess.DEVNULL)
        while not self.is_ready():
            assert self.process.poll() is None, "the server exited"
            time.sleep(0.05)

    def is_ready(self):
        with contextlib.suppress(OSError):
            return self.connect().get("/readyz")[0] == 200
        return False

    def connect(self):
        return Client(self.port)

    def cpu(self):
        """The processor time of the process until now, in seconds."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Client:
    """A connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def call(self, method, path, body=None):
        self.connection.request(method, path, body, HEADERS)
        response = self.connection.getresponse()
        return response.status, response.read()

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        status, answer = self.call("POST", path, json.dumps(body))
        assert status in (200, 201), (path, status, answer[:300])
        return answer


@contextlib.contextmanager
def servers(binary, count, delay):
    """Starts nodes over a bucket; with `delay` None, a single server without one."""
    folder, nodes = tempfile.mkdtemp(prefix="bindery-cluster-"), []
    bucket = None if delay is None else Bucket(delay)
    try:
        if bucket:
            environment = {**os.environ, **bucket.environment(), "BINDERY_CLUSTER_KEY": KEY}
            create = [binary, "cluster", "create", "--log", "s3://bucket/prefix", "--data", f"{folder}/0"]
            subprocess.run(create, env=environment, check=True, stdout=subprocess.DEVNULL)
        for number in range(count):
            nodes.append(Node(binary, f"{folder}/{number}", bucket))
        for slug in ("articles", "notes"):
            nodes[0].connect().post("/v2/blueprints", {"name": slug, "slug": slug, "fields": FIELDS})
        yield nodes, bucket
    finally:
        for node in nodes:
            node.stop()
        if bucket:
            bucket.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def lines_of(articles, size):
    with open(articles, encoding="utf-8") as file:
        for line in itertools.islice(file, size):
            article = json.loads(line)
            attributes = {name: article[name] for name in NAMES if name in article}
            yield json.dumps({"published_at": article.get("published_at"), "attributes": attributes}).encode() + b"\n"


def import_lines(node, lines):
    """Imports lines. Answers how many came in a second."""
    began = time.perf_counter()
    status, answer = node.connect().call("POST", "/v2/resources/articles/import?answers=failures", b"".join(lines))
    assert status == 200 and json.loads(answer.splitlines()[-1])["summary"]["failed"] == 0, answer[-300:]
    return len(lines) / (time.perf_counter() - began)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def saves_in_turns(nodes, is_over):
    """Saves through each node in turns, one after another with pauses, until it is over. Answers the milliseconds."""
    clients, took = [node.connect() for node in nodes], []
    for number in itertools.count():
        if is_over(number):
            return took
        began = time.perf_counter()
        clients[number % len(clients)].post("/v2/resources/notes", {"attributes": {"title": f"Save {number}", "price": number}})
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.02 + number % 7 * 0.01)


def measure_saves(options, lines):
    """Saves through each of three nodes in turns, and what an import through another node does to them."""
    print("| A put takes | Saves, p50 / p99 | Beside an import, p50 / p99 | Import beside saves |\n|---|---|---|---|")
    for delay in [None, *DELAYS]:
        with servers(options.binary, 1 if delay is None else 3, delay) as (nodes, _):
            alone = saves_in_turns(nodes, lambda number: number >= options.saves)
            rates, ended = [], threading.Event()
            def repeat():
                while not ended.is_set():
                    rates.append(import_lines(nodes[-1], lines[:1_000]))
            thread = threading.Thread(target=repeat)
            thread.start()
            beside = saves_in_turns(nodes, lambda number: number >= options.saves)
            ended.set()
            thread.join()
        figures = [f"{percentile(took, 0.5):.0f} / {percentile(took, 0.99):.0f} ms" for took in (alone, beside)]
        name = "a single server" if delay is None else f"{delay} ms"
        print(f"| {name} | {figures[0]} | {figures[1]} | {percentile(rates, 0.5):.0f}/s |", flush=True)


def measure_imports(options, lines):
    """Imports of one node, since further ones would share its processors here, and of a single server, in turns."""
    rates = collections.defaultdict(list)
    for _, delay in itertools.product(range(3), [None, *DELAYS]):
        with servers(options.binary, 1, delay) as (nodes, _):
            rates[delay].append(import_lines(nodes[0], lines))
    single = percentile(rates.pop(None), 0.5)
    print(f"\nA single server imports {single:.0f} lines a second. A node, at puts of", end="")
    texts = [f" {delay} ms: {percentile(found, 0.5) / single:.0%}" for delay, found in rates.items()]
    print(",".join(texts), "of that", flush=True)


def measure_following(options):
    """The processor time of each node while so many writes a second go through the first one."""
    with servers(options.binary, 3, 30) as (nodes, _):
        def work(number):
            client = nodes[0].connect()
            for at in itertools.count():
                due = began + (at * options.writers + number) / options.rate
                if due > began + options.seconds:
                    return
                time.sleep(max(0, due - time.perf_counter()))
                client.post("/v2/resources/notes", {"attributes": {"title": f"Write {number} {at}", "body": "<p>text</p>" * 20, "price": at}})
        time.sleep(5)
        began, before = time.perf_counter(), [node.cpu() for node in nodes]
        threads = [threading.Thread(target=work, args=(number,)) for number in range(options.writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        used = [(node.cpu() - earlier) / took for node, earlier in zip(nodes, before)]
        rate = options.rate * options.seconds / took
    print(f"\n{rate:.0f} writes a second: the leader uses {used[0]:.2f} of a core, the others {used[1]:.2f} and {used[2]:.2f}", flush=True)


def measure_requests(options):
    """The requests of nodes that only wait."""
    with servers(options.binary, 3, 0) as (_, bucket):
        time.sleep(20)
        before = collections.Counter(bucket.requests)
        time.sleep(options.idle)
        requests = {kind: round(count * 86_400 / options.idle / 3) for kind, count in (bucket.requests - before).items()}
    print(f"\nA node that waits makes these requests a day: {requests}", flush=True)


SCRIPT = """
local pages = {%s}
local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", pages[number %% #pages + 1], {Authorization = "Bearer %s"})
end
"""


def measure_reads(options, lines):
    """Reads of one node and of three on the same machine, and the processor time that a read takes."""
    if not shutil.which("wrk"):
        print("\nReads are left out, because `wrk` is missing.")
        return
    kinds = {
        "the same 20 pages": [f"/v2/resources/articles?page={page}" for page in range(1, 21)],
        "pages that nobody asked for before": [f"/v2/resources/articles?filter[price][gte]={price / 100}&sort=-reading_minutes" for price in range(200_000)],
        "resources": None}
    print("\n| Reads a second | One node | Three nodes | Reads for each second of processor time |\n|---|---|---|---|")
    with servers(options.binary, 3, 5) as (nodes, _), tempfile.TemporaryDirectory() as folder:
        import_lines(nodes[0], lines)
        time.sleep(10)
        ids = [resource["id"] for page in range(1, 41) for resource in json.loads(nodes[0].connect().get(f"/v2/resources/articles?page={page}")[1])["data"]]
        for kind, pages in kinds.items():
            pages = pages or [f"/v2/resources/articles/{id}" for id in ids]
            rates, efficiency = [], 0
            for count, share in ((1, pages[::2]), (3, pages[1::2])):
                before = sum(node.cpu() for node in nodes)
                runs = []
                for number, node in enumerate(nodes[:count]):
                    script = os.path.join(folder, f"{number}.lua")
                    with open(script, "w", encoding="utf-8") as file:
                        file.write(SCRIPT % (",".join(json.dumps(page) for page in share[number::count]), TOKEN))
                    command = ["wrk", "-t1", "-c8", f"-d{options.seconds}s", "-s", script, f"http://127.0.0.1:{node.port}"]
                    runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
                texts = [run.communicate()[0] for run in runs]
                assert not any("Non-2xx" in text for text in texts), texts
                rates.append(sum(float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]) for text in texts))
                total = sum(int(re.search(r"(\d+) requests in", text)[1]) for text in texts)
                efficiency = efficiency or total / (sum(node.cpu() for node in nodes) - before)
            print(f"| {kind} | {rates[0]:.0f} | {rates[1]:.0f} | {efficiency:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", required=True, help="NDJSON with one article a line")
    parser.add_argument("--binary", default="target/release/bindery", help="the program [%(default)s]")
    parser.add_argument("--size", type=int, default=30_000, help="the number of articles [%(default)s]")
    parser.add_argument("--saves", type=int, default=200, help="the number of saves of each kind [%(default)s]")
    parser.add_argument("--rate", type=int, default=500, help="the writes a second that nodes follow [%(default)s]")
    parser.add_argument("--writers", type=int, default=40, help="the clients that make them [%(default)s]")
    parser.add_argument("--seconds", type=int, default=20, help="the seconds of writes and of each kind of reads [%(default)s]")
    parser.add_argument("--idle", type=int, default=120, help="the seconds in which the requests of idle nodes are counted [%(default)s]")
    options = parser.parse_args()
    lines = list(lines_of(options.articles, options.size))
    measure_saves(options, lines)
    measure_imports(options, lines)
    measure_following(options)
    measure_requests(options)
    measure_reads(options, lines)


if __name__ == "__main__":
    main()
