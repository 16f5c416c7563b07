#!/usr/bin/env python3
"""`brood schema` accepts what brood accepts: etc/brood.toml, the same with every key that is a comment there, and each
TOML block of the documents; and it refuses an unknown key in every section, and values of the wrong kind.

usage: schema_test.py BUILD_DIRECTORY SOURCE_DIRECTORY

Exit status 77: the schema cannot be tried here, and the reason was printed.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import tomllib
    import jsonschema
except ImportError as missing:
    print(f"left out: {missing}; Debian has it in python3-jsonschema")
    sys.exit(77)

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from document import blocks  # noqa: E402

BUILD, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
CONTEXTS = SOURCE / "tests/compatibility/snippets"
SCHEMA = json.loads(subprocess.run([BUILD / "bin/brood", "schema"], check=True, stdout=subprocess.PIPE).stdout)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
EXAMPLE = (SOURCE / "etc/brood.toml").read_text()


def mistakes(config):
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in VALIDATOR.iter_errors(config)]


def complete_example():
    """Every key and section of etc/brood.toml; its comments have a space behind the #."""
    lines, seen = [], set()
    for line in EXAMPLE.splitlines():
        plain = re.sub(r"^#(?=[a-z_\"\[])", "", line)
        header = re.fullmatch(r"\[[^\]\[]+\]", plain)
        if header and plain in seen:
            continue
        seen |= {plain} if header else set()
        lines.append(plain)
    return tomllib.loads("\n".join(lines))


def sections(schema, config, place=""):
    """Every table of `config` that has a schema, with its schema."""
    yield place, config
    for name, value in config.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if isinstance(inner, dict) and isinstance(value, dict) and inner.get("type") == "object":
            yield from sections(inner, value, f"{place}.{name}")


class Schema(unittest.TestCase):
    def test_it_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_the_example_and_all_its_keys_are_accepted(self):
        self.assertEqual(mistakes(tomllib.loads(EXAMPLE)), [])
        complete = complete_example()
        self.assertGreater(len(complete), 20)
        self.assertEqual(mistakes(complete), [])

    def test_each_block_of_the_documents_is_accepted(self):
        tried = 0
        for path in [SOURCE / "README.md", *sorted((SOURCE / "packaging/doc").glob("*.md")), SOURCE / "packaging/template/README.md"]:
            for block in blocks(path):
                if block.language != "toml":
                    continue
                text = block.text
                if "context" in block.says:
                    around = re.split(r"^.*\bSNIPPET\b.*\n", (CONTEXTS / block.says["context"]).read_text(), flags=re.M)
                    text = text.join(around)
                self.assertEqual(mistakes(tomllib.loads(text)), [], block.place)
                tried += 1
        self.assertGreater(tried, 20)
        for path in [SOURCE / "packaging/template/brood.toml", *(SOURCE / "packaging/doc/cookbook").glob("*/*.toml")]:
            self.assertEqual(mistakes(tomllib.loads(path.read_text())), [], path)

    def test_an_unknown_key_is_refused_in_every_section(self):
        complete, tried = complete_example(), []
        for place, _ in sections(SCHEMA, complete):
            changed = copy.deepcopy(complete)
            for name, table in sections(SCHEMA, changed):
                if name == place:
                    table["no_such_key"] = "x"
            is_free = place.endswith(".env") or place.endswith(".keys")
            self.assertEqual(bool(mistakes(changed)), not is_free, place)
            tried.append(place)
        for place in ["", ".redis", ".redis.tls", ".worker", ".web", ".limits.erp"]:
            self.assertIn(place, tried)

    def test_the_limits_of_a_queues_weight_are_those_of_brood(self):
        for weight in (-1, 0, 1000, 1001):
            text = f'queues = [["a", {weight}], "b"]'
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(text + "\n[redis]\nurl = \"unix:///nowhere\"\n")
                file.flush()
                check = subprocess.run([BUILD / "bin/brood", "run", "--check", "-C", file.name], capture_output=True, text=True)
            self.assertEqual(mistakes(tomllib.loads(text)) == [], check.returncode == 0, f"{weight}: {check.stdout} {check.stderr}")
            self.assertEqual(check.returncode == 0, 0 <= weight <= 1000, check.stderr)

    def test_values_of_the_wrong_kind_are_refused(self):
        for text in ["concurrency = 'many'", "concurrency = -1", "queues = 'a'", "queues = [1]", "shutdown_timeout = true",
                     "shutdown_timeout = 'soon'", "[redis.tls]\nmin_version = '1.1'", "[log]\nlevel = 'loud'", "[worker]\npreload = 3",
                     "[tenants.a]\nb = 'x'", "[commands.A]\nrun = 'true'", "[redis]\nshard = {}"]:
            self.assertNotEqual(mistakes(tomllib.loads(text)), [], text)

    def test_keys_are_described(self):
        described = [name for name, schema in SCHEMA["properties"].items() if schema.get("description")]
        self.assertGreater(len(described), 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
