#!/usr/bin/env python3
"""Follows a document to the letter: runs the console blocks of its sessions (see tests/support/document.py) against an
installed brood, and compares what is printed with what the document says.  What differs from run to run (ids, times,
addresses, process ids) is alike here.

usage: walkthrough_test.py DOCUMENT BUILD_DIRECTORY SOURCE_DIRECTORY CXX_COMPILER CXX_FLAGS [SESSION...]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from document import blocks  # noqa: E402

PATIENCE = 180  # seconds, for events that happen by themselves on a busy machine
# They change nothing, so they are repeated until they print what is expected.
LOOKS = re.compile(r"(brood (status|queues|retries|scheduled|dead|processes|periodic)( (list|show)\b| -| *$)|(cat|ls|wc|grep|file|sort|find|head|tail)\b)")

# Programs that run in a terminal of their own, and what they log once they are ready.
SERVERS = {"brood": b"event=ready", "redis-server": b"eady to accept connections", "sidekiq": b"Running in ruby"}

VARIABLE = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\b[0-9a-f]{24}\b", "JID"),
    (r"0x[0-9a-f]+", "ADDRESS"),
    (r"\b[0-9a-f]{12}\b", "FINGERPRINT"),
    (r"\b(\d+(\.\d+)?(ms|s|m|h|d))+\b( ago)?", "DURATION"),
    (r"\b\d+\.\d{3}\b", "SECONDS"),
    (r"\b\d+ [kMG]B\b", "SIZE"),
    (r"\b(pid|worker_pid|child_pid|slot|incarnation)=\d+", r"\1=N"),
    (r"\b(pid|worker) \d+", r"\1 N"),
    (r"\s+", " "),
]


def alike(line):
    for pattern, word in VARIABLE:
        line = re.sub(pattern, word, line)
    return line.strip()


def matches(expected, printed):
    """Whether the printed lines are the expected ones, of which `...` stands for any number."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(matches(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and matches(expected[1:], printed[1:])


class Session:
    def __init__(self, root, source, environment):
        self.directory = root / "work"
        if source is None:
            self.directory.mkdir(parents=True)
        else:
            shutil.copytree(source, self.directory)
        self.environment = dict(environment, HOME=str(root), STATE_DIRECTORY=str(root / "state"), RUNTIME_DIRECTORY=str(root / "run"))
        for name in ("state", "run"):
            (root / name).mkdir(mode=0o700)
        self.log = root / "log"
        self.log.touch()
        self.servers = {}  # running in terminals of their own, by program
        self.jids = {}  # the document's ids, and those of this run

    def start(self, command):
        program = command.split()[0]
        self.end(program)  # a terminal has one at a time
        begin = self.log.stat().st_size
        with self.log.open("ab") as log:
            server = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "bash", "-c", "exec " + command], cwd=self.directory,
                                      env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.servers[program] = server

        def ready():
            if server.poll() is not None:
                raise AssertionError(f"{command} has ended")
            return SERVERS[program] in self.log.read_bytes()[begin:]
        self.until(f"{command} is ready", ready)

    def end(self, program):
        server = self.servers.pop(program, None)
        if server is None or server.poll() is not None:
            return
        server.terminate()
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def stop(self):
        for program in reversed(list(self.servers)):
            self.end(program)

    def call(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
        # The first words of a client of Sidekiq 7; one of Sidekiq 6 says nothing.
        done.stdout = re.sub(r"(?m)^\S+ pid=\d+ tid=\S+ INFO: Sidekiq \S+ connecting to Redis .*\n", "", done.stdout)
        return done

    def until(self, what, fact):
        deadline = time.monotonic() + PATIENCE
        while not fact():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {PATIENCE} s: {what}")
            time.sleep(0.05)

    def wait_for_log(self, lines):
        expected = [self.with_own_jids(line) for line in lines]

        def logged(line, others):
            jids = re.findall(r"\b[0-9a-f]{24}\b", line)
            return any(alike(line) in alike(other) and all(jid in other for jid in jids) for other in others)

        def missing():
            others = self.log.read_text().splitlines()
            return [line for line in expected if not logged(line, others)]
        try:
            self.until("", lambda: not missing())
        except AssertionError:
            raise AssertionError(f"the log does not come to have: {missing()}") from None

    def with_own_jids(self, command):
        """The command with the ids of this run in place of the document's, which may be their beginnings alone."""
        def own(word):
            found = [jid for jid in self.jids if jid.startswith(word[0])]
            return self.jids[found[0]] if len(found) == 1 else word[0]
        return re.sub(r"\b[0-9a-f]{4,24}\b", own, command)

    def note_jids(self, expected, printed):
        """Who enqueues answers with the id of the job."""
        for theirs, ours in zip(expected, printed):
            if re.fullmatch("[0-9a-f]{24}", theirs):
                self.jids[theirs] = ours

    def follow(self, command, printed):
        if re.fullmatch(r"cd \S+", command):
            self.directory = (self.directory / command[3:]).resolve(strict=True)
            return
        if exported := re.fullmatch(r"export (\w+)=(.*)", command):
            self.environment[exported[1]] = self.call(f"printf %s {exported[2]}").stdout
            return
        if command.split()[0] in SERVERS and not re.match(r"brood (?!run\b)|.*--check", command):
            self.start(command)
            return
        expected = [alike(line) for line in printed]
        deadline = time.monotonic() + PATIENCE
        while True:
            done = self.call(self.with_own_jids(command))
            lines = [alike(line) for line in done.stdout.splitlines()]
            failed = done.returncode != 0 and not printed
            if not failed and (not printed or matches(expected, lines)):
                self.note_jids(printed, done.stdout.splitlines())
                return
            if not LOOKS.match(command) or time.monotonic() > deadline:
                raise AssertionError(f"$ {command}\nstatus {done.returncode}, printed:\n{done.stdout}but the document says:\n" + "\n".join(printed))
            time.sleep(0.1)


def walk(session, block):
    says = block.says
    if "until" in says:
        session.until(says["until"], lambda: session.call(says["until"]).returncode == 0)
    if "file" in says:
        target = session.directory / says["file"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text)
    elif "append" in says:
        with (session.directory / says["append"]).open("a") as target:
            target.write(block.text)
    elif "log" in says:
        session.wait_for_log(block.text.splitlines())
    elif block.language == "console" and "output" not in says and "check" not in says:
        for command, printed in block.commands():
            session.follow(command, printed)


def main():
    document, build, source, compiler, flags, *only = sys.argv[1:]
    path = pathlib.Path(source) / document
    wanted = [block for block in blocks(path) if block.session is not None and (not only or block.session in only)]
    assert any(block.language == "console" for block in wanted), f"{document} has no session"
    with tempfile.TemporaryDirectory(prefix="brood-walk-") as temporary:
        root = pathlib.Path(temporary)
        subprocess.run(["cmake", "--install", build, "--prefix", root / "prefix"], check=True, stdout=subprocess.DEVNULL)
        environment = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "REDIS_PROVIDER")}
        environment.update(PATH=f"{root}/prefix/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8", CXX=compiler,
                           CXXFLAGS=f"{flags} -Wall -Wextra -Wconversion -Werror", CMAKE_PREFIX_PATH=f"{root}/prefix",
                           CMAKE_GENERATOR="Ninja", RUBYOPT="-W0")
        for index, line in enumerate(sorted({block.session_line for block in wanted})):
            of_session = [block for block in wanted if block.session_line == line]
            name = of_session[0].session
            session = Session(root / str(index), None if name == "-" else path.parent / name, environment)
            begin = time.monotonic()
            try:
                for block in of_session:
                    walk(session, block)
                session.stop()
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(f"{block.place}: {error}\n--- the log of brood run:\n{session.log.read_text()[-6000:]}")
                return 1
            finally:
                session.stop()
            print(f"{document}: session {name}: {len(of_session)} blocks in {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
