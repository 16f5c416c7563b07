#!/usr/bin/env python3
"""Every code block of the documents is tried: compiled, configured, parsed or run; see tests/support/document.py for what
the comments before a block say.  A block of an unknown language fails.  What `brood` is told in console blocks and in
`brood ...` within the text is told to the real program, where no Redis and no supervisor is: it must understand it.  The
blocks of sessions are left to walkthrough_test.py.

usage: snippets_test.py BUILD_DIRECTORY SOURCE_DIRECTORY CXX_COMPILER CXX_FLAGS
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from document import blocks  # noqa: E402

BUILD, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
COMPILER, FLAGS = sys.argv[3], sys.argv[4]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "packaging/template/README.md"]
WALKED = ["batches.md", "cookbook.md", "cpp.md", "from-sidekiq.md", "ruby.md"]  # by walkthrough_test.py, as CMake says
THREE_SCREENS = 75  # lines
CONTEXTS = SOURCE / "tests/compatibility/snippets"
# Programs for machines on which things are installed and served; all others must exist.
ELSEWHERE = {"sudo", "systemctl", "systemd-sysusers", "systemd-tmpfiles", "ldconfig", "journalctl", "apt", "bundle", "sidekiq", "logger", "rails"}


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, check=False, **options)


def fails(done):
    return None if done.returncode == 0 else done.stdout


class Trial:
    """A directory to try blocks in, with an installed brood."""

    def __init__(self, root):
        self.root = root
        self.prefix = root / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.prefix], check=True, stdout=subprocess.DEVNULL)
        for name in ("cwd", "run", "state"):
            (root / name).mkdir(mode=0o700)
        self.environment = dict(os.environ, PATH=f"{self.prefix}/bin:{os.environ['PATH']}", HOME=str(root), LC_ALL="C.UTF-8",
                                REDIS_URL=f"unix://{root}/nobody", RUNTIME_DIRECTORY=f"{root}/run", STATE_DIRECTORY=f"{root}/state",
                                LD_LIBRARY_PATH=f"{self.prefix}/lib")
        self.environment.pop("REDIS_PROVIDER", None)
        self.asked = {}  # earlier `brood` commands and their output

    def directory(self, block):
        directory = self.root / block.place.replace(":", "-").replace("/", "-")
        directory.mkdir()
        return directory

    def in_context(self, block):
        """The block as a whole file."""
        if "context" not in block.says:
            return block.text
        around = (CONTEXTS / block.says["context"]).read_text()
        parts = re.split(r"^.*\bSNIPPET\b.*\n", around, flags=re.M)
        assert len(parts) == 2, f"{block.says['context']} has not one line SNIPPET"
        return parts[0] + block.text + parts[1]

    def cpp(self, block):
        file = self.directory(block) / "snippet.cpp"
        file.write_text(self.in_context(block))
        return fails(run([COMPILER, *FLAGS.split(), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror",
                          "-I", self.prefix / "include", file]))

    def cmake(self, block):
        directory = self.directory(block)
        text = self.in_context(block)
        if "project(" not in text:
            text = "cmake_minimum_required(VERSION 3.21)\nproject(snippet CXX)\n" + text
        for source in re.findall(r"[\w/]+\.cpp\b", text):
            (directory / source).parent.mkdir(parents=True, exist_ok=True)
            (directory / source).touch()
        (directory / "CMakeLists.txt").write_text(text)
        return fails(run(["cmake", "-S", directory, "-B", directory / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                          "-Werror=dev", f"-DCMAKE_PREFIX_PATH={self.prefix}"], env=self.environment))

    def toml(self, block):
        file = self.directory(block) / "brood.toml"
        # Libraries and programs that do not exist.
        text = re.sub(r"^require = .*$", "require = []", self.in_context(block), flags=re.M)
        (file.parent / "users").touch()
        text = re.sub(r'^users = "[^"]*"', f'users = "{file.parent / "users"}"', text, flags=re.M)
        file.write_text(re.sub(r'^run = \["[^"]*"', 'run = ["/bin/true"', text, flags=re.M))
        return fails(run(["brood", "run", "--check", "-C", file], env=self.environment, cwd=self.root / "cwd"))

    def python(self, block):
        try:
            compile(self.in_context(block), block.place, "exec")
        except SyntaxError as error:
            return str(error)
        return None

    def json(self, block):
        try:
            json.loads(self.in_context(block))
        except ValueError as error:
            return str(error)
        return None

    def ruby(self, block):
        if shutil.which("ruby") is None:
            return None
        file = self.directory(block) / "snippet.rb"
        file.write_text(self.in_context(block))
        return fails(run(["ruby", "-w", file] if "context" in block.says else ["ruby", "-wc", file], env=self.environment))

    def yaml(self, block):
        if shutil.which("ruby") is None:
            return None
        file = self.directory(block) / "snippet.yml"
        file.write_text(self.in_context(block))
        return fails(run(["ruby", "-ryaml", "-e", "YAML.safe_load(File.read(ARGV[0]), permitted_classes: [Symbol])", file]))

    def js(self, block):
        file = self.directory(block) / "snippet.js"
        file.write_text(block.text)
        return fails(run(["node", "--check", file])) if shutil.which("node") else None

    def go(self, block):
        file = self.directory(block) / "snippet.go"
        file.write_text(block.text)
        return fails(run(["gofmt", "-e", file])) if shutil.which("gofmt") else None

    def procfile(self, block):
        """A line for each process: its name, and a command."""
        for line in block.text.splitlines():
            named = re.fullmatch(r"[a-z]+: (.+)", line)
            wrong = self.simple_command(named[1]) if named else "no line of a Procfile"
            if wrong:
                return f"{line}: {wrong}"
        return None

    def containerfile(self, block):
        """Its instructions have names, and its commands are ones of a shell or JSON."""
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            word, _, rest = line.partition(" ")
            if line.strip() and word not in ("FROM", "RUN", "COPY", "CMD", "ENV", "USER", "WORKDIR", "ENTRYPOINT"):
                return f"{line}: no instruction"
            if word == "RUN":
                parsed = run(["bash", "-n", "-c", re.sub(r"--mount=\S+", "", rest)])
                if parsed.returncode != 0:
                    return parsed.stdout
            if word in ("CMD", "ENTRYPOINT"):
                told = json.loads(rest)
                wrong = self.told_to_brood([*told, "--help"]) if told[0] == "run" else None
                if wrong:
                    return wrong
        return None

    def console(self, block):
        try:
            commands = block.commands()
        except ValueError as error:
            return str(error)
        for command, _ in commands:
            parsed = run(["bash", "-n", "-c", command])
            if parsed.returncode != 0:
                return parsed.stdout
            for part in re.split(r"\s*(?:&&|\|\||;|\||&$)\s*", re.sub(r"(^|\s)#.*", "", command)):
                wrong = self.simple_command(part)
                if wrong:
                    return f"{part}: {wrong}"
        return None

    def simple_command(self, text):
        """What is wrong with one command and its arguments."""
        words = shlex.split(text)
        while words and (re.match(r"\w+=", words[0]) or words[0] in ("sudo", "exec", "env")):
            words.pop(0)
        if not words:
            return None
        if words[0] == "brood":
            return self.told_to_brood(words[1:])
        if words[0] in ELSEWHERE or (SOURCE / words[0]).exists() or re.match("build/", words[0]):
            return None
        found = run(["bash", "-c", 'type -- "$1"', "-", words[0]])
        return None if found.returncode == 0 else "no such program"

    def told_to_brood(self, words):
        words = [word for word in words if not re.fullmatch(r"\d?[<>].*|--gdb|--valgrind|--watch", word)]
        if words[:1] == ["run"] and "--check" not in words:
            words.append("--check")
        elif words and (len(words) == 1 or words[0] in ("bench", "new")):
            words.append("--help")  # it is only named, or does much
        told = " ".join(words)
        if told not in self.asked:
            done = run(["brood", *words], env=self.environment, cwd=self.root / "cwd")
            self.asked[told] = done.stdout if done.returncode in (64, 70) or done.returncode < 0 else None
        return self.asked[told]

    def block(self, block):
        """What is wrong with a block; None: nothing."""
        says = block.says
        if block.session and block.document.name not in WALKED:
            return "a session in a document that is not walked"
        if "excerpt" in says:
            return None if block.text in (block.document.parent / says["excerpt"]).read_text() else f"it does not stand in {says['excerpt']}"
        if "output" in says or (block.session and ("log" in says or "file" in says or "append" in says)):
            return None
        if block.session and block.language == "console" and "check" not in says:
            return None
        tried = {"cpp": self.cpp, "cmake": self.cmake, "toml": self.toml, "python": self.python, "json": self.json, "ruby": self.ruby, "js": self.js, "go": self.go,
                 "yaml": self.yaml, "procfile": self.procfile, "containerfile": self.containerfile, "console": self.console}
        if block.language not in tried:
            return f'there is no way to try "{block.language}"'
        return tried[block.language](block)

    def text(self, path):
        """What is wrong with the `brood ...` between the blocks: (place, what)."""
        wrong = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("    "):
                continue
            for code in re.findall(r"(?<!`)`(brood [^`]+)`", line):
                if re.search(r"[\[|]|\.\.\.", code):  # a general synopsis
                    continue
                for part in re.split(r" && ", re.sub(r"\bN\b", "1", code)):
                    said = self.simple_command(part)
                    if said:
                        wrong.append((f"{path.name}:{number}", f"`{code}`: {said}"))
        return wrong


def anchor_of(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    return {anchor_of(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.M)}


def lacking_contents(path):
    """The headings of a long document that its table of contents lacks: (place, what)."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    if path.read_text().count("\n") <= THREE_SCREENS or path.name == "reference.md":
        return
    top, _, rest = text.partition("\n## ")
    for heading in re.findall(r"^## (.+)$", "## " + rest, flags=re.M):
        if f"(#{anchor_of(heading)})" not in top:
            yield path.name, f"its table of contents has no [{heading}](#{anchor_of(heading)})"


def broken_links(path):
    """The links of a document that lead to no file or heading: (place, what)."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for link, anchor in [] if line.startswith("    ") else re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", line):
            target = path.parent / link if link else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                yield f"{path.name}:{number}", f"the link to {link}#{anchor} leads nowhere"


def main():
    paths = [SOURCE / name for name in DOCUMENTS] + sorted((SOURCE / "packaging/doc").glob("*.md"))
    linking = paths + [SOURCE / "SECURITY.md"]
    found = [block for path in paths for block in blocks(path)]
    with tempfile.TemporaryDirectory(prefix="brood-snippets-") as temporary:
        trial = Trial(pathlib.Path(temporary))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [(block.place, what) for block, what in zip(found, pool.map(trial.block, found)) if what is not None]
            for more in pool.map(trial.text, paths):
                wrong += more
    wrong += [link for path in linking for link in broken_links(path)]
    wrong += [heading for path in paths if path.parent.name == "doc" for heading in lacking_contents(path)]
    for place, what in wrong:
        print(f"{place}: {what}")
    print(f"{len(found)} blocks of {len(paths)} documents, {len(wrong)} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
