# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A page of the documentation, in parts: for the runner and for the check of docs.

How a page says what is run:

	<!-- run: client=10.0.1.10 router1=10.0.1.1,10.0.0.1 -->   at its head: hosts, addresses
	<!-- file: router1:/etc/lnetx.conf -->    before a block: the file that it is, on that host;
	                                          or on several: router1,router2:/etc/lnetx.conf
	```console            commands and what they print: run, and compared
	```console site       commands that need a real site: not run, or in tests of packages those
	                      of its hosts

In such a block a line "HOST# COMMAND" or "HOST$ COMMAND" is a command; what follows, up to the
next one, is its output. Without HOST it is the first host of the page; if the first command of a
block names its host, all do, so that a line of output may begin with "# ".
"""
import re

FENCE = re.compile(r"^( *)(```+|~~~+) *([^`]*)$")
COMMENT = re.compile(r"^ *<!-- *(run|file): *(.*?) *-->$")
PROMPT = re.compile(r"^([a-z0-9-]*)([#$]) (.*)$")


class PageError(Exception):
    """A page that cannot be understood; the text has file and line."""


class Block:
    """A fenced block; `line` is that of its fence, its first line of text is the next one."""

    def __init__(self, line, info, file, indent):
        self.line = line
        self.words = info.split()
        self.file = file # (hosts, path, line of the comment), or None
        self.indent = indent
        self.text = []
        self.closed = False

    @property
    def is_console(self):
        return self.words[:1] == ["console"]

    @property
    def is_site(self):
        return self.words[:2] == ["console", "site"]


class Command:
    def __init__(self, line, host, text, named):
        self.line = line
        self.host = host
        self.text = text
        self.named = named # the page says on which host
        self.output = [] # the lines expected


class Page:
    def __init__(self, path):
        self.path = path
        self.hosts = None # None: nothing is run; else {name: [address, ...]}
        self.blocks = []
        self.prose = [] # (line, text) of all that is not in a block
        with open(path, encoding="utf-8") as f:
            self._read(f.read().split("\n"))

    def error(self, line, why):
        return PageError(f"{self.path}:{line}: {why}")

    def _read(self, lines):
        block = file = None
        for number, text in enumerate(lines, 1):
            fence = FENCE.match(text)
            comment = COMMENT.match(text)
            if block:
                if fence and fence[2].startswith(block.fence) and not fence[3]:
                    block.closed = True
                    block = None
                else:
                    block.text.append(text[min(block.indent, len(text) - len(text.lstrip())):])
            elif fence:
                block = Block(number, fence[3], file, len(fence[1]))
                block.fence = fence[2]
                self.blocks.append(block)
                file = None
            elif comment and comment[1] == "run":
                self.hosts = self._hosts(number, comment[2])
            elif comment:
                names, _, path = comment[2].rpartition(":")
                if not names or not path or self.hosts is None:
                    raise self.error(number, "not as in <!-- file: HOST:PATH -->, after <!-- run:")
                file = ([self.host(number, name) for name in names.split(",")], path, number)
            else:
                if file and text.strip():
                    raise self.error(file[2], "no block follows this comment")
                self.prose.append((number, text))

    def _hosts(self, line, text):
        hosts = {}
        for word in text.split():
            name, _, addresses = word.partition("=")
            if not re.fullmatch("[a-z][a-z0-9-]*", name) or name in hosts:
                raise self.error(line, f"not a name of a host, or twice: {name}")
            hosts[name] = addresses.split(",") if addresses else []
        if not hosts:
            raise self.error(line, "no hosts: as in <!-- run: client=10.0.1.10 server= -->")
        return hosts

    def host(self, line, name):
        """The host that a prompt or a comment means."""
        if name and name not in self.hosts:
            raise self.error(line, f"not a host of this page: {name}")
        return name or next(iter(self.hosts))

    def commands(self, block):
        commands, named, more = [], False, False
        for number, text in enumerate(block.text, block.line + 1):
            prompt = PROMPT.match(text)
            if more:
                commands[-1].text += "\n" + text
            elif prompt and (prompt[1] or not named):
                commands.append(Command(number, self.host(number, prompt[1]), prompt[3],
                                        bool(prompt[1])))
                named = named or bool(prompt[1])
            elif commands:
                commands[-1].output.append(text)
            else:
                raise self.error(number, "a console block begins with a prompt: HOST# or HOST$")
            more = (more or prompt) and text.endswith("\\")
        return commands
