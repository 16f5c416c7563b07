#!/usr/bin/env python3
"""Alert rules and dashboard: promtool takes them, each alert fires, and what they ask for is what brood says."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import SKIPPED  # noqa: E402

FILES = pathlib.Path(__file__).parents[2] / "packaging/prometheus"


def promtool(*words):
    done = subprocess.run(["promtool", *words], cwd=FILES, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Metrics(unittest.TestCase):
    def test_the_rules_are_rules_and_each_alert_fires(self):
        self.assertEqual(promtool("check", "rules", "brood.rules.yml")[0], 0)
        status, said = promtool("test", "rules", "brood.rules.test.yml")
        self.assertEqual(status, 0, said)
        alerts = set(re.findall(r"alert: (\w+)", (FILES / "brood.rules.yml").read_text()))
        self.assertEqual(alerts, set(re.findall(r"alertname=\"(\w+)\"", (FILES / "brood.rules.test.yml").read_text())))

    def test_whatever_is_asked_for_is_told(self):
        sources = (pathlib.Path(__file__).parents[2] / "supervisor/cli/status").glob("*.cpp")
        program = "".join(source.read_text() for source in sources)
        told = set(re.findall(r'"(brood_[a-z_]+)"', program))
        self.assertIn("brood_redis_up", told)
        dashboard = json.loads((FILES / "brood.dashboard.json").read_text())
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        expressions.append((FILES / "brood.rules.yml").read_text())
        asked = {name for expression in expressions for name in re.findall(r"brood_[a-z_]+", expression)}
        asked = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
        self.assertEqual(asked - told, set())


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("SKIP: there is no promtool")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
