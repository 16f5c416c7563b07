"""brood as a service of a machine under test: installed as a package would, configured, started and asked."""

import json
import pathlib
import shlex
import shutil
import subprocess

from machine import eventually

STATE = "/var/lib/brood"
JOBS = "/usr/lib/brood/jobs"


def install(machine, build):
    """What `cmake --install` brings, the user and directories that packages make of it, and libraries of jobs."""
    # Whatever this machine has of its own.
    machine.run("rm -rf /etc/brood /var/lib/brood /var/log/brood /usr/lib/brood /etc/systemd/system/brood*")
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                   env={"DESTDIR": str(machine.root), "PATH": "/usr/bin:/bin"})
    jobs = machine.root / JOBS.lstrip("/")
    jobs.mkdir(parents=True, exist_ok=True)
    for library in ("worker/examples/libexamples.so", "tests/job_libraries/libunruly_jobs.so", "tests/job_libraries/libshell_jobs.so"):
        shutil.copy(build / library, jobs)
    machine.run("systemd-sysusers && systemd-tmpfiles --create brood.conf && systemctl daemon-reload")


class Service:
    """One unit, and the Redis that its supervisor uses: the embedded one, or what `redis` says to redis-cli."""

    def __init__(self, machine, unit="brood", redis=f"-s {STATE}/redis.sock"):
        self.machine, self.unit, self.redis = machine, unit, redis
        self.config = f"/etc/brood/{unit.removeprefix('brood@')}.toml"
        self.cursor = machine.ask("journalctl --quiet --no-pager -n 0 --show-cursor").removeprefix("-- cursor: ")

    def configure(self, text="", libraries=("examples", "shell_jobs"), workers=2):
        required = ", ".join(f'"{JOBS}/lib{library}.so"' for library in libraries)
        self.machine.write(self.config, f"concurrency = {workers}\nrequire = [{required}]\n{text}")

    def drop_in(self, text):
        """Settings beside the unit's own; none when empty."""
        directory = self.machine.root / f"etc/systemd/system/{self.unit}.service.d"
        shutil.rmtree(directory, ignore_errors=True)
        if text:
            self.machine.write(f"/etc/systemd/system/{self.unit}.service.d/test.conf", text)
        self.machine.run("systemctl daemon-reload")

    def start(self):
        self.machine.run(f"systemctl start {self.unit} || {{ journalctl -n 30 -u {self.unit}; exit 1; }}")
        eventually(lambda: self.cli("ping") == "PONG")  # workers may be ready before an embedded Redis is

    def stop(self):
        self.machine.run(f"systemctl stop {self.unit}")

    def clear(self):
        """No process, no data, no failure and no drop-in is left; the journal stays."""
        self.drop_in("")
        self.machine.run(f"systemctl kill --signal=KILL {self.unit}; systemctl stop {self.unit}; systemctl reset-failed {self.unit}; "
                         f"rm -rf {STATE}/* /run/brood/* {self.config}", check=False)

    def show(self, name):
        return self.machine.property_of(f"{self.unit}.service", name)

    @property
    def main_pid(self):
        return int(self.show("MainPID"))

    @property
    def state(self):
        return self.show("ActiveState")

    def enqueue(self, job_class, *arguments, options=""):
        words = " ".join(shlex.quote(json.dumps(argument)) for argument in arguments)
        return self.machine.ask(f"brood enqueue -C {self.config} {options} {job_class} {words}")

    def cli(self, command):
        return self.machine.ask(f"redis-cli --no-auth-warning {self.redis} {command}", check=False)

    def journal(self, *matches):
        """What this unit has logged since this object was made, as dictionaries of their fields."""
        lines = self.machine.ask(f"journalctl --no-pager --after-cursor={shlex.quote(self.cursor)} -o json -u {self.unit} {' '.join(matches)}").splitlines()
        return [json.loads(line) for line in lines]

    def says(self, *parts):
        """Whether a line of the journal has all these parts."""
        return any(all(part in str(entry.get("MESSAGE")) for part in parts) for entry in self.journal())

    def begin_a_job(self, name, place=STATE):
        """A job that writes into the ledger when it begins and ends, and ends when it may: see let_jobs_end()."""
        gate, ledger = f"{place}/jobs-may-end", f"{place}/ledger"
        self.enqueue("Shell", f"echo S {name} >>{ledger}; until test -e {gate}; do sleep 0.02; done; echo D {name} >>{ledger}")
        if not eventually(lambda: name in self.ledger("S", ledger)):
            raise AssertionError(f"{name} did not begin:\n" + "\n".join(str(entry["MESSAGE"]) for entry in self.journal()))

    def let_jobs_end(self, place=STATE):
        self.machine.write(f"{place}/jobs-may-end", "")

    def shell(self, command):
        """Runs a command as a job; its exit status."""
        out = f"{STATE}/shell-status"
        (self.machine.root / out.lstrip("/")).unlink(missing_ok=True)
        self.enqueue("Shell", f"({command}) >{STATE}/shell-output 2>&1; echo $? >{out}.new; mv {out}.new {out}")
        if not eventually(lambda: (self.machine.root / out.lstrip("/")).exists()):
            raise AssertionError(f"the job never ended: {command}")
        return int(self.read(out))

    def shell_output(self):
        return self.read(f"{STATE}/shell-output")

    def read(self, path):
        file = pathlib.Path(f"{self.machine.root}{path}")
        return file.read_text() if file.exists() else ""

    def ledger(self, kind, path=f"{STATE}/ledger"):
        """The ids of the jobs that have begun (kind "S") or ended ("D")."""
        return [line.split()[1] for line in self.read(path).splitlines() if line.startswith(kind + " ")]
