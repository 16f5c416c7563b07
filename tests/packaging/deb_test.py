#!/usr/bin/env python3
"""brood's Debian packages: built, judged by lintian, installed, upgraded, removed and purged on a bare Debian.

usage: deb_test.py BUILD_DIRECTORY [TEST]...

Exit status 77: the packages cannot be tried here, and the reason was said.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import machine as machines
from machine import eventually, skip
from service import JOBS, STATE, Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEXT_VERSION = "999"
# Of the files of a build that was configured for another place; a build of packages knows Debian's own.
PREBUILT_TAGS = "arch-dependent-file-not-in-arch-specific-directory"

os.environ |= {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}  # they are not kept

machine = packages = None


def said(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def sources():
    """The lines of sources.list that this Debian is set up with, its own alone."""
    fields = "$(ORIGIN)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    lines = said("apt-get", "indextargets", "--format", fields, "Created-By: Packages").splitlines()
    return [f"deb {uri} {codename} {component}" for origin, uri, codename, component in (line.split("|") for line in lines) if origin == "Debian"]


def build_packages(build, directory):
    built = subprocess.run([ROOT / "packaging/deb/build", "--prebuilt", build, "--output", directory], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    if built.returncode != 0:
        sys.exit(f"the packages could not be built:\n{built.stdout[-4000:]}")
    return {said("dpkg-deb", "--field", deb, "Package").strip(): deb for deb in sorted(pathlib.Path(directory).glob("*.deb"))}


def next_version(deb, directory):
    """The same package under a higher version."""
    tree = pathlib.Path(directory) / "next"
    said("dpkg-deb", "--raw-extract", deb, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {NEXT_VERSION}", control.read_text(), flags=re.MULTILINE))
    next_deb = pathlib.Path(directory) / f"brood_{NEXT_VERSION}.deb"
    said("dpkg-deb", "--root-owner-group", "--build", tree, next_deb)
    return next_deb


def bare_debian(directory, debs):
    """A root directory with what the packages depend on, and a redis-server."""
    wanted = {"systemd", "dbus", "redis-server", "init-system-helpers", "procps"}
    for deb in debs:
        dependencies = re.sub(r"\([^)]*\)|\|[^,]*", "", said("dpkg-deb", "--field", deb, "Depends")).split(",")
        wanted |= {name.strip() for name in dependencies if "brood" not in name}
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    root = pathlib.Path(directory) / "debian"
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(sorted(wanted))}", "--dpkgopt=path-exclude=/usr/share/man/*",
                           '--aptopt=APT::Install-Recommends "false"', release, root, "-"], input="\n".join(sources()) + "\n", capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"mmdebstrap makes no {release} here: {made.stderr.strip()[-600:]}")
    return root


class Packages(unittest.TestCase):
    def test_lintian_finds_no_error(self):
        changes = next(packages["brood"].parent.glob("*.changes"))
        judged = subprocess.run(["lintian", "--fail-on", "error", "--suppress-tags", PREBUILT_TAGS, changes], capture_output=True, text=True)
        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_each_package_has_its_part(self):
        def files(package):
            return said("dpkg-deb", "--contents", packages[package])

        self.assertRegex(files("libbrood1"), r"/libbrood\.so\.1 -> libbrood\.so\.1\.")
        self.assertRegex(files("libbrood-testing1"), r"/libbrood-testing\.so\.1 -> libbrood-testing\.so\.1\.")
        for file in ("/include/brood/job.hpp", "/cmake/brood/brood-config.cmake", "/pkgconfig/brood.pc", "/libbrood.so -> ", "/libbrood-testing.so -> "):
            self.assertIn(file, files("libbrood-dev"))
        for file in ("/usr/bin/brood", "/usr/libexec/brood/brood-watch", "/usr/libexec/brood/brood-web", "/usr/libexec/brood/brood-bench", "/usr/libexec/brood/brood-import", "/lib/systemd/system/brood.service", "/lib/systemd/system/brood@.service", "/man1/brood.1.gz", "/etc/brood/brood.toml", "/etc/logrotate.d/brood"):
            self.assertIn(file, files("brood"))


class Life(unittest.TestCase):
    """What happens to one installation, from the first to the last."""

    @classmethod
    def setUpClass(cls):
        cls.brood = Service(machine)
        cls.next = next_version(packages["brood"], packages["brood"].parent)
        for package in [*packages.values(), cls.next]:
            shutil.copy(package, machine.root / "root")

    def dpkg(self, *words):
        return machine.ask("DEBIAN_FRONTEND=noninteractive dpkg --force-confold " + " ".join(words))

    def perform_a_job(self, name):
        self.brood.enqueue("Ledger", f"{STATE}/ledger", name, 0)
        self.assertTrue(eventually(lambda: name in self.brood.ledger("D")), self.brood.journal())

    def test_1_an_installation_starts_nothing_and_a_start_works(self):
        self.dpkg("--install", *(f"/root/{deb.name}" for deb in packages.values()))

        version = machine.ask("dpkg-query --show --showformat='${Version}' brood")
        self.assertEqual(machine.ask("brood --version"), f"brood {version}")
        self.assertEqual(self.brood.state, "inactive")
        self.assertEqual(machine.ask("systemctl is-enabled brood", check=False), "disabled")
        self.assertEqual(machine.ask("stat -c '%U %a' /run/brood"), "brood 750")
        self.assertIn("brood.toml", machine.ask("dpkg-query --show --showformat='${Conffiles}' brood"))
        self.assertEqual(machine.ask("ldd /usr/bin/brood /usr/libexec/brood/* | grep 'not found'", check=False), "")
        self.assertIn("brood bench", machine.ask("brood bench --help"))

        config = machine.root / "etc/brood/brood.toml"
        required = f'require = ["{JOBS}/libexamples.so", "{JOBS}/libshell_jobs.so"]\n'
        config.write_text(required + config.read_text())
        machine.run("systemctl enable --quiet brood")
        self.brood.start()
        self.perform_a_job("first")

    def test_2_an_upgrade_goes_on_with_running_jobs(self):
        before = self.brood.main_pid
        self.brood.begin_a_job("long")

        self.dpkg("--install", f"/root/{self.next.name}")

        self.assertEqual(machine.ask("dpkg-query --show --showformat='${Version}' brood"), NEXT_VERSION)
        self.assertIn(self.brood.state, ("active", "reloading"))  # its workers are being replaced, and systemd is told
        self.assertEqual((self.brood.main_pid, self.brood.show("NRestarts")), (before, "0"))
        self.assertTrue(eventually(lambda: self.brood.says("supervisor_took_over")), "the new program has not taken over")
        self.assertTrue(eventually(lambda: self.brood.says("restart_ended", "outcome=done")), "the workers are the old ones")
        self.assertTrue(eventually(lambda: self.brood.state == "active"), self.brood.state)
        self.assertEqual((self.brood.main_pid, self.brood.show("NRestarts")), (before, "0"))
        self.brood.let_jobs_end()
        self.assertTrue(eventually(lambda: "long" in self.brood.ledger("D")))
        self.perform_a_job("after")
        self.assertEqual(self.brood.ledger("S"), ["first", "long", "after"], "a job was performed twice")
        self.assertIn(JOBS, (machine.root / "etc/brood/brood.toml").read_text(), "the upgrade took the configuration away")
        self.assertEqual(machine.ask("systemctl is-enabled brood"), "enabled")

    def test_3_a_removal_stops_and_keeps_what_is_not_its_own(self):
        self.dpkg("--remove", "brood")

        self.assertEqual(self.brood.state, "inactive")
        self.assertEqual(machine.ask("pgrep -u brood", check=False), "")
        self.assertTrue((machine.root / "etc/brood/brood.toml").exists())
        self.assertTrue((machine.root / STATE.lstrip("/") / "redis").is_dir())

    def test_4_a_purge_removes_configuration_and_data(self):
        self.dpkg("--purge", "brood", "libbrood-dev", "libbrood-testing1", "libbrood1")

        left = [path for path in ("/etc/brood", STATE, "/var/log/brood", "/run/brood", "/usr/share/doc/brood") if (machine.root / path.lstrip("/")).exists()]
        self.assertEqual(left, [])
        self.assertEqual(machine.ask("find /etc /lib/systemd -name '*brood*'"), "")


def main():
    global machine, packages
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    machines.enter_own_namespaces()
    for tool in ("dpkg-buildpackage", "dh", "lintian", "mmdebstrap"):
        if shutil.which(tool) is None:
            skip(f"there is no {tool}; packaging/install-dependencies installs it")
    build = pathlib.Path(sys.argv[1]).resolve()
    with machines.Scratch() as directory:
        packages = build_packages(build, directory)
        debian = bare_debian(directory, packages.values())
        with machines.Machine(debian) as machine:
            jobs = machine.root / JOBS.lstrip("/")
            jobs.mkdir(parents=True)
            for library in ("worker/examples/libexamples.so", "tests/job_libraries/libshell_jobs.so"):
                shutil.copy(build / library, jobs)
            result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2, exit=False).result
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
