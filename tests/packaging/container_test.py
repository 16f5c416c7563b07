#!/usr/bin/env python3
"""The container image: the steps of packaging/container/Containerfile that make it are run in a bare Debian, with packages
of what was built, and brood runs in it as the first process, with the image's user and environment.  No image is
downloaded, and no engine is needed.

usage: container_test.py BUILD_DIRECTORY [TEST]...

It makes a root directory of packages and takes half a minute, so it runs where BROOD_TEST_CONTAINER is set, as
`packaging/test --thorough` does.
Exit status 77: it is left out, and the reason was printed.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import machine as machines
from deb_test import build_packages, sources
from machine import eventually, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = (ROOT / "packaging/container/Containerfile").read_text().rsplit("\nFROM ", 1)[1]
STEPS = [line.partition(" ")[::2] for line in re.sub(r"\\\n\s*", "", STAGE).splitlines()[1:] if line and not line.startswith("#")]

build = image = None


def step(word):
    return [rest for name, rest in STEPS if name == word]


def make_image(directory):
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    root = pathlib.Path(directory) / "image"
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=path-exclude=/usr/share/man/*", release, root, "-"],
                          input="\n".join(sources()) + "\n", capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"mmdebstrap makes no {release} here: {made.stderr.strip()[-600:]}")
    packages = build_packages(build, root / "packages")
    assert "libbrood1" in packages
    for run in step("RUN"):
        done = subprocess.run(["chroot", root, "sh", "-ec", re.sub(r"--mount=\S+", "", run)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"a step failed: {run}\n{done.stdout[-4000:]}")
    shutil.rmtree(root / "packages")
    (root / "jobs").mkdir()
    shutil.copy(build / "worker/examples/libexamples.so", root / "jobs/libjobs.so")
    return root


class Container(unittest.TestCase):
    def setUp(self):
        self.user = step("USER")[0]
        self.environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *shlex.split(" ".join(step("ENV")))]
        entry = json.loads(step("ENTRYPOINT")[0])
        self.log = tempfile.NamedTemporaryFile("w+")
        run = shlex.join(["chroot", f"--userspec={self.user}", str(image), *self.environment, *entry, "run", "-c", "2", "-r", "/jobs/libjobs.so"])
        self.container = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", f"mount -t proc proc {image}/proc && exec {run}"],
                                          stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.addCleanup(self.end)
        self.assertTrue(eventually(lambda: "event=ready" in self.text()), self.text())
        self.first = pathlib.Path(f"/proc/{self.container.pid}/task/{self.container.pid}/children").read_text().split()[0]

    def end(self):
        self.container.kill()
        self.container.wait()
        self.log.close()

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def run_within(self, *command):
        return subprocess.run(["nsenter", f"--target={self.first}", "--mount", "--pid", "chroot", f"--userspec={self.user}", image, *self.environment, *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_brood_is_the_first_process_and_its_probes_and_jobs_work(self):
        self.assertIn("pid=1 ", self.text())
        page = (ROOT / "packaging/doc/deploying.md").read_text()
        probes = re.findall(r"^ *\w+Probe:.*\n *exec: \{command: \[(.*)\]\}$", page, re.M)
        self.assertEqual(len(probes), 3)
        for probe in probes:
            done = self.run_within(*probe.split(", "))
            self.assertEqual(done.returncode, 0, done.stdout)
        done = self.run_within("brood", "enqueue", "Fail")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(eventually(lambda: '"retries":1' in self.run_within("brood", "status", "--json").stdout.replace(" ", "")), self.text())
        os.kill(int(self.first), signal.SIGTERM)
        self.assertEqual(self.container.wait(60), 0, self.text())


if __name__ == "__main__":
    if not os.environ.get("BROOD_TEST_CONTAINER"):
        print("left out: set BROOD_TEST_CONTAINER=1 to try the container image; it takes half a minute")
        sys.exit(77)
    machines.enter_own_namespaces("mmdebstrap", "unshare", "nsenter", "chroot", "dpkg-buildpackage")
    build = pathlib.Path(sys.argv[1]).resolve()
    with machines.Scratch() as scratch:
        image = make_image(scratch)
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
