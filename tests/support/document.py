"""The code blocks of a Markdown document, and what the hidden comments before them say of them.

A block is fenced, with its language, or indented by four spaces, and then it is a console's.  A comment on a line of its
own speaks of the next block:

    <!-- language: NAME -->  the language of an indented block
    <!-- context: NAME -->   a fragment: it is compiled or run as the line SNIPPET of tests/compatibility/snippets/NAME
    <!-- excerpt: PATH -->   it stands in this file, word for word
    <!-- output -->          what a program has printed, or a drawing: no code
    <!-- session: PATH -->   from here on console blocks are run, in order, in a copy of this directory (- : an empty one)
    <!-- session: end -->    and from here on no more
    <!-- file: PATH -->      in a session: the block is written to this file
    <!-- append: PATH -->    in a session: the block is appended to this file
    <!-- log -->             in a session: the log of `brood run` comes to have these lines
    <!-- until: COMMAND -->  in a session: waits before the block until this command succeeds
    <!-- check -->           in a session: the commands are not run here, only checked

In a console block, lines that begin with `$ ` are commands and those below them what they print; without such lines all
are commands.
"""

import dataclasses
import pathlib
import re

WORDS = {"language", "context", "excerpt", "output", "session", "file", "append", "log", "until", "check"}


@dataclasses.dataclass
class Block:
    document: pathlib.Path
    line: int
    language: str  # of an indented block: console
    text: str
    says: dict  # the comments before it
    session: str = None  # the directory of the session that it belongs to
    session_line: int = 0

    @property
    def place(self):
        return f"{self.document.name}:{self.line}"

    def commands(self):
        """Of a console block: (command, the lines that it prints)."""
        lines = self.text.splitlines()
        if not any(line.startswith("$ ") for line in lines):
            lines = ["$ " + line for line in lines if line.strip()]
        commands = []
        for line in lines:
            if commands and commands[-1][0].endswith("\\") and not commands[-1][1]:
                commands[-1] = (commands[-1][0][:-1] + line.strip(), [])
            elif line.startswith("$ "):
                commands.append((line[2:], []))
            elif not commands:
                raise ValueError(f"{self.place}: output before any command")
            else:
                commands[-1][1].append(line)
        return commands


def blocks(path):
    lines = path.read_text().splitlines()
    says, session, session_line, number = {}, None, 0, 0
    found = []
    while number < len(lines):
        line = lines[number]
        comment = re.fullmatch(r"<!-- (\w+)(?:: (.*))? -->", line)
        fence = re.fullmatch(r"```(.*)", line)
        first = number + 1
        number += 1
        if comment:
            word, rest = comment[1], comment[2] or ""
            if word not in WORDS:
                raise ValueError(f"{path.name}:{first}: <!-- {word} --> is none of {', '.join(sorted(WORDS))}")
            if word == "session":
                session, session_line = (None, 0) if rest == "end" else (rest, first)
            else:
                says[word] = rest
        elif fence:
            text = []
            while number < len(lines) and lines[number] != "```":
                text.append(lines[number])
                number += 1
            if number == len(lines):
                raise ValueError(f"{path.name}:{first}: a fence without an end")
            number += 1
            found.append(Block(path, first, fence[1], "\n".join(text) + "\n", says, session, session_line))
            says = {}
        elif line.startswith("    ") and (first == 1 or not lines[first - 2].strip() or lines[first - 2].startswith("<!--")):
            text = [line]
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                text.append(lines[number])
                number += 1
            while not text[-1].strip():
                text.pop()
            text = [line[4:] for line in text]
            found.append(Block(path, first, says.get("language", "console"), "\n".join(text) + "\n", says, session, session_line))
            says = {}
        elif line.strip() and says:
            raise ValueError(f"{path.name}:{first}: no block after the comment above")
        if "```" in line and not fence:
            raise ValueError(f"{path.name}:{first}: a fence that is not at the beginning of its line")
    return found
