# SPDX-License-Identifier: MIT
"""The prompt of `saros`, typed at through a pseudo-terminal.

Usage: _terminal.py SAROS (in an empty directory). Each step sends keys and waits
for what has to appear, so that nothing depends on time.
"""
import os
import pty
import select
import signal
import stat
import sys
import time

PATIENCE = 60  # seconds until a missing answer is a failure


class Session:
    def __init__(self, program, *arguments, **environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            for name in list(os.environ):
                if name.startswith(("LUA_", "LC_")) or name == "LANG":
                    del os.environ[name]
            os.environ.update({"TERM": "dumb", "SAROS_HISTORY": "history", **environment})
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(program, [program, *arguments])
        self.seen = ""
        self.raw = b""

    def _read(self, seconds):
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # the other end is closed
            data = b""
        self.raw += data
        self.seen = self.raw.decode("utf-8", "replace").replace("\r", "")
        return bool(data)

    def expect(self, text):
        """Waits for the text, and forgets what came up to its end."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            before = len(self.raw)
            if time.monotonic() > deadline or (not self._read(1) and self._ended() and len(self.raw) == before):
                raise AssertionError(f"expected {text!r}, got {self.seen!r}")
        self.seen = self.seen[self.seen.index(text) + len(text):]
        self.raw = self.seen.encode()

    def _ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def type(self, keys, *answers):
        os.write(self.terminal, keys.encode())
        for answer in answers:
            self.expect(answer)

    def leave(self):
        """An empty line and Ctrl-D, until it ends: what the terminal gets while it is not yet
        in the editor's hands means something else to the editor."""
        deadline = time.monotonic() + PATIENCE
        while not self._ended() and time.monotonic() < deadline:
            os.write(self.terminal, b"\x15\x04")
            self._read(1)
        self.end()

    def end(self, status=0):
        while self._read(PATIENCE):
            pass
        if not self._ended():
            os.kill(self.pid, signal.SIGKILL)
        _, how = os.waitpid(self.pid, 0)
        assert os.waitstatus_to_exitcode(how) == status, how
        os.close(self.terminal)


def history():
    with open("history", encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def answers_and_completes(program):
    s = Session(program)
    s.expect("> ")
    s.type("1 + 1\n", "\n2\n> ")
    # completion: one way on, several, methods of a string, words of the language
    s.type("string.form\t('%d', 3)\n", "string.format('%d', 3)\n3\n> ")
    s.type("io.std\t\t", "io.stderr", "io.stdin", "io.stdout")
    s.type("\x15s = 'ab'\n", "> ")
    s.type("s:rev\t()\n", "s:reverse()\nba\n> ")
    s.type("f = func\t() return 7 en\t\n", "function() return 7 end\n> ")
    s.type("f()\n", "\n7\n> ")
    # what objects inherit; functions only after ':'; what begins with '_' only when asked for
    s.type("o = setmetatable({field = 1, _own = 2}, {__index = {fiddle = print}})\n", "> ")
    s.type("o:fi\t('called')\n", "o:fiddle('called')\n", "\tcalled\n> ")
    s.type("o.fi\t\t", "o.fiddle", "o.field")
    s.type("\x15o._\t\n", "o._own\n2\n> ")
    # no guest code runs for it
    s.type("p = setmetatable({}, {__index = function() error('looked') end})\n", "> ")
    s.type("p.x\t\x15'quiet'\n", "'quiet'\nquiet\n> ")
    s.type("\x15\t10\n", "\n10\n> ")
    # other characters than ASCII
    s.type("e = 'h\u00e9'\n", "> ")
    s.type("#e\n", "\n3\n> ")
    # incomplete statements; an error with its traceback
    s.type("for i = 1, 2 do\n", ">> ")
    s.type("print(-i)\n", ">> ")
    s.type("end\n", "\n-1\n-2\n> ")
    s.type("error('oh')\n", "stdin:1: oh\nstack traceback:\n", "in main chunk", "> ")
    s.leave()


def interrupts(program):
    s = Session(program)
    s.expect("> ")
    # a loop
    s.type("io.write('loop', 'ing\\n') while true do end\n", "looping")
    s.type("\x03", "interrupted!\n", "stack traceback:\n", "> ")
    # the line being typed, and what of the statement came before
    s.type("nonsense here", "nonsense here")
    s.type("\x03", "^C\n> ")
    s.type("for i = 1,\n", ">> ")
    s.type("\x03", "^C\n> ")
    # keys that the terminal throws away again, now and then just when they are waited for
    for _ in range(50):
        s.type("nonsense here", "nonsense here")
        s.type("\x03", "^C\n> ")
    s.type("2 + 2\n", "\n4\n> ")
    s.type("os.exit(true)\n")
    s.end()


def remembers(program):
    entries = history()
    assert entries[0] == "1 + 1" and "for i = 1, 2 do\\nprint(-i)\\nend" in entries, entries
    assert entries[-1] == "os.exit(true)" and "nonsense here" not in entries, entries
    assert stat.S_IMODE(os.stat("history").st_mode) == 0o600
    s = Session(program)
    s.expect("> ")
    s.type("\x10\x10\n", "2 + 2\n4\n> ")  # up, up
    s.type("2 + 2\n", "\n4\n> ")          # the same again: no new entry
    s.type("'a\\\\b'\n", "\na\\b\n> ")
    s.leave()
    assert history()[len(entries):] == ["2 + 2", "'a\\\\\\\\b'"], history()
    s = Session(program)
    s.expect("> ")
    s.type("\x10\n", "'a\\\\b'\na\\b\n> ")
    s.leave()
    # a file that has grown too long is cut when a session begins
    with open("history", "w", encoding="utf-8") as file:
        file.writelines(f"x = {i}\n" for i in range(5000))
    s = Session(program)
    s.expect("> ")
    s.type("\x10\n", "x = 4999\n> ")
    s.leave()
    assert history()[0] == "x = 3000" and len(history()) == 2000, len(history())


def keeps_no_history(program):
    os.remove("history")
    s = Session(program, "-i", "-e", "x = 3", SAROS_HISTORY="")
    s.expect("> ")
    s.type("x\n", "\n3\n> ")
    s.leave()
    assert not os.path.exists("history")


for check in answers_and_completes, interrupts, remembers, keeps_no_history:
    check(sys.argv[1])
    print(check.__name__.replace("_", " "))
