#!/usr/bin/env python3
"""brood's rpm packages: built from what was compiled, looked into, installed into a directory, and removed from it.

usage: rpm_test.py BUILD_DIRECTORY [TEST]...

Exit status 77: there is no rpmbuild here.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

packages = root = None


def answer(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def query(package, *what):
    return answer("rpm", "--query", "--package", *what, packages[package])


class Packages(unittest.TestCase):
    def test_each_has_its_files(self):
        for package, files in {
            "brood": ["/usr/bin/brood", "/usr/libexec/brood/brood-web", "/usr/lib/systemd/system/brood.service", "/usr/lib/systemd/system/brood@.service",
                      "/usr/lib/sysusers.d/brood.conf", "/usr/lib/tmpfiles.d/brood.conf", "/etc/brood/brood.toml", "/etc/logrotate.d/brood",
                      "/usr/share/man/man1/brood.1", "/usr/share/doc/brood/deploying.md"],
            "brood-libs": ["/libbrood.so.1", "/libbrood-testing.so.1"],
            "brood-devel": ["/usr/include/brood/job.hpp", "/brood-config.cmake", "/brood.pc", "/libbrood.so"],
        }.items():
            listed = query(package, "--list").splitlines()
            for file in files:
                self.assertTrue(any(path.endswith(file) or path == f"{file}.gz" for path in listed), f"{file} is not in {package}")
        self.assertEqual(sorted(query("brood", "--configfiles").split()), ["/etc/brood/brood.toml", "/etc/logrotate.d/brood"])

    def test_the_libraries_that_the_program_needs_are_found_by_rpm(self):
        needed = query("brood", "--requires")
        for library in ["libhiredis.so", "libuv.so", "libssl.so", "libyaml-cpp.so"]:
            self.assertIn(library, needed)
        self.assertIn("libbrood.so.1", query("brood-libs", "--provides"))

    def test_an_upgrade_asks_the_supervisors_and_a_removal_stops_them(self):
        scripts = query("brood", "--scripts")
        self.assertIn("--signal=USR2", scripts)
        self.assertIn("systemctl stop brood.service", scripts)

    def test_it_can_be_installed_checked_and_removed(self):
        into = tempfile.mkdtemp(dir=root)
        rpm = ["rpm", "--root", into]
        answer(*rpm, "--initdb")
        answer(*rpm, "--install", "--nodeps", "--noscripts", *packages.values())
        self.assertEqual(answer(*rpm, "--verify", "--nodeps", "--noscripts", *packages), "")
        self.assertTrue(answer(f"{into}/usr/bin/brood", "--version").startswith("brood "))
        self.assertIn("Usage: brood web", answer(f"{into}/usr/bin/brood", "web", "--help"))
        self.assertIn("ExecStart=/usr/bin/brood", pathlib.Path(into, "usr/lib/systemd/system/brood.service").read_text())
        answer(*rpm, "--erase", "--nodeps", "--noscripts", *packages)
        left = [str(path) for path in pathlib.Path(into).rglob("*") if path.is_file()]
        self.assertEqual([path for path in left if "/.rpmdb/" not in path and "/lib/rpm/" not in path and "/lib/sysimage/" not in path], [])


if __name__ == "__main__":
    if shutil.which("rpmbuild") is None or shutil.which("rpm") is None:
        print("left out: there is no rpmbuild here; Debian has it in the package rpm")
        sys.exit(77)
    if os.geteuid() != 0:
        print("left out: rpm installs into a directory as root alone")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as root:
        built = subprocess.run([ROOT / "packaging/rpm/build", "--prebuilt", sys.argv[1], "--output", root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode != 0:
            sys.exit(f"the packages could not be built:\n{built.stdout[-4000:]}")
        packages = {answer("rpm", "--query", "--package", "--queryformat", "%{NAME}", file): str(file) for file in sorted(pathlib.Path(root).glob("*.rpm"))}
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
