"""What the tests of the page share: a private Redis, brood beside it, HTTP by hand, and a browser."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ.get("BROOD_BINARY_DIR", "build/release")).resolve()
BROOD = BUILD / "bin/brood"
EXAMPLES = BUILD / "worker/examples/libexamples.so"
SKIPPED = 77


SLOWER = 4  # factor for a busy machine


def eventually(what, ask, seconds=30):
    """Polls until `ask` says something true, and returns it; a busy machine has several times as long."""
    seconds *= SLOWER
    end = time.monotonic() + seconds
    while True:
        fact = ask()
        if fact:
            return fact
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Child:
    """A process that ends when the test does, however that ends."""

    def __init__(self, log, *command, env=None, **more):
        self.log_path = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            env={**os.environ, **(env or {})}, preexec_fn=end_with_parent, **more)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)


class Redis:
    """A redis-server at a socket of its own, spoken to in its own protocol."""

    def __init__(self, directory):
        self.path = f"{directory}/redis.sock"
        self.url = f"unix://{self.path}"
        self.child = Child(f"{directory}/redis.log", os.environ.get("BROOD_REDIS_SERVER") or "redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", directory)
        self.socket = eventually("redis answers", self.connected)
        self.file = self.socket.makefile("rb")

    def connected(self):
        """Its socket is there a moment before it listens."""
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(self.path)
            return client
        except OSError:
            client.close()
            return None

    def close(self):
        self.file.close()
        self.socket.close()
        self.child.stop(signal.SIGKILL)

    def send(self, words):
        out = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            out.append(b"$%d\r\n%s\r\n" % (len(word), word))
        return b"".join(out)

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        return rest if kind == b"+" else AssertionError(rest.decode())

    def __call__(self, *words):
        self.socket.sendall(self.send(words))
        answer = self.read()
        if isinstance(answer, AssertionError):
            raise answer
        return answer

    @classmethod
    @contextlib.contextmanager
    def another(cls, path):
        """A second connection to a server that is there."""
        redis = cls.__new__(cls)
        redis.path = path
        redis.socket = redis.connected()
        redis.file = redis.socket.makefile("rb")
        try:
            yield redis
        finally:
            redis.file.close()
            redis.socket.close()

    def every_command_waits(self, milliseconds):
        """Lets no command of anybody through but now and then, until the event that it returns is set."""
        ends = threading.Event()

        def pause():
            while not ends.is_set():
                self("CLIENT", "PAUSE", milliseconds)

        thread = threading.Thread(target=pause)
        thread.start()
        stop = ends.set
        ends.set = lambda: (stop(), thread.join())
        return ends

    def many(self, commands):
        self.socket.sendall(b"".join(self.send(words) for words in commands))
        answers = [self.read() for _ in commands]
        for answer in answers:
            if isinstance(answer, AssertionError):
                raise answer
        return answers


def job(name, args=(), jid="0" * 24, queue="default", **more):
    now = time.time()
    return json.dumps({"class": name, "args": list(args), "jid": jid, "queue": queue, "retry": True, "created_at": now, "enqueued_at": now, **more},
                      ensure_ascii=False)


def hold(redis, name, jid="0" * 24):
    """A lock, a limit with a slot that is held, a cap and a periodic job of that name, as brood writes them."""
    now = int(time.time())
    holder = f"{name}:1:x"
    redis.many([
        ["SET", f"brood:unique:{name}", jid, "PX", 3_600_000],
        ["ZADD", "brood:limits", now, name],
        ["HSET", f"brood:limit:{name}", "kind", "concurrent", "amount", 4, "interval", 0, "taken", 7, "waited", 3, "waited_ms", 1500, "over", 2, "reclaimed", 1],
        ["HSET", f"brood:inflight:{holder}", "1.1", "5 default"],
        ["ZADD", f"brood:limit:{name}:used", 5, f"{holder}/1.1"],
        ["HSET", "brood:caps", name, 3],
        ["ZADD", "brood:periodic", now, name],
        ["HSET", f"brood:periodic:job:{name}", "rule", "0 3 * * * UTC", "last", now - 60, "seen", now, "claimed", 5, "missed", 2, "definition",
         json.dumps({"cron": "0 3 * * *", "tz": "UTC", "class": name, "queue": name, "args": [name], "overlap": "allow"})],
        ["LPUSH", f"brood:periodic:history:{name}", json.dumps({"tick": now - 60, "at": now - 59.5, "jid": name}), "no object"]])


def crash(redis, fingerprint, name="Decode", jid="c" * 24):
    """A crash group of that fingerprint, and the job that crashed last among the retries, as brood writes them."""
    now = time.time()
    noted = {"at": now, "class": name, "error_class": "SIGSEGV", "error_message": name, "jid": jid, "queue": name, "identity": name}
    entry = job(name, [], jid, error_class="SIGSEGV", retry_count=0, crash={"fingerprint": fingerprint, "build_ids": {name: "1f2e3d"}, "core": f"/core/{name}"})
    redis.many([["HSET", "brood:crashes", fingerprint, json.dumps(noted)], ["HSET", "brood:crash_stacks", fingerprint, json.dumps([f"#0 {name}"])],
                ["HSET", "brood:crash_counts", fingerprint, 9], ["ZADD", "brood:crash_times", now, fingerprint],
                ["HSET", "brood:crash_days", fingerprint, f"{int(now // 86400) - 3}:2 {int(now // 86400)}:7"], ["ZADD", "retry", now + 60, entry]])


def quarantine(redis, name, fingerprint="0a1b2c3d4e5f", jobs=2, queue="default"):
    """A class in quarantine with jobs that wait, as brood writes them."""
    now = time.time()
    redis("HSET", "brood:quarantine", name, f"{'0123456789abcdef'} {fingerprint} {now - 90:.3f} 5 1")
    for i in range(jobs):
        redis("ZADD", "brood:quarantined", now - i, job(name, [name, i], f"d{i:023x}", queue))


def publish(redis, classes, build="0123456789abcdef"):
    """What job classes say, as supervisors publish it."""
    redis.many([["HSET", "brood:classes", build, json.dumps({"classes": classes})],
                ["HSET", "brood:classes:seen", build, f"{int(time.time()) - 60} {int(time.time())}"]])


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


def read_answer(file, has_body=True):
    line = file.readline()
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while (line := file.readline().strip()):
        name, value = line.decode().split(":", 1)
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", 0)) if has_body else 0
    return Answer(status, headers, file.read(length))


class Page:
    """`brood web` at a socket of its own."""

    def __init__(self, redis, directory, *options, config="", listen=None, env=None, port=0):
        self.directory = directory
        self.socket = f"{directory}/web.sock"
        self.port = port
        if listen == "tcp":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        address = f"127.0.0.1:{self.port}" if self.port else f"unix:{self.socket}"
        self.host = f"127.0.0.1:{self.port}" if self.port else "localhost"
        words = [BROOD, "web", "--listen", address, "--redis", redis.url, *options]
        if config:
            path = f"{directory}/web.toml"
            pathlib.Path(path).write_text(config)
            words += ["-C", path]
        log = f"{directory}/web-{time.monotonic_ns()}.log"
        self.child = Child(log, *words, env={"RUNTIME_DIRECTORY": directory, **(env or {})})
        eventually("the page listens", lambda: "web_listens" in self.child.log() or self.child.process.poll() is not None)

    def connect(self):
        if self.port:
            return socket.create_connection(("127.0.0.1", self.port), timeout=20 * SLOWER)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20 * SLOWER)
        client.connect(self.socket)
        return client

    def raw(self, text, has_body=True):
        with self.connect() as client:
            client.sendall(text if isinstance(text, bytes) else text.encode())
            return read_answer(client.makefile("rb"), has_body)

    def get(self, path, method="GET", **headers):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {headers.pop('Host', self.host)}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.raw("\r\n".join(lines) + "\r\n\r\n", method != "HEAD")

    def post(self, path, body="", **headers):
        headers.setdefault("Content_Type", "application/x-www-form-urlencoded")
        lines = [f"POST {path} HTTP/1.1", f"Host: {headers.pop('Host', self.host)}", "Connection: close", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.raw("\r\n".join(lines) + "\r\n\r\n" + body)

    def order(self, path, body, **headers):
        """As a program sends JSON: one value, or a text that is sent as it is."""
        text = body if isinstance(body, str) else json.dumps(body)
        return self.post(path, text, **{"Content_Type": "application/json", **headers})

    def visit(self):
        """The cookie and the token that a browser gets."""
        cookie = self.get("/queues").headers["set-cookie"].split(";")[0]
        found = None
        for path in ("/queues", "/retries", "/dead", "/scheduled", "/workers", "/processes", "/periodic", "/limits", "/locks", "/quarantine", "/classes"):
            found = found or re.search(r'name="token" value="([0-9a-f]+)"', self.get(path, Cookie=cookie).text)
        return cookie, found and found[1]

    def press(self, path, form="", **headers):
        """As a browser sends a form of ours."""
        cookie, token = self.visit()
        assert token, "no form on the page"
        return self.post(path, f"token={token}&{form}", Cookie=cookie, Sec_Fetch_Site="same-origin", Origin=f"http://{self.host}", **headers)


class Directory:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="brood-web-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Browser:
    """A headless Chromium, driven over a pipe by its own DevTools protocol."""

    @staticmethod
    def find():
        return shutil.which("chromium") or shutil.which("chromium-browser")

    def __init__(self, directory):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def become():
            end_with_parent()
            os.dup2(to_read, 63)
            os.dup2(from_write, 64)
            os.dup2(63, 3)
            os.dup2(64, 4)

        with open(f"{directory}/chromium.log", "wb") as log:
            self.process = subprocess.Popen(
                [self.find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", f"--user-data-dir={directory}/chromium", "about:blank"],
                pass_fds=(3, 4, to_read, from_write), stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=become)
        os.close(to_read)
        os.close(from_write)
        self.number, self.waiting, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def next(self):
        while b"\0" not in self.waiting:
            piece = os.read(self.from_read, 1 << 20)
            if not piece:
                raise AssertionError("the browser has ended")
            self.waiting += piece
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def wait(self, name):
        """The next event of that name, perhaps one that has come already."""
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == name:
                    return self.events.pop(i)["params"]
            self.events.append(self.next())

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def scripts(self, are_on):
        self.call("Emulation.setScriptExecutionDisabled", value=not are_on)

    def go(self, url):
        self.events = [event for event in self.events if event.get("method") != "Page.loadEventFired"]
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, expression):
        """Presses what the expression finds, as a mouse does, and waits for the page that comes."""
        at = self.ask(f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); "
                      "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.events = [event for event in self.events if event.get("method") != "Page.loadEventFired"]
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
        self.wait("Page.loadEventFired")

    def heard_of_stream(self):
        """Whether an event of a stream has come since it was last asked; that is forgotten then."""
        self.ask("1")
        count = len(self.events)
        self.events = [event for event in self.events if event.get("method") != "Network.eventSourceMessageReceived"]
        return len(self.events) < count

    def forgive_lost_connections(self):
        """What a server that is away, or refuses, makes it say."""
        self.ask("1")
        self.events = [event for event in self.events
                       if event.get("method") != "Log.entryAdded" or event["params"]["entry"].get("source") != "network"]

    def complaints(self):
        """What it has refused or found wrong, of scripts and of the policy."""
        self.ask("1")
        bad = []
        for event in self.events:
            if event.get("method") in ("Runtime.exceptionThrown", "Audits.issueAdded", "Page.javascriptDialogOpening"):
                bad.append(event["params"])
            if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                bad.append(event["params"])
        return bad

    def shot(self, path, whole=False):
        import base64
        options = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
