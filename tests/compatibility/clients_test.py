#!/usr/bin/env python3
"""Runs each example of packaging/doc/clients.md whose language is here, against a redis-server and a brood web of its own, and
looks at the job that it has pushed.

usage: clients_test.py DOCUMENT BUILD_DIRECTORY
"""

import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from document import blocks  # noqa: E402

PATIENCE = 60
PYTHON = "/usr/bin/python3"    # Debian's, which has Debian's packages
TAKES_SOCKETS = {"python", "js"}
RUNS = {
    "python": ("push.py", lambda path: [PYTHON, path]),
    "js": ("push.js", lambda path: ["node", path]),
    "go": ("push.go", lambda path: ["go", "run", path]),
}
ENVIRONMENT = {"NODE_PATH": "/usr/share/nodejs:/usr/lib/nodejs", "GOPATH": "/usr/share/gocode", "GO111MODULE": "off"}
# Whether the example can run here.
NEEDS = {
    ("python", True): [PYTHON, "-c", "import redis"],
    ("python", False): [PYTHON, "-c", ""],
    ("js", True): ["node", "-e", "require('redis')"],
    ("js", False): ["node", "-e", "fetch"],
    ("go", True): ["test", "-d", "/usr/share/gocode/src/github.com/gomodule/redigo"],
    ("go", False): ["go", "version"],
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit(f"nothing listens at port {port}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    document, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    directory = pathlib.Path(tempfile.mkdtemp(prefix="brood-clients-"))
    redis_port, web_port, children, failed, ran = free_port(), free_port(), [], 0, 0
    try:
        environment = {**os.environ, **ENVIRONMENT, "HOME": str(directory), "GOCACHE": str(directory / "go"), "BROOD_TOKEN": "a token",
                       "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0", "BROOD_URL": f"http://127.0.0.1:{web_port}"}
        (directory / "users").write_text(f"shop operate sha256:{hashlib.sha256(b'a token').hexdigest()}\n")
        (directory / "brood.toml").write_text(f'[redis]\nurl = "{environment["REDIS_URL"]}"\n[web]\nusers = "{directory}/users"\n')
        children.append(subprocess.Popen([os.environ.get("BROOD_REDIS_SERVER") or "redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", directory,
                                          "--unixsocket", directory / "redis.sock"],
                                         stdout=subprocess.DEVNULL))
        wait_for(redis_port)
        children.append(subprocess.Popen([build / "bin/brood", "web", "-C", directory / "brood.toml", "--listen", f"127.0.0.1:{web_port}"],
                                         stderr=open(directory / "web.log", "w")))
        wait_for(web_port)
        cli = ["redis-cli", "-p", str(redis_port)]
        for block in blocks(document):
            if block.language not in RUNS:
                continue
            name, command = RUNS[block.language]
            through_redis = "REDIS_URL" in block.text
            need = NEEDS[block.language, through_redis]
            if not shutil.which(need[0]) or subprocess.run(need, env=environment, capture_output=True).returncode != 0:
                print(f"{block.place}: left out, {block.language} lacks something here")
                continue
            (directory / name).write_text(block.text)
            addresses = [environment["REDIS_URL"]]
            if through_redis and block.language in TAKES_SOCKETS:
                addresses.append(f"unix://{directory}/redis.sock")
            for address in addresses:
                subprocess.run([*cli, "FLUSHALL"], stdout=subprocess.DEVNULL, check=True)
                done = subprocess.run(command(directory / name), env={**environment, "REDIS_URL": address}, cwd=directory, capture_output=True, text=True, timeout=300)
                ran += 1
                jobs = subprocess.run([*cli, "--raw", "LRANGE", "queue:default", "0", "-1"], capture_output=True, text=True, check=True).stdout.splitlines()
                queues = subprocess.run([*cli, "--raw", "SMEMBERS", "queues"], capture_output=True, text=True, check=True).stdout.split()
                job = json.loads(jobs[0]) if any(jobs) else {}
                right = (done.returncode == 0 and len(jobs) == 1 and queues == ["default"] and job["class"] == "ResizeImage" and
                         job["args"] == ["cat.png", 320] and job["timeout"] == 30 and job["jid"] == done.stdout.strip() and
                         abs(job["created_at"] - time.time()) < 300 and job["retry"] is True)
                if not right:
                    failed += 1
                    print(f"{block.place}, {address}: exit status {done.returncode}, printed {done.stdout!r} {done.stderr!r}, pushed {jobs}, queues {queues}")
        print(f"{ran} examples ran, {failed} failed")
    finally:
        for child in reversed(children):
            child.terminate()
            child.wait()
        shutil.rmtree(directory)
    sys.exit(1 if failed or ran == 0 else 0)


main()
