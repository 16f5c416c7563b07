#!/usr/bin/env python3
"""brood under a real systemd: its units, started, watched, killed, stopped and kept in their sandbox.

usage: systemd_test.py BUILD_DIRECTORY [TEST]...

Exit status 77: no machine could be booted here, and the reason was said.
"""

import hashlib
import hmac
import json
import os
import pathlib
import re
import shlex
import sys
import time
import unittest

import machine as machines
from machine import PATIENCE, eventually
from service import STATE, Service, install

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = [ROOT / "packaging/systemd" / unit for unit in ("brood.service", "brood@.service")]
LEDGER = f"{STATE}/ledger"

machine = None


class Unit(unittest.TestCase):
    def setUp(self):
        self.brood = Service(machine)
        self.addCleanup(self.brood.clear)

    def assertSoon(self, condition, expected=True, says=None):
        value = eventually(lambda: condition() == expected) and condition()
        journal = "" if value == expected else machine.ask(f"journalctl --no-pager -n 25 -u {self.brood.unit}")
        self.assertEqual(value, expected, f"{says or ''}\n{journal}")

    def start(self, config="", drop_in="", **more):
        self.brood.configure(config, **more)
        if drop_in:
            self.brood.drop_in(drop_in)
        self.brood.start()


class Start(Unit):
    def test_the_service_is_ready_when_its_workers_are_and_not_before(self):
        self.brood.configure("[worker]\npreload = false\n", libraries=("unruly_jobs",), workers=2)
        self.brood.drop_in(f"[Service]\nEnvironment=BROOD_TEST_GATE={STATE}\n")
        machine.run("systemctl start --no-block brood")
        self.assertSoon(lambda: "1 of 2 workers" in self.brood.show("StatusText"))
        self.assertEqual(self.brood.state, "activating")

        machine.write(f"{STATE}/open", "")

        self.assertSoon(lambda: self.brood.state, "active")
        self.assertSoon(lambda: "2 of 2 workers" in self.brood.show("StatusText"))

    def test_it_performs_jobs_as_a_user_of_its_own_with_a_redis_of_its_own(self):
        self.start()
        self.brood.enqueue("Ledger", LEDGER, "one", 0)
        self.assertSoon(lambda: self.brood.ledger("D"), ["one"])
        self.assertEqual(machine.ask(f"stat -c %U {LEDGER}"), "brood")
        status = machine.ask("brood status")  # root finds it where the unit has it
        self.assertRegex(status, rf"\b{self.brood.main_pid}\b")

    def test_a_wrong_configuration_fails_once_and_says_why(self):
        self.brood.configure("concurency = 3\n")
        machine.run("systemctl start brood", check=False)
        self.assertSoon(lambda: self.brood.state, "failed")
        self.assertEqual(self.brood.show("ExecMainStatus"), "78")
        self.assertEqual(self.brood.show("NRestarts"), "0")
        self.assertIn('did you mean "concurrency"?', machine.ask("systemctl status brood", check=False))
        self.assertEqual({entry["PRIORITY"] for entry in self.brood.journal() if "concurency" in entry["MESSAGE"]}, {"3"})

    def test_a_configuration_that_is_not_there_fails_too(self):
        machine.run("systemctl start brood", check=False)
        self.assertSoon(lambda: self.brood.state, "failed")
        self.assertEqual(self.brood.show("ExecMainStatus"), "78")


class Journal(Unit):
    def test_lines_have_their_priority_and_no_prefix(self):
        self.start('[worker]\nmax_crashes = 1\n', workers=1)
        self.brood.enqueue("Segfault")
        self.assertSoon(lambda: self.brood.says("event=job_died"))

        entries = [entry for entry in self.brood.journal() if entry.get("_TRANSPORT") == "stdout"]
        self.assertEqual({entry["SYSLOG_IDENTIFIER"] for entry in entries}, {"brood"})
        self.assertEqual({entry["_SYSTEMD_UNIT"] for entry in entries}, {"brood.service"})
        lines = [str(entry["MESSAGE"]) for entry in entries]
        self.assertFalse([line for line in lines if not re.match(r"(INFO|WARN|ERROR) pid=\d+ event=", line)])
        priorities = {re.search(r"event=(\w+)", line)[1]: entry["PRIORITY"] for line, entry in zip(lines, entries)}
        self.assertEqual((priorities["ready"], priorities["job_died"], priorities["worker_crashed"]), ("6", "4", "3"))


class LogFile(Unit):
    LOG = "/var/log/brood/jobs.log"
    RULES = "/usr/share/doc/brood/examples/logrotate/brood"

    def log(self, more=""):
        return self.brood.read(self.LOG + more)

    def test_logrotate_needs_no_restart(self):
        if machine.run("which logrotate", check=False).returncode != 0:
            self.skipTest("there is no logrotate; packaging/install-dependencies installs it")
        self.addCleanup(lambda: machine.run(f"rm -f {self.LOG}*", check=False))
        self.start(f'[log]\nfile = "{self.LOG}"\nlog_jobs = true\n', workers=1)
        self.assertEqual(self.brood.shell("true"), 0)
        self.assertSoon(lambda: "event=job_done" in self.log())
        before, worker = self.log(), machine.ask("pgrep -f '^brood: worker 0'")

        machine.run(f"logrotate --force --state /root/logrotate.state {self.RULES}")

        self.assertEqual(self.brood.shell("true"), 0)
        self.assertSoon(lambda: "event=job_done" in self.log())
        self.assertEqual((self.log(".1"), machine.ask(f"stat -c %U {self.LOG}")), (before, "brood"))
        self.assertEqual(machine.ask("pgrep -f '^brood: worker 0'"), worker)
        self.assertEqual(machine.ask("brood reopen"), f"reopened: {self.LOG}")
        self.brood.cli("bgrewriteaof")
        redis_log = f"{STATE}/redis/redis.log"
        self.assertSoon(lambda: "rewriting" in self.brood.read(redis_log))
        self.assertIn("Server initialized", self.brood.read(f"{redis_log}.1"))


class Recovery(Unit):
    def is_recovered_once(self):
        """systemd has killed its worker with the supervisor, so it is performed again, and charged for nothing."""
        self.assertSoon(lambda: self.brood.ledger("S"), ["long", "long"])
        self.brood.let_jobs_end()
        self.assertSoon(lambda: self.brood.ledger("D"), ["long"])
        self.assertSoon(lambda: self.brood.says("event=supervisor_inherited"))
        self.assertEqual((self.brood.cli("zcard retry"), self.brood.cli("llen queue:default")), ("0", "0"))
        self.assertEqual(self.brood.cli("hlen brood:processes"), "1")
        self.assertEqual(self.brood.ledger("S"), ["long", "long"])

    def test_a_supervisor_that_is_killed_is_started_again_and_its_jobs_are_recovered_once(self):
        self.start()
        self.brood.begin_a_job("long")
        before = self.brood.main_pid

        machine.run(f"kill -KILL {before}")

        self.assertSoon(lambda: (self.brood.show("NRestarts"), self.brood.state), ("1", "active"))
        self.assertNotEqual(self.brood.main_pid, before)
        self.is_recovered_once()

    def test_a_supervisor_that_hangs_is_ended_by_the_watchdog_and_started_again(self):
        self.start(drop_in="[Service]\nWatchdogSec=6\n")
        self.brood.begin_a_job("long")
        before = self.brood.main_pid

        machine.run(f"kill -STOP {before}")

        self.assertSoon(lambda: (self.brood.show("NRestarts"), self.brood.state), ("1", "active"))
        self.assertNotEqual(self.brood.main_pid, before)
        self.assertSoon(lambda: self.brood.says("Failed with result 'watchdog'"))
        self.is_recovered_once()


class Watchdog(Unit):
    """Whatever has happened to it, systemd hears from the service for longer than its watchdog waits."""

    SECONDS = 6

    def setUp(self):
        super().setUp()
        machine.run("systemctl log-level debug")  # systemd writes down what it is told
        self.addCleanup(lambda: machine.run("systemctl log-level info"))
        machine.run("cp -p /usr/bin/brood /root/brood")
        self.addCleanup(lambda: self.install("/root/brood"))
        self.start(drop_in=f"[Service]\nWatchdogSec={self.SECONDS}\n", workers=1)
        self.supervisor = self.brood.main_pid

    def install(self, program):
        machine.run(f"cp -p {program} /usr/bin/brood.new && mv /usr/bin/brood.new /usr/bin/brood")

    def told(self, word):
        """How often the supervisor has said so."""
        said = machine.ask(f"journalctl --no-pager -o cat --after-cursor={shlex.quote(self.brood.cursor)} _PID=1")
        return len(re.findall(rf"Got notification message from PID {self.supervisor} \(.*{word}=", said))

    def goes_on(self, ready):
        self.assertSoon(lambda: self.told("READY"), ready)
        fed = self.told("WATCHDOG")
        self.assertSoon(lambda: self.told("WATCHDOG") >= fed + 4)  # two in each of its intervals
        self.assertEqual((self.brood.state, self.brood.main_pid, self.brood.show("NRestarts")), ("active", self.supervisor, "0"))

    def test_after_a_start_a_reload_and_upgrades_with_a_redis_of_its_own(self):
        self.goes_on(ready=1)
        machine.run("systemctl reload brood")
        self.goes_on(ready=2)
        for ready in (3, 4):
            said = self.told("STATUS")
            self.install("/root/brood")
            machine.run(f"kill -USR2 {self.supervisor}")
            self.goes_on(ready)
            self.assertGreater(self.told("STATUS"), said)

    def test_after_an_upgrade_that_was_refused(self):
        self.install("/bin/false")
        self.assertNotEqual(machine.run(f"/root/brood upgrade --pid {self.supervisor}", check=False).returncode, 0)
        self.assertSoon(lambda: "the last upgrade was refused" in self.brood.show("StatusText"))
        self.goes_on(ready=1)


class Stop(Unit):
    def test_a_stop_lets_a_job_finish(self):
        self.start()
        self.brood.begin_a_job("one")
        machine.run("systemctl stop --no-block brood")
        self.assertSoon(lambda: self.brood.state, "deactivating")
        self.assertSoon(lambda: self.brood.says("to=stopping"))
        self.brood.let_jobs_end()
        self.assertSoon(lambda: self.brood.state, "inactive")
        self.assertEqual(self.brood.ledger("D"), ["one"])
        self.assertEqual((self.brood.state, self.brood.show("Result"), self.brood.show("ExecMainStatus")), ("inactive", "success", "0"))
        self.assertEqual(machine.ask("pgrep -u brood", check=False), "", "a process is left")

    def test_a_job_that_does_not_finish_is_returned_and_performed_after_the_next_start(self):
        self.start('shutdown_timeout = "500ms"\n')
        self.brood.begin_a_job("one")
        self.brood.stop()
        self.assertEqual((self.brood.state, self.brood.show("Result")), ("inactive", "success"))
        self.assertEqual(self.brood.ledger("D"), [])

        self.brood.let_jobs_end()
        self.brood.start()

        self.assertSoon(lambda: self.brood.ledger("D"), ["one"])
        self.assertEqual(self.brood.ledger("S"), ["one", "one"])
        self.assertEqual(self.brood.cli("zcard retry"), "0", "the job was charged for a stop")


class Reload(Unit):
    """A reload of the unit replaces the workers, one after the other, below a supervisor that goes on."""

    def setUp(self):
        super().setUp()
        machine.write("/root/empty.toml", "")  # for commands, while brood.toml is wrong
        if machine.run("brood restart --help", check=False).returncode != 0:
            self.skipTest("this brood knows no rolling restart")

    def status(self):
        return json.loads(machine.ask("brood status --json -C /root/empty.toml"))

    def workers(self, status=None):
        workers = (status or self.status())["workers"]
        return {worker["pid"] for worker in workers if worker["state"] in ("idle", "busy", "ready")}

    def test_workers_are_replaced_with_the_new_configuration_and_no_job_is_disturbed(self):
        self.start(workers=2)
        self.assertSoon(lambda: len(self.workers()), 2)
        supervisor, before = self.brood.main_pid, self.workers()
        self.brood.begin_a_job("long")
        self.brood.configure(workers=3)

        machine.run("systemctl reload brood")

        status = self.status()
        self.assertEqual(len(self.workers(status) - before), 3, f"the reload did not wait for the new workers: {before} {status}")
        self.brood.let_jobs_end()
        self.assertSoon(lambda: (len(self.workers()), self.workers() & before), (3, set()))
        self.assertSoon(lambda: (self.brood.state, self.brood.main_pid, self.brood.show("NRestarts")), ("active", supervisor, "0"))
        self.assertEqual((self.brood.ledger("S"), self.brood.ledger("D")), (["long"], ["long"]))

    def test_neither_a_page_nor_a_job_that_hides_keeps_the_unit_from_its_reload(self):
        # Neither can be dumped, so ProtectProc=invisible hides both from their supervisor.
        self.start("[web]\nlisten = \"unix:/run/brood/web.sock\"\n", workers=2)
        self.assertSoon(lambda: machine.run("test -S /run/brood/web.sock", check=False).returncode, 0)
        hides = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); open('hidden', 'w').close(); time.sleep(600)"
        self.brood.enqueue("Shell", f'python3 -c "{hides}"')
        self.assertSoon(lambda: machine.run(f"test -e {STATE}/hidden", check=False).returncode, 0)
        before = self.workers()

        machine.run("systemctl reload brood")

        self.assertEqual(len(self.workers() - before), 2)

    def test_an_upgrade_keeps_the_process_and_disturbs_no_job(self):
        self.start(workers=2)
        self.assertSoon(lambda: len(self.workers()), 2)
        supervisor, before = self.brood.main_pid, self.workers()
        self.brood.begin_a_job("long")
        machine.run("cp -p /usr/bin/brood /usr/bin/brood.new && mv /usr/bin/brood.new /usr/bin/brood")

        machine.run(f"brood upgrade --pid {supervisor}")

        self.assertEqual(len(self.workers() - before), 2, "the upgrade did not wait for the new workers")
        executed, installed = (machine.ask(f"stat -L -c %i {file}") for file in (f"/proc/{supervisor}/exe", "/usr/bin/brood"))
        self.assertEqual(executed, installed)
        self.brood.let_jobs_end()
        self.assertSoon(lambda: (len(self.workers()), self.workers() & before), (2, set()))
        self.assertSoon(lambda: (self.brood.state, self.brood.main_pid, self.brood.show("NRestarts")), ("active", supervisor, "0"))
        self.assertEqual((self.brood.ledger("S"), self.brood.ledger("D")), (["long"], ["long"]))
        self.brood.stop()
        self.assertEqual((self.brood.state, self.brood.show("Result")), ("inactive", "success"))

    def test_a_wrong_configuration_changes_nothing_and_is_said(self):
        self.start()
        supervisor, before = self.brood.main_pid, self.workers()
        self.brood.configure("concurency = 3\n")

        self.assertNotEqual(machine.run("systemctl reload brood", check=False).returncode, 0)

        self.assertSoon(lambda: self.brood.says('did you mean "concurrency"?'))
        self.assertSoon(lambda: (self.brood.state, self.brood.main_pid, self.workers()), ("active", supervisor, before))
        self.brood.configure()
        self.assertEqual(self.brood.shell("true"), 0)


class Instances(Unit):
    """brood@one and brood@two, on a Redis that wants a password, which they have as a credential."""

    def setUp(self):
        super().setUp()
        self.redis = "-p 6390 -a hush"
        machine.run("systemd-run --quiet --collect --unit=test-redis redis-server --port 6390 --save '' --requirepass hush")
        self.addCleanup(lambda: machine.run("systemctl stop test-redis", check=False))
        self.one, self.two = (Service(machine, f"brood@{name}", self.redis) for name in ("one", "two"))
        machine.write("/etc/brood/redis.password", "hush\n", mode=0o600)
        self.assertSoon(lambda: self.one.cli("ping"), "PONG")
        for instance in (self.one, self.two):
            self.addCleanup(instance.clear)
            credential = f"/run/credentials/{instance.unit}.service/redis.password"
            instance.configure(f'[redis]\nurl = "redis://localhost:6390"\npassword_file = "{credential}"\n')
            example = (ROOT / "packaging/systemd/credentials.conf.example").read_text()
            instance.drop_in(example)

    def test_each_has_its_own_configuration_directory_and_name(self):
        self.one.start()
        self.two.start()
        for instance in (self.one, self.two):
            name = instance.unit.removeprefix("brood@")
            self.assertEqual(machine.ask(f"readlink /proc/{instance.main_pid}/cwd"), f"{STATE}/{name}")
            self.assertEqual({entry["SYSLOG_IDENTIFIER"] for entry in instance.journal() if entry.get("_TRANSPORT") == "stdout"}, {instance.unit})
        status = machine.ask("brood status -C /etc/brood/one.toml")
        for instance in (self.one, self.two):
            self.assertRegex(status, rf"\b{instance.main_pid}\b")

        self.one.stop()

        self.assertEqual(self.two.state, "active")
        self.assertRegex(machine.ask("brood status -C /etc/brood/two.toml"), rf"\b{self.two.main_pid}\b")

    def test_an_instance_may_have_a_user_of_its_own(self):
        own = (ROOT / "packaging/systemd/instance-user.conf.example").read_text()
        credentials = (ROOT / "packaging/systemd/credentials.conf.example").read_text()
        machine.run("systemd-sysusers --inline 'u brood-one - \"Brood\"'")
        self.addCleanup(lambda: machine.run("rm -rf /var/lib/brood-one /var/log/brood-one /run/brood-one", check=False))
        self.one.drop_in(credentials + own.replace("%i", "one"))
        self.one.start()
        self.two.start()
        self.assertEqual(machine.ask(f"ps -o user:32= -p {self.one.main_pid}"), "brood-one")
        self.assertEqual(machine.ask(f"readlink /proc/{self.one.main_pid}/cwd"), "/var/lib/brood-one")
        self.assertRegex(machine.ask("RUNTIME_DIRECTORY=/run/brood-one brood status -C /etc/brood/one.toml"), rf"\b{self.one.main_pid}\b")
        machine.run("systemctl reload brood@one")

        self.two.enqueue("Shell", f"kill -KILL {self.one.main_pid}; echo $? >said.new; mv said.new said")

        self.assertSoon(lambda: self.two.read(f"{STATE}/two/said").strip(), "1")
        self.assertEqual(self.one.state, "active")

    def test_one_never_takes_the_other_for_dead(self):
        # Its supervisor's /proc is not to be seen from the other's sandbox.
        self.one.start()
        place = f"{STATE}/one"
        self.one.begin_a_job("one", place)
        identity = self.one.cli("hkeys brood:processes")
        self.two.start()
        # A third one that is dead indeed, whoever of them says so.  Nothing here is of it but its record, as of one on a
        # machine that was cloned, so that it takes its minute without a heartbeat, in which both look at each other too.
        about = json.loads(self.one.cli(f"hget brood:processes {identity}"))
        about["pid"] = 4194303
        self.one.cli(f"hset brood:processes third:4194303:0 {shlex.quote(json.dumps(about))}")
        two_minutes_later = time.monotonic() + 120

        for told in (lambda: any(unit.says("event=supervisor_dead", "third:4194303:0") for unit in (self.one, self.two)),
                     lambda: time.monotonic() > two_minutes_later):
            self.assertTrue(eventually(told, 4 * PATIENCE, every=1))
        self.assertFalse(self.two.says("event=supervisor_dead", identity))
        self.one.let_jobs_end(place)
        self.assertSoon(lambda: self.one.ledger("D", f"{place}/ledger"), ["one"])
        self.assertEqual(self.one.ledger("S", f"{place}/ledger"), ["one"])
        self.assertEqual(self.one.cli("zcard retry"), "0")


class Sandbox(Unit):
    def test_the_exposure_is_low(self):
        for unit in UNITS:
            self.assertLessEqual(self.exposure_of(unit), 1.5, unit)

    def test_both_units_confine_alike(self):
        # So what holds inside of the one holds inside of the other.
        one, other = (unit.read_text().partition("# What follows binds jobs too.")[2] for unit in UNITS)
        self.assertIn("SystemCallFilter=", one)
        self.assertEqual(one, other)

    def exposure_of(self, unit):
        name = unit.name.replace("@.", "@instance.")
        machine.write(f"/root/{name}", unit.read_text())
        report = machine.ask(f"systemd-analyze security --offline=yes --no-pager /root/{name}")
        return float(re.search(r"Overall exposure level for \S+: ([\d.]+)", report)[1])

    def test_the_units_are_right(self):
        verify = "systemd-analyze verify brood.service brood@one.service 2>&1"
        self.assertEqual(machine.ask(verify), "")
        for example in sorted((ROOT / "packaging/systemd").glob("*.conf.example")):
            with self.subTest(example=example.name):
                self.brood.drop_in(example.read_text())
                self.assertEqual(machine.ask(verify), "")
                self.assertNotEqual(self.brood.show("DropInPaths"), "")

    def test_jobs_write_where_they_may_and_nowhere_else(self):
        self.start()
        for place in (STATE, "/var/log/brood", "/run/brood", "/tmp", "/var/tmp"):
            self.assertEqual(self.brood.shell(f"touch {place}/by-a-job"), 0, place)
        for place in ("/etc", "/usr/lib/brood", "/var/lib", "/home", "/root", "/srv", "/sys/fs/cgroup"):
            self.assertNotEqual(self.brood.shell(f"touch {place}/by-a-job"), 0, place)
        self.assertFalse((machine.root / "tmp/by-a-job").exists())

    WRITES_CODE = "python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)'"
    LISTS_INTERFACES = "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)'"
    PINGS = "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)'"
    SPEAKS_LOCALLY = "redis-cli -p 6391 ping | grep PONG"
    SPEAKS_ELSEWHERE = "timeout 3 redis-cli -h 10.99.0.1 -p 6391 ping | grep PONG"
    GAINS_RIGHTS = "/usr/local/bin/setuid-id -u | grep -x 0"

    def test_jobs_gain_nothing(self):
        machine.run("install -m 4755 /usr/bin/id /usr/local/bin/setuid-id")
        self.start("[worker]\nseccomp = false\n")  # it is the unit that holds them
        for refused in (self.WRITES_CODE, self.LISTS_INTERFACES, self.PINGS, self.GAINS_RIGHTS, "unshare --user true", "mount -t tmpfs none /tmp",
                        "kill -0 1", f"cp /usr/bin/id {STATE}/id && chmod u+s {STATE}/id", "test -e /dev/kmsg", "chrt --fifo 1 true"):
            self.assertNotEqual(self.brood.shell(refused), 0, refused)

    def test_the_examples_give_back_what_they_say(self):
        machine.run("install -m 4755 /usr/bin/id /usr/local/bin/setuid-id; install -d -o brood /srv/images")
        seccomp_off = "[worker]\nseccomp = false\n"
        for example, config, allowed in (("jit", "", self.WRITES_CODE), ("writable-path", "", "touch /srv/images/cat"),
                                         ("raw-network", "", f"{self.LISTS_INTERFACES} && {self.PINGS}"), ("sudo", seccomp_off, self.GAINS_RIGHTS)):
            with self.subTest(example=example):
                self.start(config)
                self.assertNotEqual(self.brood.shell(allowed), 0)
                self.brood.stop()
                self.brood.drop_in((ROOT / f"packaging/systemd/{example}.conf.example").read_text())
                self.brood.start()
                self.assertEqual(self.brood.shell(allowed), 0, self.brood.shell_output())
                self.brood.clear()

    def test_the_example_of_a_closed_network_leaves_redis(self):
        machine.run("ip address add 10.99.0.1/32 dev lo")
        machine.run("systemd-run --quiet --collect --unit=test-elsewhere redis-server --port 6391 --bind 0.0.0.0 --protected-mode no --save ''")
        machine.run(f"timeout 30 sh -c 'until {self.SPEAKS_LOCALLY}; do sleep 0.05; done'")
        self.addCleanup(lambda: machine.run("systemctl stop test-elsewhere; ip address del 10.99.0.1/32 dev lo", check=False))
        self.start()
        self.assertEqual(self.brood.shell(f"{self.SPEAKS_LOCALLY} && {self.SPEAKS_ELSEWHERE}"), 0, self.brood.shell_output())
        self.brood.stop()
        self.brood.drop_in((ROOT / "packaging/systemd/network.conf.example").read_text())
        self.brood.start()
        self.assertEqual(self.brood.shell(self.SPEAKS_LOCALLY), 0, self.brood.shell_output())
        self.assertNotEqual(self.brood.shell(self.SPEAKS_ELSEWHERE), 0)

    def test_commands_find_the_supervisor_from_inside(self):
        # Where its entry in /proc is not to be seen: so does ExecReload= ask it.
        self.start()
        inside = "-p User=brood -p ProtectProc=invisible -p PrivateUsers=yes -E RUNTIME_DIRECTORY=/run/brood"
        asked = machine.run(f"systemd-run --quiet --pipe --wait {inside} brood kill 0123", check=False)
        self.assertEqual(asked.returncode, 75, asked.stderr)

    def test_broods_own_filter_works_inside(self):
        self.start()
        self.assertEqual(self.brood.shell("grep -x 'NoNewPrivs:.*1' /proc/self/status && grep -x 'Seccomp:.*2' /proc/self/status"), 0)
        self.assertNotEqual(self.brood.shell(f"kill -TERM {self.brood.main_pid}"), 0)
        self.assertFalse(self.brood.says("supervisor_not_shielded"))
        self.assertEqual(self.brood.state, "active")


class Features(Unit):
    """What brood can do, inside of its unit: the filter, the missing rights and the read-only directories of that are no obstacle."""

    OUT, IN = f"{STATE}/out", f"{STATE}/in"
    WITHOUT_LANDLOCK = "[Service]\nSystemCallFilter=~landlock_restrict_self\n"
    SANDBOX = f'[classes.Shell.sandbox]\nnetwork = false\nwrite = ["{OUT}"]\nread = ["{IN}"]\n'

    def setUp(self):
        super().setUp()
        machine.run(f"install -d -o brood -g brood {STATE} {self.OUT} {self.IN}")
        machine.write(f"{self.IN}/text", "to be read")
        machine.write(f"{STATE}/secret", "a secret")

    def out(self, name):
        return self.brood.read(f"{self.OUT}/{name}")

    def written(self, name):
        """The content of a file in OUT, once a job has written it."""
        self.assertSoon(lambda: self.out(name) != "")
        return self.out(name)

    def processes(self):
        return machine.ask("ps -u brood -o args=")

    # Ways to run a command: as root, and as the unit's own user.
    RUNNERS = ("", f"setpriv --reuid=brood --regid=brood --clear-groups env RUNTIME_DIRECTORY=/run/brood STATE_DIRECTORY={STATE} ")

    def attempts(self):
        """A command of the shell that tries what the sandbox refuses, and writes down what has succeeded."""
        tries = {"wrote": f"echo x >{STATE}/outside", "read": f"cat {STATE}/secret", "listed": f"ls {STATE}", "connected": f"redis-cli -s {STATE}/redis.sock ping | grep PONG",
                 "signalled": f"kill -0 {self.brood.main_pid}", "made a namespace": "unshare --user true"}
        lines = [f"cat {self.IN}/text >{self.OUT}/copied", *(f"({what}) >/dev/null 2>&1 && echo {name} >>{self.OUT}/escapes" for name, what in tries.items()), f"echo done >{self.OUT}/done"]
        return "; ".join(lines)

    def test_a_sandbox_holds_its_class_and_lets_it_do_what_it_may(self):
        self.start(self.SANDBOX)
        self.brood.enqueue("Shell", self.attempts())
        self.assertEqual(self.written("done"), "done\n")
        self.assertEqual((self.out("copied"), self.out("escapes")), ("to be read", ""))
        self.assertFalse(self.brood.says("event=sandbox_incomplete"))
        self.assertEqual(self.brood.cli("zcard retry"), "0")

    def test_each_kind_of_sandbox_is_entered(self):
        for setting in ("network = false", f'write = ["{self.OUT}"]', f'read = ["{self.IN}"]', "strict = true"):
            with self.subTest(setting=setting):
                self.brood = Service(machine)  # whose journal begins now
                self.start(f"[log]\nlog_jobs = true\n[classes.Shell.sandbox]\n{setting}\n")
                self.brood.enqueue("Shell", "true")
                self.assertSoon(lambda: self.brood.says("event=job_done") or self.brood.says("event=job_failed"))
                self.assertEqual(self.brood.cli("zcard retry"), "0", self.brood.cli("zrange retry 0 -1"))
                self.brood.clear()
                machine.run(f"install -d -o brood -g brood {STATE} {self.OUT} {self.IN}")

    def test_a_strict_sandbox_of_processes_that_the_unit_cannot_have_starts_nothing(self):
        # Where cgroups are delegated it works; elsewhere the service says that it does not.
        self.brood.configure("[classes.Shell.sandbox]\nprocesses = 3\nstrict = true\n")
        machine.run("systemctl start brood", check=False)
        if self.brood.state == "active":
            self.brood.enqueue("Shell", f"sh -c 'for i in 1 2 3 4 5 6; do sleep 0.1 & done; wait' 2>{self.OUT}/refused")
            self.assertSoon(lambda: "fork" in self.out("refused"))
        else:
            self.assertSoon(lambda: (self.brood.state, self.brood.show("ExecMainStatus")), ("failed", "78"))
            self.assertTrue(self.brood.says("the sandbox of class Shell cannot be had here", "cgroup with the controller pids"))

    def test_a_filter_that_forbids_a_sandbox_starts_nothing(self):
        for strict in ("true", "false"):
            with self.subTest(strict=strict):
                self.brood.configure(f"{self.SANDBOX}strict = {strict}\n")
                self.brood.drop_in(self.WITHOUT_LANDLOCK)
                machine.run("systemctl start brood", check=False)
                self.assertSoon(lambda: (self.brood.state, self.brood.show("ExecMainStatus")), ("failed", "78"))
                self.assertTrue(self.brood.says("the sandbox of class Shell cannot be had here", "landlock_restrict_self: Operation not permitted"))
                self.brood.clear()

    def test_a_check_in_the_unit_tells_what_the_unit_forbids(self):
        machine.run("install -d -o brood /srv/images")
        self.brood.configure(self.SANDBOX.replace("write = [", 'write = ["/srv/images", '))
        check = f"[Service]\nType=oneshot\nExecStart=\nExecStart=/usr/bin/brood run --check -C {self.brood.config}\nRestart=no\nWatchdogSec=0\n"
        self.brood.drop_in(check)
        machine.run("systemctl start brood")
        self.assertSoon(lambda: self.brood.says("brood can run, except as in the warnings"))
        self.assertTrue(self.brood.says("the sandbox of class Shell names /srv/images, which cannot be written: Read-only file system"))
        self.brood.clear()

        self.setUp()
        self.brood.configure('[web]\nlisten = "127.0.0.1:80"\n')
        self.brood.drop_in(check)
        self.assertNotEqual(machine.run("systemctl start brood", check=False).returncode, 0)
        self.assertSoon(lambda: self.brood.says("the page cannot listen at 127.0.0.1:80", "Permission denied"))
        self.brood.clear()

        self.setUp()
        self.brood.configure(self.SANDBOX)
        self.brood.drop_in(check + self.WITHOUT_LANDLOCK)
        self.assertNotEqual(machine.run("systemctl start brood", check=False).returncode, 0)
        self.assertEqual(self.brood.show("ExecMainStatus"), "78")
        self.assertSoon(lambda: self.brood.says("landlock_restrict_self: Operation not permitted"))
        self.assertFalse(self.brood.says("everything can run"))

    def test_a_check_at_a_shell_may_go_by_the_filter_of_the_unit(self):
        # As the guide has it.
        check = next(line.strip().removeprefix("sudo ") for line in (ROOT / "packaging/doc/crashes.md").read_text().splitlines() if "sudo systemd-run" in line)
        self.brood.configure(self.SANDBOX)
        checked = machine.run(check, check=False)
        self.assertEqual((checked.returncode, "everything can run" in checked.stdout), (0, True), checked.stderr)
        self.brood.drop_in(self.WITHOUT_LANDLOCK)
        checked = machine.run(check, check=False)
        self.assertEqual(checked.returncode, 78)
        self.assertIn("landlock_restrict_self: Operation not permitted", checked.stderr)

    def test_a_template_and_processes_of_jobs(self):
        self.start('[worker]\npreload = true\n[classes.Shell]\nisolation = "process"\n')
        self.assertSoon(lambda: all(title in self.processes() for title in ("brood: template", "brood: forker 0 default")))
        self.assertEqual(self.brood.shell("true"), 0)
        self.assertFalse(self.brood.says("event=sandbox_incomplete"))

    def test_programs_as_jobs(self):
        self.start(f'''[commands.Told]
run = ["/bin/sh", "-c", "echo $1 $LEVEL >{self.OUT}/told", "told", "{{0}}"]
env = {{ LEVEL = "high" }}
directory = "{STATE}"
[commands.Fails]
run = ["/bin/false"]
[on_error]
run = ["/bin/sh", "-c", "cat >{self.OUT}/new; mv {self.OUT}/new {self.OUT}/reported"]
''')
        self.brood.enqueue("Told", "a word")
        self.assertEqual(self.written("told"), "a word high\n")
        self.brood.enqueue("Fails")
        self.assertEqual(json.loads(self.written("reported"))["class"], "Fails")

    ASKS = "python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' "

    def test_the_page_and_its_metrics(self):
        self.start('[web]\nlisten = "127.0.0.1:7979"\n')
        self.assertSoon(lambda: '"ready":true' in machine.run(self.ASKS + "http://127.0.0.1:7979/readyz", check=False).stdout)
        self.assertIn("brood_", machine.ask(self.ASKS + "http://127.0.0.1:7979/metrics"))
        self.assertIn("<html", machine.ask(self.ASKS + "http://127.0.0.1:7979/"))

    def example_unit(self, name):
        machine.write(f"/etc/systemd/system/{name}", (ROOT / f"packaging/systemd/{name}.example").read_text())
        self.addCleanup(lambda: machine.run(f"systemctl stop {name}; rm /etc/systemd/system/{name}; systemctl daemon-reload", check=False))
        machine.run(f"systemctl daemon-reload; systemctl start {name}")

    def test_the_example_of_metrics_for_a_node_exporter(self):
        self.start()
        machine.run("install -d /var/lib/prometheus/node-exporter")
        self.example_unit("brood-metrics.service")
        self.assertIn("brood_redis_up 1", self.brood.read("/var/lib/prometheus/node-exporter/brood.prom"))

    def test_the_page_at_a_local_socket_by_the_supervisor_and_by_a_unit_of_its_own(self):
        asks = "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"/run/brood/web.sock\"); s.sendall(b\"GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n\"); print(s.recv(9999).decode())'"
        self.start('[web]\nlisten = "unix:/run/brood/web.sock"\n')
        self.assertSoon(lambda: " 200 " in machine.run(asks, check=False).stdout)
        self.brood.stop()
        self.start()
        self.assertNotIn(" 200 ", machine.run(asks, check=False).stdout)
        self.example_unit("brood-web.service")
        self.assertSoon(lambda: " 200 " in machine.run(asks, check=False).stdout)

    def listen(self, program):
        """Has a program listen in the machine, and write into OUT what it is told."""
        machine.write("/root/listener.py", f"import http.server, os, socket\nout = {self.OUT!r}\n{program}")
        machine.run("systemd-run --quiet --collect --unit=test-listener python3 /root/listener.py")
        self.addCleanup(lambda: machine.run("systemctl stop test-listener", check=False))
        self.assertSoon(lambda: os.path.exists(f"{machine.root}{self.OUT}/listens"))

    def test_spans_by_otlp(self):
        self.listen('''
class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open(out + "/new", "wb").write(body)
        os.rename(out + "/new", out + "/spans")
        self.send_response(200); self.end_headers(); self.wfile.write(b"{}")
server = http.server.HTTPServer(("127.0.0.1", 4318), Collector)
open(out + "/listens", "w")
server.serve_forever()
''')
        self.start('[otlp]\nendpoint = "http://127.0.0.1:4318"\n')
        self.assertEqual(self.brood.shell("true"), 0)
        self.assertIn("Shell", self.written("spans"))

    def test_failures_at_a_webhook_whose_secret_is_a_credential(self):
        self.listen('''
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open(out + "/new", "w").write(self.headers["X-Brood-Signature"] + " " + body.decode())
        os.rename(out + "/new", out + "/failure")
        self.send_response(200); self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 4319), Hook)
open(out + "/listens", "w")
server.serve_forever()
''')
        machine.write("/etc/brood/hook-secret", "s3cret\n")
        self.addCleanup(lambda: machine.run("rm -f /etc/brood/hook-secret", check=False))
        self.start('[on_error]\nwebhook = "http://127.0.0.1:4319/"\nwebhook_secret_file = "credential:hook"\n',
                   drop_in="[Service]\nLoadCredential=hook:/etc/brood/hook-secret\n")
        self.brood.enqueue("Segfault")
        signature, report = self.written("failure").split(" ", 1)
        self.assertEqual(signature, "sha256=" + hmac.new(b"s3cret", report.encode(), hashlib.sha256).hexdigest())
        self.assertEqual(json.loads(report)["error_class"], "SIGSEGV")

    def make_certificate(self, name):
        """A certificate of its own for localhost, and its fingerprint."""
        place = f"/etc/brood/{name}"
        machine.run(f"mkdir -p /etc/brood; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {place}.key -out {place}.pem -days 2 "
                    f"-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>&1")
        self.addCleanup(lambda: machine.run(f"rm -f {place}.key {place}.pem", check=False))
        return machine.ask(f"openssl x509 -in {place}.pem -outform DER | sha256sum").split()[0]

    def test_a_redis_whose_certificate_is_pinned_and_failures_at_sentry_by_https(self):
        pin = self.make_certificate("redis")
        self.make_certificate("sentry")
        machine.run("systemd-run --quiet --collect --unit=test-tls-redis redis-server --port 0 --tls-port 6392 --save '' "
                    "--tls-auth-clients no --tls-cert-file /etc/brood/redis.pem --tls-key-file /etc/brood/redis.key "
                    "--tls-ca-cert-file /etc/brood/redis.pem")
        self.addCleanup(lambda: machine.run("systemctl stop test-tls-redis", check=False))
        self.brood.redis = "-p 6392 --tls --cacert /etc/brood/redis.pem -h localhost"
        self.listen('''
import ssl
class Sentry(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open(out + "/new", "wb").write(body)
        os.rename(out + "/new", out + "/envelope")
        self.send_response(200); self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 4320), Sentry)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/etc/brood/sentry.pem", "/etc/brood/sentry.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
open(out + "/listens", "w")
server.serve_forever()
''')
        self.start(f'''[redis]
url = "rediss://localhost:6392"
[redis.tls]
verify = "pin:{pin}"
[on_error]
sentry_dsn = "https://key@localhost:4320/7"
[on_error.tls]
ca = "/etc/brood/sentry.pem"
''')
        self.brood.enqueue("Segfault")
        header, item, event = self.written("envelope").splitlines()[:3]
        self.assertEqual(json.loads(item)["type"], "event")
        self.assertIn("SIGSEGV", event)

    def test_counts_by_statsd(self):
        self.listen('''
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 8125))
open(out + "/listens", "w")
while True:
    open(out + "/counts", "ab").write(server.recv(65536) + b"\\n")
''')
        self.start('[statsd]\naddress = "127.0.0.1:8125"\n')
        self.assertEqual(self.brood.shell("true"), 0)
        self.assertSoon(lambda: "sidekiq.jobs.success" in self.out("counts"))

    def test_encrypted_arguments_by_a_key_that_is_a_credential(self):
        machine.run("brood keys new /etc/brood/key1")
        self.addCleanup(lambda: machine.run("rm -f /etc/brood/key1", check=False))
        self.start('[encryption.keys]\n1 = "credential:key1"\n', drop_in="[Service]\nLoadCredential=key1:/etc/brood/key1\n")
        machine.run(f"env CREDENTIALS_DIRECTORY=/run/credentials/brood.service brood enqueue -C {self.brood.config} --encrypt Shell '\"cat /run/credentials/brood.service/key1 >/dev/null && echo opened >{self.OUT}/opened\"'")
        self.assertEqual(self.written("opened"), "opened\n")

    def test_core_files(self):
        pattern = machine.ask("cat /proc/sys/kernel/core_pattern")
        if pattern.startswith(("|", "/")):
            self.skipTest(f"core files go elsewhere here: {pattern}")
        for isolation in ("worker", "process"):
            with self.subTest(isolation=isolation):
                self.start(f'[classes.Segfault]\nisolation = "{isolation}"\n', drop_in="[Service]\nLimitCORE=infinity\n")
                self.brood.enqueue("Segfault")
                self.assertSoon(lambda: self.brood.says("event=job_crashed", "Segfault::perform"))
                self.assertSoon(lambda: machine.ask(f"find {STATE} -maxdepth 1 -name 'core*' -size +0", check=False) != "")
                self.brood.clear()
                machine.run(f"install -d -o brood -g brood {STATE} {self.OUT} {self.IN}")

    def test_a_limit_of_memory(self):
        self.start('[worker]\nmemory_limit = "256M"\n')
        self.assertSoon(lambda: self.brood.says("event=memory_limit"))
        delegated = "memory" in machine.run("cat /sys/fs/cgroup/system.slice/brood.service/cgroup.controllers", check=False).stdout.split()
        self.assertTrue(self.brood.says("event=memory_limit", "by=cgroup" if delegated else "by=RLIMIT_DATA"))
        takes = "python3 -c 'x = bytearray({} << 20); print(len(x))'"
        self.assertEqual(self.brood.shell(takes.format(32)), 0, self.brood.shell_output())
        self.brood.enqueue("Shell", f"{takes.format(1024)} >{self.OUT}/taken; echo ended >{self.OUT}/ended")
        self.assertSoon(lambda: self.out("ended") != "" or self.brood.cli("zcard retry") != "0" or self.brood.cli("zcard dead") != "0" or self.brood.says("event=worker_crashed"))
        self.assertEqual(self.out("taken"), "")

    def test_tenants_sequences_and_rules_that_are_added_at_run_time(self):
        self.start('queues = ["images~*", "default"]\npoll_interval = "200ms"\n[tenants.images]\nacme = 3\n'
                   '[limits.each]\nqueues = ["images~*"]\nconcurrent = 1\nper = "tenant"\n', workers=3)
        for number in range(6):
            for tenant in ("acme", "other"):
                self.brood.enqueue("Shell", f"echo {number} >>{self.OUT}/{tenant}", options=f"--queue images~{tenant} --sequence {tenant}")
        for tenant in ("acme", "other"):
            self.assertSoon(lambda: self.out(tenant).split(), [str(number) for number in range(6)])
        self.assertSoon(lambda: self.brood.cli("exists brood:sequences"), "0")
        for runner in self.RUNNERS:
            with self.subTest(runner=runner or "root"):
                arguments = shlex.quote(json.dumps([f"echo tick >>{self.OUT}/ticks"]))
                machine.run(f"{runner}brood periodic add -C {self.brood.config} tick --cron '* * * * * *' --class Shell --args {arguments}")
                self.assertIn("tick", self.written("ticks"))
                machine.run(f"{runner}brood periodic remove -C {self.brood.config} tick")
                machine.run(f"rm {self.OUT}/ticks")
                machine.run(f"{runner}brood classes pause -C {self.brood.config} Shell --reason cleaning --until 1h")
                self.assertIn("cleaning", machine.ask(f"{runner}brood classes -C {self.brood.config} --json"))
                machine.run(f"{runner}brood classes unpause -C {self.brood.config} Shell")

    def test_commands_as_root_and_as_the_units_own_user(self):
        for runner in self.RUNNERS:
            with self.subTest(runner=runner or "root"):
                self.start()
                self.brood.begin_a_job("long")
                status = json.loads(machine.ask(f"{runner}brood status --json"))
                jid = next(worker["job"]["jid"] for worker in status["workers"] if worker["job"])
                self.assertIn("Shell::perform", machine.ask(f"{runner}brood dump"))
                for command in ("scale 3", "restart", "reopen", f"kill {jid}", "quiet", "resume", "upgrade", f"restart -C {self.brood.config}"):
                    self.assertEqual(machine.run(f"{runner}brood {command}", check=False).returncode, 0, f"{command}\n{self.brood.journal()[-5:]}")
                machine.run("systemctl reload brood")
                self.assertSoon(lambda: (self.brood.state, self.brood.show("NRestarts")), ("active", "0"))
                machine.run(f"{runner}brood stop")
                self.assertSoon(lambda: self.brood.state, "inactive")
                self.brood.clear()
                machine.run(f"install -d -o brood -g brood {STATE} {self.OUT} {self.IN}")


def main():
    global machine
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    machines.enter_own_namespaces()
    build = pathlib.Path(sys.argv[1]).resolve()
    with machines.Machine() as machine:
        install(machine, build)
        result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2, exit=False, failfast=False).result
    sys.exit(not result.wasSuccessful())


main()
