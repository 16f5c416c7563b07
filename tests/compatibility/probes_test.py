#!/usr/bin/env python3
"""The probes for Kubernetes in deploying.md are run against a real `brood run`, at each moment of a pod's life.

usage: probes_test.py BUILD_DIRECTORY SOURCE_DIRECTORY
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
PAGE = (SOURCE / "packaging/doc/deploying.md").read_text()
PROBES = {name: command.split(", ") for name, command in
          re.findall(r"^ *(startupProbe|readinessProbe|livenessProbe|preStop):.*\n *exec: \{command: \[(.*)\]\}$", PAGE, re.M)}
GRACE = int(re.search(r"terminationGracePeriodSeconds: (\d+)", PAGE)[1])


def probe(name, environment):
    return subprocess.run(PROBES[name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120).returncode


def becomes(status, name, environment):
    deadline = time.monotonic() + 120
    while (last := probe(name, environment)) != status and time.monotonic() < deadline:
        time.sleep(0.1)
    assert last == status, f"{name} exits with {last}, and not with {status}"


def main():
    assert len(PROBES) == 4, PROBES
    with tempfile.TemporaryDirectory() as directory:
        environment = {"PATH": f"{BUILD}/bin:/usr/bin:/bin", "RUNTIME_DIRECTORY": f"{directory}/run", "STATE_DIRECTORY": f"{directory}/state"}
        for name in ["startupProbe", "readinessProbe", "livenessProbe"]:
            becomes(69, name, environment)
        with open(f"{directory}/log", "w") as log:
            brood = subprocess.Popen(["brood", "run", "-c", "2", "-r", BUILD / "worker/examples/libexamples.so"], env=environment,
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            for name in ["startupProbe", "readinessProbe", "livenessProbe"]:
                becomes(0, name, environment)

            # Redis stands still: a new pod would not help, so only the readiness fails.
            redis = embedded_redis(brood.pid)
            os.kill(redis, signal.SIGSTOP)
            becomes(69, "readinessProbe", environment)
            becomes(0, "livenessProbe", environment)
            os.kill(redis, signal.SIGCONT)
            becomes(0, "readinessProbe", environment)

            # The end of a pod.
            begin = time.monotonic()
            assert probe("preStop", environment) == 0
            becomes(75, "readinessProbe", environment)
            becomes(0, "livenessProbe", environment)
            brood.send_signal(signal.SIGTERM)
            assert brood.wait(GRACE) == 0
            assert time.monotonic() - begin < GRACE
            becomes(69, "livenessProbe", environment)
        except Exception:
            print(pathlib.Path(directory, "log").read_text())
            raise
        finally:
            if brood.poll() is None:
                brood.kill()
                brood.wait()


def embedded_redis(supervisor):
    """The redis-server among the children of the supervisor."""
    for child in pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        if "redis" in pathlib.Path(f"/proc/{child}/comm").read_text():
            return int(child)
    raise AssertionError("no redis-server was started")


main()
