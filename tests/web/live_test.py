#!/usr/bin/env python3
"""Pages that are followed by a stream of events: who gets one, what it costs, and how it ends."""

import hashlib
import os
import pathlib
import re
import select
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import Directory, Page, Redis, eventually, job, read_answer  # noqa: E402

MOST_STREAMS = 32


class Stream:
    """A page that is followed, as a browser's script does it."""

    def __init__(self, page, path, **headers):
        self.client = page.connect()
        lines = [f"GET {path} HTTP/1.1", f"Host: {page.host}", "Accept: text/event-stream", *[f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]]
        self.client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.waiting, self.file = b"", self.client.makefile("rb")
        self.answer = read_answer(self.file)  # a stream has no length, and so no body

    @property
    def status(self):
        return self.answer.status

    def event(self, wanted=None):
        """The next event, or the next of that name: its name and its data.  None: the stream has ended."""
        while True:
            name, data, comment = None, [], None
            while True:
                line = self.file.readline()
                if not line:
                    return None
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    data.append(line[6:])
                elif line.startswith(":"):
                    comment = line
                elif not line:
                    break
            if name and wanted in (None, name):
                self.comment = comment
                return name, "\n".join(data)

    def close(self):
        self.file.close()
        self.client.close()


class LiveTest(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(Directory())
        self.redis = Redis(self.directory)
        self.addCleanup(self.redis.close)
        self.streams = []
        self.addCleanup(lambda: [stream.close() for stream in self.streams])

    def page(self, *options, **more):
        page = Page(self.redis, self.directory, *options, **more)
        self.addCleanup(page.child.stop, signal.SIGKILL)
        return page

    def follow(self, page, path, **headers):
        self.streams.append(Stream(page, path, **headers))
        return self.streams[-1]

    def descriptors(self, page):
        return len(os.listdir(f"/proc/{page.child.pid}/fd"))

    def push(self, count):
        self.redis("LPUSH", "queue:default", *[job("A", [i]) for i in range(count)])


class Streams(LiveTest):
    def test_a_change_comes_by_itself_with_the_token_of_who_looks(self):
        self.redis("SADD", "queues", "default")
        page = self.page()
        cookie, token = page.visit()
        one, other = self.follow(page, "/queues?said=x&proof=y", Cookie=cookie), self.follow(page, "/queues")
        self.assertEqual(one.answer.headers["content-type"], "text/event-stream")
        self.assertEqual(one.answer.headers["x-accel-buffering"], "no")
        self.assertEqual(one.answer.headers["cache-control"], "no-store")
        self.assertIn("connect-src 'self'", one.answer.headers["content-security-policy"])
        self.assertNotIn("content-length", one.answer.headers)
        self.assertEqual(one.event(), ("hello", token))
        self.assertEqual(other.event(), ("hello", ""))
        name, first = one.event()
        self.assertEqual(name, "page")
        self.assertIn('name="token" value=""', first)  # it is the same for all
        self.assertTrue(first.startswith('<div class="title"><h1>Queues</h1>'), first[:80])
        self.assertNotIn("<html", first)
        self.assertEqual(other.event("page")[1], first)
        self.push(4711)
        self.assertIn("4,711", one.event("page")[1])
        self.assertIn("4,711", other.event("page")[1])

    def test_only_pages_are_followed_and_by_nobody_from_elsewhere(self):
        page = self.page()
        self.assertTrue(page.get("/api/v1/status", Accept="text/event-stream").headers["content-type"].startswith("application/json"))
        self.assertEqual(self.follow(page, "/queues", Sec_Fetch_Site="cross-site").status, 403)
        self.assertEqual(page.get("/queues", Accept="text/event-stream", Host="evil.example").status, 421)
        self.assertEqual(page.get("/nothing", Accept="text/event-stream").status, 404)
        self.redis("SADD", "queues", "default")
        below = self.page(config="[web]\nbase_path = \"/jobs/brood\"\n", listen="tcp")
        for path in ("/jobs/brood/queues", "/queues"):  # a proxy may have removed it
            self.assertIn('href="/jobs/brood/queues/one?name=default"', self.follow(below, path).event("page")[1])

    def test_thirty_two_follow_and_cost_one_look_and_no_page(self):
        self.redis("SADD", "queues", "default")
        page = self.page()
        for path in ("/queues", "/workers", "/locks"):
            self.assertEqual(page.get(path).status, 200)
        before = self.descriptors(page)

        def commands():
            calls = dict(re.findall(r"cmdstat_(\S+):calls=(\d+)", self.redis("INFO", "commandstats").decode()))
            return sum(int(count) for name, count in calls.items() if name not in ("info", "lpush"))

        began = commands()
        page.get("/queues")
        of_one = commands() - began
        self.assertGreater(of_one, 0)
        streams = [self.follow(page, "/queues") for _ in range(MOST_STREAMS)]
        self.assertEqual([one.status for one in streams], [200] * MOST_STREAMS)
        refused = [page.get("/queues", Accept="text/event-stream") for _ in range(8)]
        self.assertEqual([one.status for one in refused], [503] * 8)
        self.assertIn("load this one again", refused[0].text)
        self.assertEqual(refused[0].headers["retry-after"], "60")
        began, at = commands(), time.monotonic()
        for size in range(1, 4):
            self.push(1)
            for one in streams:
                while f">{size}</" not in (event := one.event("page"))[1]:
                    self.assertTrue(event)
            self.assertEqual(page.get("/workers").status, 200)
        # Once every two seconds, however many browsers follow.
        self.assertLessEqual(commands() - began, of_one * ((time.monotonic() - at) / 2 + 1))
        for path in ("/queues", "/workers", "/locks"):
            self.assertEqual(page.get(path).status, 200)

        streams[0].close()
        eventually("there is room again", lambda: self.follow(page, "/queues").status == 200)
        for one in self.streams:
            one.close()
        eventually("all are forgotten", lambda: self.descriptors(page) <= before)
    def test_who_takes_nothing_is_closed_and_the_others_go_on(self):
        long = "n" * 2_000
        self.redis.many([["ZADD", "retry", 1_000 + i, job("A", [long], f"{i:024x}", error_class="E", error_message=long, retry_count=0)] for i in range(100)])
        page = self.page()
        memory = lambda: int(re.search(r"Private_Dirty:\s+(\d+) kB", pathlib.Path(f"/proc/{page.child.pid}/smaps_rollup").read_text())[1])  # noqa: E731
        self.assertEqual(page.get("/retries").status, 200)
        slow = [self.follow(page, f"/retries?page={i % 4}&x={i}") for i in range(MOST_STREAMS - 1)]
        quick = self.follow(page, "/retries")
        ended = select.poll()
        for one in slow:
            ended.register(one.client, 0)  # only for its end
        most, changes = 0, 0

        def only_one_is_left():
            nonlocal most, changes
            changes += 1
            self.redis("ZADD", "retry", 500 + changes, job("A", [long], f"{changes:023x}f", error_class="E", retry_count=0))
            self.assertTrue(quick.event("page"))
            most = max(most, memory())
            return len(ended.poll(0)) == MOST_STREAMS - 1

        eventually("the slow ones are closed", only_one_is_left, 120)
        if os.environ.get("BROOD_SANITIZE", "") == "":
            self.assertLess(most, 8 * 1024)

    def test_a_stream_ends_with_the_right_to_look(self):
        path = pathlib.Path(self.directory) / "users"

        def write(*names):
            path.with_suffix(".new").write_text("".join(f"{name} read sha256:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in names))
            path.with_suffix(".new").chmod(0o600)
            path.with_suffix(".new").rename(path)

        write("ann", "bob")
        page = self.page(config=f"[web]\nusers = \"{path}\"\n")
        self.assertEqual(page.get("/queues", Accept="text/event-stream").status, 401)
        self.assertEqual(page.get("/queues", Accept="text/event-stream", Authorization="Bearer eve").status, 401)
        ann = self.follow(page, "/queues", Authorization="Bearer ann")
        self.assertEqual(ann.event()[0], "hello")
        self.assertNotIn("<button", ann.event("page")[1])
        write("bob")
        while ann.event():
            pass
        self.assertEqual(page.get("/queues", Accept="text/event-stream", Authorization="Bearer ann").status, 401)
        self.assertEqual(self.follow(page, "/queues", Authorization="Bearer bob").status, 200)

    def test_each_is_sent_what_its_own_role_may_do(self):
        self.redis("SADD", "queues", "default")
        users = pathlib.Path(self.directory) / "users"
        users.write_text("".join(f"{name} {name} sha256:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("read", "admin")))
        users.chmod(0o600)
        page = self.page(config=f"[web]\nusers = \"{users}\"\n")
        admin, reader = (self.follow(page, "/queues", Authorization=f"Bearer {name}") for name in ("admin", "read"))
        for _ in range(2):
            self.assertIn(">Pause</button>", admin.event("page")[1])
            self.assertNotIn("<button", reader.event("page")[1])
            self.push(1)

    def test_trouble_is_told_and_a_silent_stream_beats(self):
        self.redis("SADD", "queues", "default")
        page = self.page()
        stream = self.follow(page, "/queues")
        self.assertEqual(stream.event("page")[0], "page")
        os.kill(self.redis.child.pid, signal.SIGSTOP)
        try:
            self.assertEqual(stream.event("trouble"), ("trouble", "503"))
            self.assertEqual(page.get("/workers").status, 200)  # no other request waits for it
        finally:
            os.kill(self.redis.child.pid, signal.SIGCONT)
        self.assertIn("Queues", stream.event("page")[1])
        self.assertEqual(stream.event(), ("beat", ""))  # and no unchanged page
        self.assertEqual(stream.comment, ": ")

    def test_a_page_that_ends_ends_its_streams_at_once(self):
        page = self.page()
        streams = [self.follow(page, path) for path in ("/", "/workers", "/locks")]
        page.child.process.send_signal(signal.SIGTERM)
        for stream in streams:
            while stream.event():
                pass
        ended = page.child.process.wait(10)
        if os.environ.get("BROOD_SANITIZE", "") == "":  # a search for leaks needs what the page may not do
            self.assertEqual(ended, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
