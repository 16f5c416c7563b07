"""Another job server beside brood: started on a Redis of its own, loaded, watched from outside and ended."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
PYTHON = "/usr/bin/python3"  # Debian's own, which has Debian's celery and rq


class Redis:
    """A redis-server of its own on a Unix socket, and one blocking connection to it."""

    def __init__(self, directory):
        self.socket_path = f"{directory}/redis.sock"
        self.server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket_path, "--dir", directory, "--save", "",
             "--appendonly", "no", "--logfile", f"{directory}/redis.log"]
        )
        self.connection = socket.socket(socket.AF_UNIX)
        wait_for(lambda: self.connection.connect_ex(self.socket_path) == 0, 10, "redis-server does not start")
        self.replies = self.connection.makefile("rb")

    def send(self, *commands):
        """Sends all at once; returns their replies."""
        packet = bytearray()
        for words in commands:
            packet += b"*%d\r\n" % len(words)
            for word in words:
                data = word if isinstance(word, bytes) else str(word).encode()
                packet += b"$%d\r\n%s\r\n" % (len(data), data)
        self.connection.sendall(packet)
        return [self.read() for _ in commands]

    def call(self, *words):
        return self.send(words)[0]

    def read(self):
        line = self.replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        return int(rest) if kind == b":" else rest

    def info(self, name):
        lines = dict(line.split(":", 1) for line in self.call("INFO").decode().splitlines() if ":" in line)
        return float(lines[name])

    def close(self):
        self.connection.close()
        self.server.kill()
        self.server.wait()


def wait_for(holds, seconds, complaint):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(complaint)
        time.sleep(0.002)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def descendants(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        children = []
    return [pid] + [one for child in children for one in descendants(int(child))]


def private_kb(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def cpu_seconds(pids):
    return sum(float(task.read_text().split()[0]) for pid in pids for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class Peer:
    """What differs from one server to the other is in its subclasses."""

    name, queue = "", ""

    def __init__(self, processes, concurrency=10):
        self.processes, self.concurrency = processes, concurrency
        self.directory = tempfile.mkdtemp(prefix="bench-peer-", dir="/tmp")
        self.servers = []
        self.redis = Redis(self.directory)
        self.latencies = pathlib.Path(self.directory, "latencies")
        self.latencies.touch()
        self.environment = dict(os.environ, BENCH_SOCKET=self.redis.socket_path, BENCH_REDIS=f"unix://{self.redis.socket_path}",
                                BENCH_LATENCIES=str(self.latencies), PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        for server in self.servers:
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        self.redis.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        with open(f"{self.directory}/log", "ab") as log:
            self.servers = [
                subprocess.Popen(command, cwd=self.directory, env=self.environment, stdout=log, stderr=log, start_new_session=True)
                for command in self.commands()
            ]
        self.push_noops(20)
        self.wait_empty(60)
        time.sleep(1)

    def wait_empty(self, seconds):
        def empty():
            for server in self.servers:
                if server.poll() is not None:
                    raise RuntimeError(f"{self.name} has ended:\n" + pathlib.Path(self.directory, "log").read_text()[-2000:])
            return self.redis.call("LLEN", self.queue) == 0

        wait_for(empty, seconds, f"{self.name} does not empty its queue")

    def throughput(self, jobs):
        """Jobs a second, all of them there from the beginning."""
        self.push_noops(jobs)
        self.redis.call("RENAME", self.queue, "aside")
        self.start()
        begin = time.monotonic()
        self.redis.call("RENAME", "aside", self.queue)
        self.wait_empty(300)
        return {"jobs_per_second": jobs / (time.monotonic() - begin)}

    def latency(self, jobs):
        """Microseconds from just before the push to the first line of the job, one at a time."""
        self.start()
        self.push_latencies(jobs)
        wait_for(lambda: len(self.latencies.read_text().splitlines()) >= jobs, 30, f"{self.name} did not run all jobs")
        found = [float(line) for line in self.latencies.read_text().splitlines()]
        return {"p50_us": quantile(found, 0.5), "p99_us": quantile(found, 0.99)}

    def idle(self, seconds):
        self.start()
        pids = [pid for server in self.servers for pid in descendants(server.pid)]
        commands, cpu = self.redis.info("total_commands_processed"), cpu_seconds(pids)
        time.sleep(seconds)
        return {
            "commands_per_second": (self.redis.info("total_commands_processed") - commands - 1) / seconds,
            "cpu_share": (cpu_seconds(pids) - cpu) / seconds,
            "private_kb": sum(map(private_kb, pids)),
        }

    # By default a program pushes the jobs: messages are the peer's own business.
    def push_noops(self, jobs):
        subprocess.run([PYTHON, HERE / self.pusher, "noop", str(jobs)], env=self.environment, check=True)

    def push_latencies(self, jobs):
        subprocess.run([PYTHON, HERE / self.pusher, "latency", str(jobs), "30"], env=self.environment, check=True)


class Sidekiq(Peer):
    name, queue = "sidekiq", "queue:default"

    @staticmethod
    def installed():
        return shutil.which("sidekiq") is not None

    def commands(self):
        return [["sidekiq", "-r", str(HERE / "sidekiq_jobs.rb"), "-c", str(self.concurrency), "-t", "5"]] * self.processes

    @staticmethod
    def payload(job_class, argument, number):
        now = time.time()
        return (f'{{"class":"{job_class}","args":[{argument}],"queue":"default","retry":true,"jid":"{number:024x}",'
                f'"created_at":{now:.6f},"enqueued_at":{now:.6f}}}')

    def push_noops(self, jobs):
        for begin in range(0, jobs, 500):
            payloads = [self.payload("BroodBench::Noop", i, i) for i in range(begin, min(begin + 500, jobs))]
            self.redis.call("LPUSH", self.queue, *payloads)

    def push_latencies(self, jobs):
        for number in range(jobs):
            self.redis.call("LPUSH", self.queue, self.payload("BroodBench::Latency", time.monotonic_ns(), number))
            time.sleep(0.01 + number * 7919 % 1000 / 1e6)


class Celery(Peer):
    name, queue, pusher = "celery", "celery", "celery_jobs.py"

    @staticmethod
    def installed():
        return subprocess.run([PYTHON, "-c", "import celery, redis"], capture_output=True, check=False).returncode == 0

    def commands(self):  # one parent with so many children
        return [[PYTHON, "-m", "celery", "-A", "celery_jobs", "worker", "-P", "prefork", "-c", str(self.processes), "-l", "ERROR"]]


class Rq(Peer):
    name, queue, pusher = "rq", "rq:queue:default", "rq_jobs.py"

    @staticmethod
    def installed():
        return subprocess.run([PYTHON, "-c", "import rq, redis"], capture_output=True, check=False).returncode == 0

    def commands(self):
        script = "import sys; from rq.cli import main; sys.exit(main())"
        return [[PYTHON, "-c", script, "worker", "-u", f"unix://{self.redis.socket_path}", "--logging_level", "WARNING", "-q"]] * self.processes


def main():
    """One figure by hand: peer.py sidekiq|celery|rq throughput|latency|idle N PROCESSES"""
    kind = {peer.name: peer for peer in (Sidekiq, Celery, Rq)}[sys.argv[1]]
    with kind(int(sys.argv[4])) as peer:
        print(getattr(peer, sys.argv[2])(int(sys.argv[3])))


if __name__ == "__main__":
    main()
