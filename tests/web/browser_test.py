#!/usr/bin/env python3
"""The page in a real browser: every view with hostile jobs, with scripts and without, narrow and wide; and its buttons.

BROOD_SHOTS names a directory for pictures of every view."""

import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import SKIPPED, Browser, Directory, Page, Redis, crash, eventually, hold, job, quarantine  # noqa: E402

VIEWS = ["", "workers", "crashes", "quarantine", "queues", "retries", "scheduled", "dead", "batches", "periodic", "limits", "locks", "classes", "processes"]
HOSTILE = "\"><img src=x onerror=window.bad=1><script>window.bad=1</script>'`{{7*7}}&lt;"
CONTRAST = """(() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ground = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest(".sr, svg")) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push(e.outerHTML.slice(0, 80));
  }
  return bad;
})()"""


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(Directory())
        cls.redis = Redis(cls.directory)
        cls.addClassCleanup(cls.redis.close)
        now = time.time()
        commands = []
        for i in range(60):
            entry = job(HOSTILE if i < 3 else ["ResizeImage", "SendInvoice", "Import::Rows"][i % 3], [HOSTILE if i < 3 else i, "cat.png"], f"{i:024x}",
                        HOSTILE if i < 3 else ["default", "images"][i % 2], error_class=HOSTILE if i < 3 else ["SIGSEGV", "std::runtime_error"][i % 2],
                        error_message=HOSTILE if i < 3 else "cannot open cat.png: No such file or directory", retry_count=i % 4, failed_at=now - 4000)
            for name in ("retry", "dead", "schedule"):
                commands.append(["ZADD", name, now + 30 * i if name != "dead" else now - 300 * i, entry])
            commands.append(["LPUSH", "queue:images", entry])
        commands += [["SADD", "queues", "default", "images", HOSTILE], ["LPUSH", f"queue:{HOSTILE}", job("A")], ["SET", "stat:processed", "1204331"],
                     ["SET", "stat:failed", "2117"]]
        cls.redis.many(commands)
        for name in (HOSTILE, "nightly_report", "erp"):
            hold(cls.redis, name)
            crash(cls.redis, name, name, "c" * 24)
            quarantine(cls.redis, name, name)
        cls.page = Page(cls.redis, cls.directory, listen="tcp")
        cls.addClassCleanup(cls.page.child.stop, signal.SIGKILL)
        cls.browser = Browser(cls.directory)
        cls.addClassCleanup(cls.browser.close)

    def go(self, path):
        self.browser.go(f"http://{self.page.host}/{path}")

    def tearDown(self):
        self.browser.scripts(True)
        self.assertEqual(self.browser.complaints(), [])

    def test_every_view_is_whole_at_every_size_and_runs_nothing_of_what_it_shows(self):
        shots = os.environ.get("BROOD_SHOTS")
        for view in VIEWS:
            for width, height, dark in ((1280, 800, False), (360, 740, True), (2560, 1300, False)):
                with self.subTest(view=view, width=width):
                    self.browser.size(width, height, dark)
                    self.go(view)
                    self.assertLessEqual(self.browser.ask("document.documentElement.scrollWidth"), width)
                    self.assertIsNone(self.browser.ask("window.bad"))
                    self.assertEqual(self.browser.ask("document.querySelectorAll('h1').length"), 1)
                    self.assertEqual(self.browser.ask("[...document.querySelectorAll('table')].filter(t => !t.caption).length"), 0)
                    self.assertEqual(self.browser.ask("[...document.querySelectorAll('input:not([type=hidden])')].filter(i => !i.labels.length).length"), 0)
                    self.assertEqual(self.browser.ask(CONTRAST), [])
                    if shots:
                        self.browser.shot(f"{shots}/{view or 'overview'}-{width}.png")

    def test_every_control_is_reached_by_keyboard_and_shows_it(self):
        self.browser.size(1280, 800)
        self.go("retries")
        self.browser.ask("document.activeElement.blur()")
        seen = set()
        for _ in range(30):
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            seen.add(self.browser.ask("document.activeElement.textContent.trim() || document.activeElement.name"))
            self.assertNotEqual(self.browser.ask("getComputedStyle(document.activeElement).outlineStyle"), "none")
        for control in ("Skip to content", "brood", "Queues", "Live", "Dark", "class", "text", "Filter", "Retry", "Delete"):
            self.assertIn(control, seen)

    def test_without_scripts_a_job_is_retried_by_its_button(self):
        self.browser.scripts(False)
        self.go("retries?class=SendInvoice")
        before = self.redis("ZCARD", "retry")
        self.browser.press("document.querySelector('td.actions button')")
        self.browser.scripts(True)
        self.assertEqual(self.redis("ZCARD", "retry"), before - 1)
        self.assertIn("SendInvoice was retried", self.browser.ask("document.querySelector('.notice.good').textContent"))
        self.assertTrue(self.browser.ask("location.search").startswith("?class=SendInvoice"))

    def test_without_scripts_a_periodic_job_is_paused_and_a_lock_released_by_their_buttons(self):
        self.browser.scripts(False)
        self.go("periodic")
        row = "[...document.querySelectorAll('tr')].find(r => r.textContent.includes('nightly_report'))"
        self.browser.press(f"[...{row}.querySelectorAll('button')].find(b => b.textContent === 'Pause')")
        self.assertEqual(self.redis("HEXISTS", "brood:periodic:job:nightly_report", "paused"), 1)
        self.go("locks")
        self.browser.press(f"{row}.querySelector('button')")
        self.assertEqual(self.redis("EXISTS", "brood:unique:nightly_report"), 0)
        self.assertEqual(self.redis("EXISTS", "brood:unique:erp"), 1)

    def test_without_scripts_a_class_is_released_from_quarantine_by_its_button(self):
        self.browser.scripts(False)
        self.go("quarantine")
        self.browser.press("[...document.querySelectorAll('tr')].find(r => r.textContent.includes('nightly_report')).querySelector('button')")
        self.assertEqual(self.redis("HEXISTS", "brood:quarantine", "nightly_report"), 0)
        self.assertEqual(self.redis("HEXISTS", "brood:quarantine", "erp"), 1)
        self.browser.scripts(True)
        self.assertIn("nightly_report was released; 2 jobs went back", self.browser.ask("document.querySelector('.notice.good').textContent"))

    def test_many_are_deleted_after_a_question(self):
        self.go("scheduled?class=SendInvoice")
        before = self.redis("ZCARD", "schedule")
        self.browser.press("[...document.querySelectorAll('.bulk button')].find(b => b.textContent.startsWith('Delete'))")
        self.assertRegex(self.browser.ask("document.querySelector('h1').textContent"), r"Delete \d+ entries\?")
        self.assertEqual(self.redis("ZCARD", "schedule"), before)
        self.browser.press("document.querySelector('.bulk button')")
        self.assertLess(self.redis("ZCARD", "schedule"), before)
        self.assertIn("were deleted", self.browser.ask("document.querySelector('.notice.good').textContent"))

    def test_the_page_follows_and_keeps_the_focus(self):
        self.browser.size(1280, 800)
        self.go("queues")
        self.browser.ask("document.querySelector('td a').focus()")
        name = self.browser.ask("document.activeElement.textContent")
        self.redis.many([["LPUSH", "queue:images", job("A", [], f"f{i:023x}", "images")] for i in range(100)])
        size = str(self.redis("LLEN", "queue:images"))
        eventually("the new number", lambda: size in self.browser.ask("document.querySelector('main').textContent"))
        self.assertTrue(self.browser.heard_of_stream())
        self.assertEqual(self.browser.ask("document.activeElement.textContent"), name)

    def test_a_time_is_told_in_utc_and_in_the_readers_zone(self):
        self.browser.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
        self.addCleanup(self.browser.call, "Emulation.setTimezoneOverride", timezoneId="")
        self.go("retries")
        title = 'document.querySelector("main time").title'
        utc, local = self.browser.ask(title).split("\n")
        self.assertRegex(utc, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
        self.assertRegex(local, r"GMT\+5:30|IST")
        fresh = job("Fresh", [], "d" * 24, error_class="E", retry_count=0)
        self.redis("ZADD", "retry", 900, fresh)
        eventually("the page has changed", lambda: self.browser.ask('document.querySelector("main").textContent.includes("Fresh")'))
        self.assertEqual(self.browser.ask('[...document.querySelectorAll("main time")].filter(time => !time.title.includes("\\n")).length'), 0)
        self.redis("ZREM", "retry", fresh)

    def test_a_button_stays_that_of_its_job_while_rows_come_and_go_and_its_form_still_counts(self):
        self.browser.size(1280, 800)
        self.go("retries")
        row, rows = "[...document.querySelectorAll('tbody tr')][5]", "document.querySelectorAll('tbody tr').length"
        there = self.browser.ask(rows)
        self.browser.ask(f"window.kept = {row}; {row}.querySelector('button').focus()")
        place = self.browser.ask("document.activeElement.formAction")
        tops = [job("First", [], f"e{i:023x}", error_class="E", retry_count=0) for i in range(3)]
        self.redis("ZADD", "retry", *[word for i, top in enumerate(tops) for word in (1000 + i, top)])
        eventually("the new rows", lambda: self.browser.ask("document.querySelector('tbody').textContent.includes('First')"))
        self.assertEqual(self.browser.ask("document.activeElement.formAction"), place)
        self.assertEqual(self.browser.ask("[...document.querySelectorAll('tbody tr')].indexOf(window.kept)"), 8)
        self.assertEqual(self.browser.ask(rows), there)
        self.redis("ZREM", "retry", *tops)
        eventually("they are gone", lambda: not self.browser.ask("document.querySelector('tbody').textContent.includes('First')"))
        self.assertEqual(self.browser.ask("document.activeElement.formAction"), place)
        before = self.redis("ZCARD", "retry")
        self.browser.press("document.activeElement")
        self.assertEqual(self.redis("ZCARD", "retry"), before - 1)

    def test_without_a_stream_the_page_is_loaded_again_until_there_is_one(self):
        others = []
        self.browser.go("about:blank")

        def other_follows():
            other = self.page.connect()
            other.sendall(f"GET /queues HTTP/1.1\r\nHost: {self.page.host}\r\nAccept: text/event-stream\r\n\r\n".encode())
            if b" 200 OK" not in other.recv(1000):
                return other.close()  # the previous page is not forgotten yet
            others.append(other)
            return True

        for i in range(32):
            eventually(f"stream {i}", other_follows)
        self.go("queues")
        self.browser.heard_of_stream()
        self.redis.many([["LPUSH", "queue:images", job("A", [], f"d{i:023x}", "images")] for i in range(77)])
        size = str(self.redis("LLEN", "queue:images"))
        eventually("the new number", lambda: size in self.browser.ask("document.querySelector('main').textContent"))
        self.assertFalse(self.browser.heard_of_stream())
        for other in others:
            other.close()
        eventually("a stream", self.browser.heard_of_stream, 90)
        self.browser.forgive_lost_connections()

    def test_a_page_that_was_away_is_followed_again(self):
        page = Page(self.redis, self.directory, listen="tcp")
        self.browser.go(f"http://{page.host}/queues")
        eventually("a stream", self.browser.heard_of_stream)
        page.child.stop()
        eventually("it is missed", lambda: self.browser.ask("document.getElementById('live').textContent") == "Not reached", 90)
        again = Page(self.redis, self.directory, listen=f"port {page.port}", port=page.port)
        self.addCleanup(again.child.stop, signal.SIGKILL)
        eventually("it is there", lambda: self.browser.ask("document.getElementById('live').textContent") == "Live", 90)
        eventually("a stream", self.browser.heard_of_stream, 90)
        # With the token of the present server.
        eventually("the new form", lambda: self.browser.ask("document.querySelectorAll('main input[name=token]').length") > 0)
        self.browser.forgive_lost_connections()
        eventually("its page", self.browser.heard_of_stream, 90)
        self.redis("SADD", "queues", "fresh")
        row = "[...document.querySelectorAll('tr')].find(r => r.textContent.includes('fresh'))"
        eventually("the new queue", lambda: self.browser.ask(f"!!{row}"), 90)
        self.browser.press(f"{row}.querySelector('button')")
        self.assertEqual(self.redis("SISMEMBER", "paused", "fresh"), 1)
        self.redis("SREM", "paused", "fresh")
        self.redis("SREM", "queues", "fresh")
        self.browser.go("about:blank")  # before it is missed again
        self.browser.forgive_lost_connections()

    def test_the_colours_are_as_chosen(self):
        self.browser.size(1280, 800, dark=False)
        self.go("queues")
        light = self.browser.ask("getComputedStyle(document.body).backgroundColor")
        self.browser.press("[...document.querySelectorAll('.theme button')].find(b => b.textContent === 'Dark')")
        self.assertEqual(self.browser.ask("location.pathname"), "/queues")
        self.assertNotEqual(self.browser.ask("getComputedStyle(document.body).backgroundColor"), light)
        self.browser.press("[...document.querySelectorAll('.theme button')].find(b => b.textContent === 'Auto')")
        self.assertEqual(self.browser.ask("getComputedStyle(document.body).backgroundColor"), light)


if __name__ == "__main__":
    if not Browser.find():
        print("SKIP: there is no Chromium")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
