#!/usr/bin/env python3
"""Failures of real jobs reach error services: servers of ours that speak Sentry's, Honeybadger's and our own protocol, and that hang, refuse, limit and
lose their certificates.  brood runs as a whole, and its reporter is killed."""

import hashlib
import hmac
import http.server
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "web"))
from support import BROOD, EXAMPLES, Child, Directory, Redis, eventually, job  # noqa: E402

NOT_TAKEN = object()  # the server closes the connection without an answer
ENDLESS = object()  # the answer has no end


class Service:
    """A server with chosen answers, which keeps what it took."""

    def __init__(self, tls=None, port=0):
        self.taken, self.seen, self.answers, self.open = [], [], [], threading.Event()
        self.fails_at = None  # reports with this text are answered by 500
        self.open.set()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = {"path": self.path, "headers": dict(self.headers), "body": body, "at": time.monotonic()}
                service.seen.append(request)
                service.open.wait()
                status, headers = service.answers.pop(0) if service.answers else (200, {})
                if service.fails_at is not None and service.fails_at in body:
                    status = 500
                if status is NOT_TAKEN:
                    self.close_connection = True
                    return
                if status is ENDLESS:
                    self.send_response(200)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while True:
                        self.wfile.write(b"1\r\nx\r\n" * 10_000)
                if 200 <= status < 300:
                    service.taken.append(request)
                self.send_response(status)
                text = b'{"id":"1"}'
                for name, value in {"Content-Length": len(text), **headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.scheme = "https" if tls else "http"
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def dsn(self):
        return f"{self.scheme}://public0key@127.0.0.1:{self.port}/42"

    def events(self):
        """What Sentry reads from the envelopes."""
        return [self.event(request) for request in list(self.taken)]

    @staticmethod
    def event(request):
        head, item, event = request["body"].decode().rstrip("\n").split("\n")
        assert json.loads(item)["type"] == "event"
        assert json.loads(item)["length"] == len(event.encode())
        event = json.loads(event)
        assert json.loads(head)["event_id"] == event["event_id"]
        return event

    def reports(self):
        return [json.loads(request["body"]) for request in list(self.taken)]

    def hang(self):
        self.open.clear()

    def go_on(self):
        self.open.set()

    def close(self):
        self.open.set()
        self.server.shutdown()
        self.server.server_close()


class Running:
    def __init__(self, config, workers=2, shards=1):
        self.made = Directory()
        self.directory = self.made.__enter__()
        self.shards = []
        for i in range(shards):
            os.makedirs(f"{self.directory}/redis{i}")
            self.shards.append(Redis(f"{self.directory}/redis{i}"))
        self.redis = self.shards[0]
        self.config = f"{self.directory}/brood.toml"
        self.workers = workers
        self.configure(config)
        self.jobs = 0
        self.start()

    def start(self):
        self.brood = Child(f"{self.directory}/log", BROOD, "run", "-C", self.config, env=self.environment())
        begin = f"pid={self.brood.pid} event=ready "
        eventually("brood is ready", lambda: begin in self.log() or self.brood.process.poll() is not None)

    def environment(self):
        return {"RUNTIME_DIRECTORY": self.directory, "STATE_DIRECTORY": self.directory}

    def configure(self, config):
        where = f'[redis]\nurl = "{self.redis.url}"\n'
        if len(self.shards) > 1:
            where = "".join(f'[[redis.shard]]\nurl = "{shard.url}"\n' for shard in self.shards)
        pathlib.Path(self.config).write_text(
            f'concurrency = {self.workers}\npoll_interval = "100ms"\nenvironment = "production"\nrequire = ["{EXAMPLES}"]\n{where}{config}')

    def log(self):
        return self.brood.log()

    def push(self, name, args=(), shard=0, **more):
        self.jobs += 1
        jid = f"{self.jobs:024x}"
        self.shards[shard]("LPUSH", "queue:default", job(name, args, jid, **more))
        return jid

    def failed(self):
        return sum(int(shard("ZCARD", name)) for shard in self.shards for name in ("retry", "dead"))

    def spools(self):
        return sorted(pathlib.Path(self.directory).glob("*.errors"))

    def reporter(self):
        """The process of the reporter."""
        found = self.reporters()
        return found[0] if found else None

    def reporters(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int(entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self.brood.pid and b"brood: errors" in entry.joinpath("cmdline").read_bytes():
                    found.append(int(entry.name))
            except (OSError, IndexError):
                pass
        return found

    def command(self, *words, **more):
        return subprocess.run([BROOD, *words], env={**os.environ, **self.environment()}, capture_output=True, text=True, timeout=60, check=False, **more)

    def status(self):
        return json.loads(self.command("status", "--json", "-C", self.config).stdout)

    def metric(self, name, *labels):
        """The sum of the samples that have these labels."""
        text = self.command("status", "--format", "prometheus", "-C", self.config).stdout
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{") and all(label in line for label in labels))

    def close(self):
        try:
            self.brood.stop(signal.SIGKILL)
            for shard in self.shards:
                shard.close()
        finally:
            self.made.__exit__()


def processor_time(pid):
    """In seconds."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def certificates(directory, name="127.0.0.1"):
    """An authority, and a server's certificate by it."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=directory)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    pathlib.Path(directory, "more").write_text(f"subjectAltName=IP:{name}\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "more")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{directory}/server.pem", f"{directory}/server.key")
    return context


class ErrorReports(unittest.TestCase):
    def service(self, **more):
        service = Service(**more)
        self.addCleanup(service.close)
        return service

    def running(self, config, **more):
        running = Running(config, **more)
        self.addCleanup(running.close)
        self.addCleanup(lambda: self.tail(running))
        return running

    def tail(self, running):
        if any(error for _, error in getattr(self._outcome, "errors", []) or getattr(getattr(self._outcome, "result", None), "failures", [])):
            print(running.log()[-6000:])

    def test_each_service_and_the_program_get_an_exception_and_a_crash(self):
        sentry, honeybadger, hook = self.service(), self.service(), self.service()
        running = self.running(f"""[on_error]
run = ["sh", "-c", "cat >> told"]
sentry_dsn = "{sentry.dsn}"
honeybadger_api_key = "hbp_key"
honeybadger_endpoint = "{honeybadger.url}"
webhook = "{hook.url}/errors?team=night"
webhook_secret = "se cret"
release = "shop@1.2"
directory = "/tmp"
""".replace('directory = "/tmp"', f'directory = "{Directory().__enter__()}"'))
        told = pathlib.Path(running.config).read_text().split('directory = "')[1].split('"')[0] + "/told"
        thrown = running.push("Fail", ["no luck"], tags=["night", "shop"])
        crashed = running.push("Segfault", [])

        events = eventually("both events", lambda: len(sentry.taken) == 2 and sentry.events())
        eventually("both notices", lambda: len(honeybadger.taken) == 2)
        eventually("both reports", lambda: len(hook.taken) == 2)
        eventually("the program has both", lambda: pathlib.Path(told).exists() and len(pathlib.Path(told).read_text().splitlines()) == 2)

        by_jid = {event["tags"]["job.jid"]: event for event in events}
        event = by_jid[thrown]
        self.assertEqual(event["exception"]["values"][0]["type"], "std::runtime_error")
        self.assertEqual(event["exception"]["values"][0]["value"], "no luck")
        self.assertEqual((event["environment"], event["release"], event["transaction"], event["level"]), ("production", "shop@1.2", "Fail", "error"))
        self.assertEqual(event["contexts"]["job"]["tags"], ["night", "shop"])
        self.assertEqual((event["contexts"]["job"]["attempt"], event["contexts"]["job"]["becomes"]), (1, "retry"))
        self.assertNotIn("arguments", event["contexts"]["job"])
        self.assertRegex(event["event_id"], r"\A[0-9a-f]{32}\Z")
        event = by_jid[crashed]
        self.assertEqual((event["exception"]["values"][0]["type"], event["level"]), ("SIGSEGV", "fatal"))
        frames = event["exception"]["values"][0]["stacktrace"]["frames"]
        self.assertEqual(frames[-1]["function"], "Segfault::perform()")
        self.assertTrue(frames[-1]["filename"].endswith("crashes.cpp") and frames[-1]["lineno"] > 0, frames[-1])
        self.assertEqual(event["fingerprint"][:2], ["Segfault", "SIGSEGV"])
        request = sentry.taken[0]
        self.assertEqual(request["path"], "/api/42/envelope/")
        self.assertRegex(request["headers"]["X-Sentry-Auth"], r"\ASentry sentry_version=7, sentry_client=brood/[0-9.]+, sentry_key=public0key\Z")
        self.assertEqual(request["headers"]["Content-Type"], "application/x-sentry-envelope")

        notice = next(notice for notice in honeybadger.reports() if notice["request"]["component"] == "Segfault")
        self.assertEqual(honeybadger.taken[0]["path"], "/v1/notices")
        self.assertEqual(honeybadger.taken[0]["headers"]["X-API-Key"], "hbp_key")
        self.assertEqual(notice["error"]["class"], "SIGSEGV")
        self.assertEqual(notice["error"]["backtrace"][0]["method"], "Segfault::perform()")
        self.assertEqual(notice["server"]["environment_name"], "production")
        self.assertEqual(notice["request"]["context"]["jid"], crashed)

        for request in hook.taken:
            self.assertEqual(request["path"], "/errors?team=night")
            self.assertEqual(request["headers"]["X-Brood-Signature"], "sha256=" + hmac.new(b"se cret", request["body"], hashlib.sha256).hexdigest())
            self.assertEqual(request["headers"]["X-Brood-Event"], "failure")
        report = next(report for report in hook.reports() if report["jid"] == thrown)
        self.assertEqual((report["class"], report["queue"], report["becomes"], report["attempt"]), ("Fail", "default", "retry", 1))
        self.assertGreater(report["retry_at"], time.time())
        self.assertNotIn("job", report)
        self.assertNotIn("no luck", json.dumps({name: value for name, value in report.items() if name != "error_message"}))
        of_program = [json.loads(line) for line in pathlib.Path(told).read_text().splitlines()]
        self.assertEqual({report["job"]["jid"] for report in of_program}, {thrown, crashed})

    def test_a_service_that_hangs_delays_no_job_no_other_service_and_no_stop(self):
        hangs, works = self.service(), self.service()
        hangs.hang()
        running = self.running(f'[on_error]\nsentry_dsn = "{hangs.dsn}"\nwebhook = "{works.url}"\nstorm_after = 0\n')
        for i in range(50):
            running.push("Fail", [str(i)])
        eventually("all are settled", lambda: running.failed() == 50, 10)
        eventually("the other has all", lambda: len(works.taken) == 50)
        self.assertEqual(len(hangs.taken), 0)
        began = time.monotonic()
        self.assertEqual(running.brood.stop(), 0)
        self.assertLess(time.monotonic() - began, 12)
        self.assertIn("event=error_reports_lost reports=50", running.log())

    def test_a_storm_is_a_few_reports_and_a_digest(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nstorm_after = 5\n')
        for i in range(300):
            running.push("Fail", ["one" if i < 200 else "two"])
        for _ in range(3):
            running.push("Nobody")
        eventually("all are settled", lambda: running.failed() == 303)
        eventually("the first are sent", lambda: len(hook.taken) == 8)
        self.assertEqual(running.brood.stop(), 0)
        reports = hook.reports()
        digests = [report for report in reports if "digest" in report]
        self.assertEqual(len(reports), 9)
        self.assertEqual([(digest["class"], digest["error_class"], digest["digest"]["failures"]) for digest in digests], [("Fail", "std::runtime_error", 295)])
        self.assertEqual([request["headers"]["X-Brood-Event"] for request in hook.taken].count("digest"), 1)
        self.assertNotIn("event=error_reports_lost", running.log())

    def test_limits_are_obeyed_what_passes_is_tried_again_and_what_does_not_is_counted(self):
        limits, fails, refuses = self.service(), self.service(), self.service()
        limits.answers = [(429, {"Retry-After": "3"}), (200, {"X-Sentry-Rate-Limits": "2:error;default:key, 900:session:key"})]
        fails.answers = [(500, {}), (503, {"Retry-After": "1"}), (NOT_TAKEN, {})]
        refuses.answers = [(403, {})] * 2
        running = self.running(f"""[on_error]
sentry_dsn = "{limits.dsn}"
webhook = "{fails.url}"
honeybadger_api_key = "key"
honeybadger_endpoint = "{refuses.url}"
at_once = 1
""")
        running.push("Fail", ["first"])
        eventually("it was limited", lambda: len(limits.seen) == 1)
        running.push("Fail", ["second"])
        eventually("both are taken", lambda: len(limits.taken) == 2)
        times = [request["at"] for request in limits.seen]
        self.assertGreaterEqual(times[1] - times[0], 2.9)
        self.assertGreaterEqual(times[2] - times[1], 1.9)
        eventually("the other took both", lambda: len(fails.taken) == 2)
        self.assertEqual(len(refuses.seen), 2)
        eventually("the log says so", lambda: "event=error_service_refuses service=honeybadger" in running.log())
        self.assertIn('event=error_service_away service=sentry reason="it answered 429', running.log())
        self.assertIn("event=error_service_is_back service=sentry", running.log())
        self.assertEqual(len({event["event_id"] for event in limits.events()}), 2)

    def test_a_service_that_fails_for_one_report_again_and_again_gets_the_next(self):
        hook = self.service()
        hook.fails_at = b"poison"
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nat_once = 1\n')
        running.push("Fail", ["poison"], retry=0)
        eventually("it is tried five times", lambda: len(hook.seen) == 5, 60)
        running.push("Fail", ["well"], retry=0)
        eventually("the next is taken", lambda: len(hook.taken) == 1, 60)
        self.assertEqual(hook.reports()[0]["error_message"], "well")
        eventually("the first is given up", lambda: running.metric("brood_error_reports_lost_total", 'service="webhook"', 'reason="refused"') == 1, 60)
        self.assertEqual(len(hook.seen), 7)

    def test_reports_wait_for_a_service_that_fails_at_all_of_them(self):
        hook = self.service()
        hook.fails_at = b""
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nat_once = 1\n')
        running.push("Fail", ["first"], retry=0)
        eventually("it is tried more than five times", lambda: len(hook.seen) > 5, 60)
        self.assertEqual(running.metric("brood_error_service_up", 'service="webhook"'), 0)
        self.assertNotIn("error_service_is_back", running.log())
        hook.fails_at = None
        eventually("it is taken", lambda: len(hook.taken) == 1, 60)
        eventually("it is up", lambda: running.metric("brood_error_service_up", 'service="webhook"') == 1)
        self.assertEqual(running.metric("brood_error_reports_lost_total", 'service="webhook"', 'reason="refused"'), 0)
        self.assertEqual(running.log().count("event=error_service_is_back"), 1)

    def test_an_answer_without_end_holds_up_no_report(self):
        hook = self.service()
        hook.answers = [(ENDLESS, {})]
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nat_once = 1\n')
        running.push("Fail", ["first"])
        eventually("it is answered", lambda: len(hook.seen) == 1)
        running.push("Fail", ["second"])
        eventually("the next is taken", lambda: len(hook.taken) == 1)
        eventually("both are counted", lambda: running.metric("brood_error_reports_total", 'service="webhook"') == 2)

    def test_a_killed_reporter_is_started_again_and_loses_nothing(self):
        hook = self.service()
        hook.hang()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nstorm_after = 0\nat_once = 4\n')
        first = eventually("the reporter runs", running.reporter)
        for i in range(40):
            running.push("Fail", [str(i)])
        eventually("all are settled", lambda: running.failed() == 40)
        eventually("some are under way", lambda: len(hook.seen) >= 4)
        os.kill(first, signal.SIGKILL)
        for i in range(40, 60):
            running.push("Fail", [str(i)])
        second = eventually("another runs", lambda: (pid := running.reporter()) and pid != first and pid)
        self.assertIn('event=error_reporter_ended status="killed by SIGKILL"', running.log())
        os.kill(second, signal.SIGKILL)
        hook.go_on()
        eventually("all have come", lambda: len({report["jid"] for report in hook.reports()}) == 60)
        self.assertEqual(len({report["id"] for report in hook.reports()}), 60)
        self.assertNotIn("event=error_reports_lost", running.log())

    def test_a_killed_worker_is_reported_once_and_its_jobs_go_on(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\n')
        jid = running.push("Sleep", [600])
        worker = eventually("it runs", lambda: next((int(w["pid"]) for w in running.status()["workers"] if w["state"] == "busy"), None))
        os.kill(worker, signal.SIGKILL)
        eventually("it is charged", lambda: running.failed() == 1)
        eventually("it is reported", lambda: len(hook.taken) == 1)
        report = hook.reports()[0]
        self.assertEqual((report["jid"], report["error_class"], report["becomes"]), (jid, "SIGKILL", "retry"))

    def test_tls_is_checked(self):
        made = Directory()
        directory = made.__enter__()
        self.addCleanup(made.__exit__)
        hook = self.service(tls=certificates(directory))
        config = f'[on_error]\nwebhook = "{hook.url}"\n'
        running = self.running(config)
        running.push("Fail", ["secret"])
        eventually("it is refused", lambda: "event=error_service_away service=webhook" in running.log())
        self.assertIn("of an unknown authority (CN=authority); [on_error.tls] ca names whom to trust", running.log())
        self.assertEqual(hook.seen, [])
        running.configure(config + f'[on_error.tls]\nca = "{directory}/ca.pem"\n')
        self.assertEqual(running.command("restart", "--pid", str(running.brood.pid)).returncode, 0)
        eventually("it is taken", lambda: len(hook.taken) == 1)

    def test_status_and_metrics_show_each_service_and_what_is_lost(self):
        works, refuses = self.service(), self.service()
        away = Service()
        away.close()
        refuses.answers = [(403, {})] * 100
        running = self.running(f"""[on_error]
sentry_dsn = "{refuses.dsn}"
webhook = "{works.url}"
honeybadger_api_key = "key"
honeybadger_endpoint = "{away.url}"
storm_after = 20
queue = 15
""")
        for i in range(30):
            running.push("Fail", [str(i)], retry=0)
            if i % 10 == 9:  # more at once than the queue takes would be too many for each service
                eventually("they are sent", lambda sent=min(i + 1, 20): len(works.taken) == sent)
        eventually("twenty were refused", lambda: running.metric("brood_error_reports_lost_total", 'service="sentry"', 'reason="refused"') == 20)
        # Fifteen wait.  How many more were under way when the others came depends on the moment.
        eventually("the queue is full", lambda: running.metric("brood_error_reports_lost_total", 'service="honeybadger"', 'reason="queue"') >= 1)
        self.assertEqual(running.metric("brood_error_reports_total", 'service="webhook"'), 20)
        self.assertEqual(running.metric("brood_failures_in_digests_total"), 10)
        self.assertEqual(running.metric("brood_error_service_up", 'service="webhook"'), 1)
        self.assertEqual(running.metric("brood_error_service_up", 'service="sentry"'), 0)
        self.assertEqual(running.metric("brood_error_service_up", 'service="honeybadger"'), 0)
        reports = running.status()["error_reports"]
        self.assertEqual((reports["written"], reports["unwritten"], reports["summed"], reports["forgotten"]), (30, 0, 10, 0))
        services = {service["name"]: service for service in reports["services"]}
        self.assertEqual(set(services), {"sentry", "honeybadger", "webhook"})
        self.assertEqual((services["webhook"]["sent"], services["webhook"]["away_since"]), (20, None))
        self.assertGreater(services["honeybadger"]["away_since"], time.time() - 600)
        text = running.command("status", "-C", running.config).stdout
        self.assertRegex(text, r"honeybadger +0 +[1-5] +takes none for [0-9]+s")
        self.assertIn("10 failures are in digests of storms", text)

    def test_the_command_tries_each_service(self):
        works, refuses = self.service(), self.service()
        refuses.answers = [(403, {})]
        running = self.running(f"""[on_error]
run = ["sh", "-c", "cat >/dev/null; echo broken >&2; exit 3"]
sentry_dsn = "{works.dsn}"
webhook = "{refuses.url}"
""")
        tried = running.command("errors", "test", "-C", running.config)
        self.assertEqual(tried.stdout, "program: did not take the report: exit status 3: broken\nsentry: took the report\n"
                         'webhook: did not take the report: it answered 403: {\"id\":\"1\"}\n', tried.stderr)
        self.assertEqual(tried.returncode, 69)
        self.assertEqual(works.events()[0]["exception"]["values"][0]["type"], "brood::TestReport")
        running.configure(f'[on_error]\nsentry_dsn = "{works.dsn}"\n')
        tried = running.command("errors", "test", "--json", "-C", running.config)
        self.assertEqual(tried.returncode, 0)
        self.assertEqual(json.loads(tried.stdout)["services"], [{"name": "sentry", "taken": True, "reason": None}])
        running.configure("")
        self.assertEqual(running.command("errors", "test", "-C", running.config).returncode, 78)

    def test_a_restart_and_an_upgrade_lose_no_report(self):
        hook = self.service()
        hook.hang()
        config = f'[on_error]\nwebhook = "{hook.url}"\nstorm_after = 0\n'
        running = self.running(config)
        for i in range(10):
            running.push("Fail", [str(i)])
        eventually("all are settled", lambda: running.failed() == 10)
        running.configure(config + "queue = 500\n")
        self.assertEqual(running.command("restart", "--pid", str(running.brood.pid)).returncode, 0)
        for i in range(10, 20):
            running.push("Fail", [str(i)])
        self.assertEqual(running.command("upgrade", "--pid", str(running.brood.pid)).returncode, 0)
        for i in range(20, 30):
            running.push("Fail", [str(i)])
        eventually("all are settled", lambda: running.failed() == 30)
        hook.go_on()
        eventually("all have come", lambda: len({report["jid"] for report in hook.reports()}) == 30)
        self.assertNotIn("event=error_reports_lost", running.log())

    def test_one_reporter_serves_all_shards(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\n', shards=2)
        jids = {running.push("Fail", ["x"], shard=0), running.push("Fail", ["x"], shard=1), running.push("Segfault", shard=1)}
        eventually("all are reported", lambda: {report["jid"] for report in hook.reports()} == jids)
        self.assertEqual(len(running.reporters()), 1)

    def test_the_reporter_of_a_killed_supervisor_sends_the_rest_and_the_next_start_tidies_up(self):
        works, hangs = self.service(), self.service()
        running = self.running(f'[on_error]\nwebhook = "{works.url}"\nsentry_dsn = "{hangs.dsn}"\n')
        hangs.hang()
        reporter = eventually("the reporter runs", running.reporter)
        running.push("Fail", ["x"])
        eventually("it is settled", lambda: running.failed() == 1)
        eventually("one has it", lambda: len(works.taken) == 1)
        eventually("the other not yet", lambda: len(hangs.seen) == 1)
        running.brood.stop(signal.SIGKILL)
        eventually("the reporter ends", lambda: not pathlib.Path(f"/proc/{reporter}").exists())
        left = running.spools()
        self.assertEqual(len(left), 1)
        running.start()
        eventually("the files of the dead are gone", lambda: left[0] not in running.spools(), 60)
        eventually("the log has it", lambda: 'event=error_reports_lost reports=1 reason="their supervisor was killed"' in running.log())

    def test_a_reporter_that_does_not_end_gives_way_to_the_next(self):
        hook = self.service()
        config = f'[on_error]\nwebhook = "{hook.url}"\n'
        running = self.running(config)
        first = eventually("the reporter runs", running.reporter)
        os.kill(first, signal.SIGSTOP)
        running.configure(config + "queue = 500\n")
        self.assertEqual(running.command("restart", "--pid", str(running.brood.pid)).returncode, 0)
        running.push("Fail", ["x"])
        eventually("the next one sends it", lambda: len(hook.taken) == 1)
        self.assertFalse(pathlib.Path(f"/proc/{first}").exists())

    def test_a_job_in_a_process_of_its_own_is_reported_with_its_stack(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nbacktrace = true\n[classes.Fail]\nisolation = "process"\n[classes.Segfault]\nisolation = "process"\n')
        for name in ("Fail", "Segfault"):
            running.push(name, ["x"] if name == "Fail" else [])
        eventually("both are reported", lambda: len(hook.taken) == 2)
        for report in hook.reports():
            self.assertTrue(any(f"{report['class']}::perform()" in line for line in report["backtrace"]), report)

    def test_what_a_job_writes_where_reports_wait_harms_nothing(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\n')
        spool = eventually("the spool is there", lambda: next(pathlib.Path(running.directory).glob("*.errors"), None))
        for name, text in (("rubbish", "x"), ("empty", ""), ("deep", "[" * 5000), ("bad id", '{"id":"' + "a" * 30 + '\\r\\n"}'), ("~~~", "{}")):
            pathlib.Path(spool, ".new").write_text(text)
            pathlib.Path(spool, ".new").rename(pathlib.Path(spool, name))
        os.symlink("/etc/passwd", f"{spool}/link")
        os.mkfifo(f"{spool}/fifo")
        os.mkdir(f"{spool}/folder")
        running.push("Fail", ["x"])
        eventually("it is reported", lambda: len(hook.taken) == 1)
        eventually("the rest is gone", lambda: {path.name for path in spool.iterdir()} == {".reading", "folder"})
        self.assertNotIn("event=error_reporter_ended", running.log())
        self.assertEqual(running.brood.stop(), 0)

    def test_folders_where_reports_wait_keep_no_report(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nstorm_after = 0\n')
        spool = eventually("the spool is there", lambda: next(pathlib.Path(running.directory).glob("*.errors"), None))
        reporter = eventually("the reporter runs", running.reporter)
        for i in range(1_100):
            os.mkdir(f"{spool}/!{i}")
        for i in range(5):
            running.push("Fail", [str(i)])
        eventually("all are taken", lambda: len(hook.taken) == 5)
        used = processor_time(reporter)
        time.sleep(2)
        self.assertLess(processor_time(reporter) - used, 0.5)
        self.assertEqual(running.reporter(), reporter)

    def test_a_spool_that_was_moved_away_is_made_again(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\n')
        spool = eventually("the spool is there", lambda: next(pathlib.Path(running.directory).glob("*.errors"), None))
        reporter = eventually("the reporter runs", running.reporter)
        spool.rename(f"{spool}-away")
        running.push("Fail", ["x"])
        eventually("it is reported", lambda: len(hook.taken) == 1)
        self.assertEqual(running.reporter(), reporter)
        self.assertIn("event=error_reports_moved", running.log())

    def test_jobs_find_no_secret_of_a_service_in_their_environment(self):
        hook = self.service()
        os.environ["HOOK_OF_TEST"] = hook.url
        self.addCleanup(os.environ.pop, "HOOK_OF_TEST")
        running = self.running("""[on_error]
webhook = "env:HOOK_OF_TEST"
[commands.Show]
run = ["sh", "-c", "env >&2; exit 1"]
""")
        running.push("Show")
        running.push("Fail", ["x"])
        eventually("both are reported", lambda: len(hook.taken) == 2)
        self.assertIn("RUNTIME_DIRECTORY", running.log())
        self.assertNotIn("HOOK_OF_TEST", running.log())

    def test_only_deaths_and_arguments_if_so_asked(self):
        hook = self.service()
        running = self.running(f'[on_error]\nwebhook = "{hook.url}"\nwhen = "death"\narguments = true\nbacktrace = true\n')
        running.push("Fail", ["retried"])
        dead = running.push("Fail", ["dead"], retry=0)
        gone = running.push("Fail", ["gone"], retry=False)
        eventually("two reports", lambda: len(hook.taken) == 2)
        eventually("all are settled", lambda: running.failed() == 2)
        reports = {report["jid"]: report for report in hook.reports()}
        self.assertEqual({jid: report["becomes"] for jid, report in reports.items()}, {dead: "dead", gone: "discarded"})
        self.assertEqual(reports[dead]["arguments"], ["dead"])
        self.assertTrue(any("Fail::perform()" in line for line in reports[dead]["backtrace"]), reports[dead])

    def test_secrets_come_from_files_and_a_bad_one_is_a_configuration_error(self):
        sentry = self.service()
        running = self.running("")
        file = pathlib.Path(running.directory, "dsn")
        file.write_text(sentry.dsn + "\n")
        running.configure(f'[on_error]\nsentry_dsn_file = "{file}"\n')
        self.assertEqual(running.command("restart", "--pid", str(running.brood.pid)).returncode, 0)
        running.push("Fail", ["x"])
        eventually("it is taken", lambda: len(sentry.taken) == 1)
        for setting, reason in (('sentry_dsn = "https://sentry.io/42"', "brood.toml:8: on_error.sentry_dsn: must be https://KEY@HOST/PROJECT"),
                                ('sentry_dsn = "env:NOT_SET"', "the variable NOT_SET is not in brood's environment"),
                                ('webhook_file = "/not/there"', "/not/there: No such file or directory"),
                                ('webhook = "ftp://x"', "on_error.webhook: must begin with http:// or https://"),
                                ('webhook_secret = "x"', "on_error.webhook_secret: signs what goes to a webhook, and none is set"),
                                ('when = "never"', "on_error.when"),
                                ('honeybadger_api_key = "a b"', "on_error.honeybadger_api_key: must be made of letters")):
            running.configure(f"[on_error]\n{setting}\n")
            checked = running.command("run", "--check", "-C", running.config)
            self.assertEqual(checked.returncode, 78, setting)
            self.assertIn(reason, checked.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
