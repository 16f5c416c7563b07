#!/usr/bin/env python3
"""brood as the first process of a container: a pid namespace in which it is all there is.

usage: first_process_test.py BUILD_DIRECTORY [TEST]...

Exit status 77: no such namespace is to be had here, and the reason was said.
"""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import unittest

import machine as machines
from machine import eventually

build = None


class FirstProcess(unittest.TestCase):
    def setUp(self):
        scratch = machines.Scratch()
        self.directory = scratch.__enter__()
        self.addCleanup(scratch.__exit__)
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "RUNTIME_DIRECTORY": f"{self.directory}/run",
                            "STATE_DIRECTORY": f"{self.directory}/state"}
        libraries = [build / "worker/examples/libexamples.so", build / "tests/job_libraries/libshell_jobs.so"]
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", build / "bin/brood", "run", "-c", "2", "-t", "500ms"]
        for library in libraries:
            command += ["-r", library]
        self.log = open(self.directory / "log", "w")
        self.container = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.addCleanup(self.end)
        self.assertTrue(eventually(lambda: "event=ready" in self.log_text()), self.log_text())
        self.assertIn("pid=1 ", self.log_text())
        self.brood = int(pathlib.Path(f"/proc/{self.container.pid}/task/{self.container.pid}/children").read_text())

    def end(self):
        self.container.kill()
        self.container.wait()
        self.log.close()

    def log_text(self):
        return (self.directory / "log").read_text()

    def enqueue(self, job_class, *arguments):
        words = [build / "bin/brood", "enqueue", job_class, *map(json.dumps, arguments)]
        self.assertTrue(eventually(lambda: subprocess.run(words, env=self.environment, capture_output=True).returncode == 0))

    def shell(self, command):
        """Runs a command as a job, to its end."""
        done = self.directory / "done"
        done.unlink(missing_ok=True)
        self.enqueue("Shell", f"{command}; touch {shlex.quote(str(done))}")
        self.assertTrue(eventually(done.exists), self.log_text())

    def children(self):
        """The children of brood by name, those that are to be reaped as "zombie"."""
        names = []
        for child in pathlib.Path(f"/proc/{self.brood}/task/{self.brood}/children").read_text().split():
            try:
                state = pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
                names.append("zombie" if state == "Z" else machines.name_of(child))
            except OSError:
                pass  # it has been reaped
        return sorted(names)

    def is_left_with_its_own_children(self):
        self.assertTrue(eventually(lambda: self.children() == ["brood: worker 0", "brood: worker 1", "redis-server"], 30), self.children())

    def stops_by(self, number):
        os.kill(self.brood, number)
        try:
            return self.container.wait(timeout=machines.PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail(f"it did not stop:\n{self.log_text()}")

    def test_it_stops_in_order_on_term(self):
        self.shell("true")
        self.assertEqual(self.stops_by(signal.SIGTERM), 0, self.log_text())

    def test_it_stops_in_order_on_int(self):
        self.assertEqual(self.stops_by(signal.SIGINT), 0, self.log_text())

    def test_it_stops_in_time_with_a_job_that_does_not_end(self):
        begun = self.directory / "begun"
        self.enqueue("Shell", f"touch {begun}; sleep 1000")
        self.assertTrue(eventually(begun.exists), self.log_text())
        self.assertEqual(self.stops_by(signal.SIGTERM), 0, self.log_text())

    def test_it_reaps_what_is_left_to_it(self):
        # Daemons that end by themselves, and one that does not.
        self.shell("for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'sleep 0.0$$ & exit 3' & done; setsid sleep 1000 & wait %1")
        self.is_left_with_its_own_children()
        self.shell("true")  # it is well

    def test_it_reaps_what_somebody_who_came_in_from_outside_leaves(self):
        subprocess.run(["nsenter", "--target", str(self.brood), "--pid", "sh", "-c", "for i in 1 2 3; do setsid sleep 0.0$i & done"], check=True)
        self.is_left_with_its_own_children()

    def test_a_crash_of_a_worker_is_no_end(self):
        self.enqueue("Segfault")
        self.assertTrue(eventually(lambda: "event=worker_recovered" in self.log_text()), self.log_text())
        self.shell("true")
        self.assertEqual(self.stops_by(signal.SIGTERM), 0, self.log_text())


def main():
    global build
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    machines.enter_own_namespaces("unshare")
    build = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)


main()
