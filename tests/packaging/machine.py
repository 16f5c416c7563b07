"""A machine of its own to install brood on: a real systemd, booted by systemd-nspawn over an overlay of a root directory.

Everything that it mounts and runs lies in namespaces of the test, which the kernel ends with it: a test that is killed
leaves an empty directory and empty cgroups at most.
"""

import os
import pathlib
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # what ctest takes for "could not be run here"
PATIENCE = 180  # seconds, for whatever is waited for on a busy machine
PREFIX = "brood-test-"

BOX_TARGET = """[Unit]
Description=What a machine under test needs
Requires=basic.target dbus.service
After=basic.target dbus.service
AllowIsolate=yes
"""


def skip(reason):
    print(f"SKIP: {reason}", flush=True)
    sys.exit(SKIPPED)


def eventually(condition, patience=PATIENCE, every=0.02):
    """Asks `condition` until its value is true, or until patience is at an end, and returns its last value.

    Asks every `every` seconds at first.  Most questions start several processes, so the longer it waits, the less often
    it asks: up to every half second.
    """
    begin = time.monotonic()
    while True:
        value = condition()
        waited = time.monotonic() - begin
        if value or waited > patience:
            return value
        time.sleep(max(every, min(waited / 8, 0.5)))


def clean_up_on_signals():
    def interrupt(*_):
        for number in signals:
            signal.signal(number, signal.SIG_IGN)  # one is enough
        raise KeyboardInterrupt  # which unittest lets pass, other than an exit

    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in signals:
        signal.signal(number, interrupt)


def enter_own_namespaces(*tools):
    """Starts this program anew with mounts and processes of its own, once; skips the test where that is refused."""
    if os.geteuid() != 0:
        skip("a machine or a container needs root")
    for tool in tools or ("systemd-nspawn", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            skip(f"there is no {tool}; packaging/install-dependencies installs it")
    if os.environ.get("BROOD_TEST_NAMESPACES") == "own":
        clean_up_on_signals()
        return
    unshare = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    refused = subprocess.run(unshare + ["true"], capture_output=True, text=True)
    if refused.returncode != 0:
        skip(f"no namespaces to be had here: {refused.stderr.strip()}")
    os.environ["BROOD_TEST_NAMESPACES"] = "own"
    os.execvp(unshare[0], unshare + [sys.executable] + sys.argv)


def name_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def remove_cgroup(cgroup):
    for directory, _, _ in os.walk(cgroup, topdown=False):
        try:
            os.rmdir(directory)
        except OSError:
            pass  # not yet empty
    return not cgroup.exists()


class Scratch:
    """`with Scratch() as directory`: in memory, and mounted in the test's own namespace alone."""

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3g,mode=755", "tmpfs", self.directory], check=True)
        return self.directory

    def __exit__(self, *_):
        subprocess.run(["umount", "-R", "--lazy", self.directory], capture_output=True)
        self.directory.rmdir()


class Machine:
    """`with Machine() as machine`: an overlay of `base` that is running.  Leaving it powers it off and forgets it."""

    def __init__(self, base="/", network=False):
        self.base, self.network = base, network
        self.name = PREFIX + secrets.token_hex(4)
        self.leader = self.nspawn = None
        self.cgroups = []

    def __enter__(self):
        self.scratch = Scratch()
        self.directory = self.scratch.__enter__()
        try:
            self.mount()
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.leader:
            os.kill(int(self.leader), signal.SIGKILL)  # the first process: the kernel ends the others
        if self.nspawn:
            self.nspawn.kill()
            self.nspawn.wait()
        self.scratch.__exit__()
        eventually(self.remove_cgroups, 10)

    @property
    def root(self):
        """The machine's root directory, as seen from outside."""
        return self.directory / "root"

    def mount(self):
        for part in ("upper", "work", "root"):
            (self.directory / part).mkdir()
        layers = f"lowerdir={self.base},upperdir={self.directory}/upper,workdir={self.directory}/work"
        mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], capture_output=True, text=True)
        if mounted.returncode != 0:
            skip(f"no overlay over {self.base} to be had here: {mounted.stderr.strip()}")

    def boot(self):
        self.write("/etc/machine-id", "")
        self.write("/etc/systemd/system/box.target", BOX_TARGET)
        (self.root / "var/log/journal").mkdir(parents=True, exist_ok=True)
        for unit in ("systemd-networkd.socket", "systemd-timesyncd.service", "redis-server.service"):
            self.mask(unit)
        command = ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot", f"--machine={self.name}", "--console=pipe",
                   "--capability=all",
                   "--system-call-filter=@keyring bpf landlock_create_ruleset landlock_add_rule landlock_restrict_self"]
        if not self.network:
            command.append("--private-network")
        if not os.path.isdir("/run/systemd/system"):  # nobody there to register with, nor to make a cgroup for it
            command += ["--register=no", "--keep-unit"]
            self.make_cgroups()
        self.console = open(self.directory / "console.log", "wb")
        self.nspawn = subprocess.Popen(command + ["systemd.unit=box.target"], stdin=subprocess.DEVNULL, stdout=self.console,
                                       stderr=subprocess.STDOUT, preexec_fn=self.enter_cgroups)
        eventually(lambda: self.is_running() or self.nspawn.poll() is not None, 30)
        if self.nspawn.poll() is not None or not self.is_running():
            console = (self.directory / "console.log").read_text(errors="replace")
            skip(f"systemd-nspawn boots no machine here:\n{console[-2000:]}")

    def make_cgroups(self):
        """A cgroup in each hierarchy; systemd in the machine arranges what is below."""
        for hierarchy in [pathlib.Path("/sys/fs/cgroup"), *pathlib.Path("/sys/fs/cgroup").glob("*/")]:
            # Processors are not to be divided: a cgroup without any admits no process.
            if hierarchy.is_symlink() or hierarchy.name in ("cpu,cpuacct", "cpuset") or not os.access(hierarchy / "cgroup.procs", os.W_OK):
                continue
            for old in hierarchy.glob(PREFIX + "*"):  # of a test that was killed
                if time.time() - old.stat().st_mtime > 3600:
                    remove_cgroup(old)
            own = hierarchy / self.name
            try:
                own.mkdir()
            except OSError:
                continue
            self.cgroups.append(own)

    def enter_cgroups(self):
        for cgroup in self.cgroups:
            (cgroup / "cgroup.procs").write_text(str(os.getpid()))

    def remove_cgroups(self):
        return all([remove_cgroup(cgroup) for cgroup in self.cgroups])

    def is_running(self):
        if not self.leader:
            children = pathlib.Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")
            self.leader = next((child for child in children.read_text().split() if name_of(child) == "systemd"), None)
        return self.leader and self.run("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def run(self, command, check=True, timeout=PATIENCE, **more):
        """Runs a command of the shell in the machine; its result has .stdout, .stderr and .returncode."""
        words = ["nsenter", "-t", self.leader, "-a", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                 "sh", "-c", f"cd / && {command}"]
        result = subprocess.run(words, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, **more)
        if check and result.returncode != 0:
            raise AssertionError(f"in the machine, {shlex.quote(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
        return result

    def ask(self, command, **more):
        return self.run(command, **more).stdout.strip()

    def write(self, path, text, mode=0o644):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # it may be a link to somewhere outside
        file.write_text(text)
        file.chmod(mode)

    def mask(self, unit):
        link = self.root / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")

    def property_of(self, unit, name):
        return self.ask(f"systemctl show --value --property={name} {unit}")
