# SPDX-License-Identifier: MIT
"""Makes recordings of all kinds, by random, the same ones for the same seed (but for times).

Recording: a path; what its program knows of it, or None; and its kind. What truth.lua has
printed is the truth if the recording has lost nothing; how many events there were in the rings
`user` is known always.
"""
import collections
import glob
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
CORPUS = HERE.parent / "format" / "corpus"

Recording = collections.namedtuple("Recording", "path kind truth")


GAPS = """
local eventring = require "saros.eventring"
local text = ("x"):rep(980)
eventring.span("all", function()
  for i = 1, 200000 do eventring.span("o", eventring.event, "big", text) end
end)
"""


class Failed(Exception):
    """A recording could not be made."""


def corpus():
    """The files of the corpus that this version reads."""
    for packed in sorted(CORPUS.glob("v3-*.eventring.gz")):
        path = packed.name[:-len(".gz")]
        with gzip.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        yield Recording(path, "corpus", None)


class Maker:
    def __init__(self, number, seed):
        self.random = random.Random(seed * 1000003 + number)
        self.folder = "recording-%d-%d" % (seed, number)
        self.seed = self.random.randrange(1, 1 << 30)
        os.mkdir(self.folder)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("SAROS_")}

    def path(self, name):
        return os.path.join(self.folder, name)

    # ---- Programs

    def settings(self, **more):
        """How the program records; what else it records, by random."""
        held = {"SAROS_EVENTRING_PRESERVE": "1", "SAROS_EVENTRING_PREFIX": self.folder, **more}
        if self.random.random() < 0.4:
            held["SAROS_MEMPROF"] = self.random.choice(("1", "0.1", "0.01"))
        if self.random.random() < 0.3:
            held["SAROS_PROFILE"] = self.random.choice(("calls", "calls,cpu"))
        if self.random.random() < 0.4:
            held["SAROS_EVENTRING_CLASSES"] = self.random.choice(
                ("+gc_detail", "+io,ffi", "+gc_detail,io,finalizers", "+calls"))
        return held

    def run(self, *command, status=0, **environment):
        done = subprocess.run(command, env={**self.environment, **environment}, timeout=300,
                              capture_output=True, check=False)
        if done.returncode != status:
            raise Failed("%s: status %d: %s" % (" ".join(command), done.returncode,
                                                done.stderr.decode("utf-8", "replace")))
        return done.stdout.decode("utf-8")

    def tool(self, *arguments):
        return self.run(os.environ["EVENTRING"], *arguments)

    def truth_command(self, ending=None, turns=None, domains=None):
        turns = turns or self.random.choice((5, 20, 60))
        domains = domains or self.random.choice((1, 1, 2, 4))
        return [os.environ["SAROS"], str(HERE / "truth.lua"), str(self.seed), str(turns),
                str(domains), *([ending] if ending else [])]

    def truth(self, ending=None, status=0, turns=None, domains=None, **environment):
        """Runs truth.lua; its recording is the only one in the folder."""
        text = self.run(*self.truth_command(ending, turns, domains), status=status,
                        **self.settings(**environment))
        return self.only_file(), json.loads(text)

    def only_file(self):
        files = [path for path in sorted(glob.glob(self.path("*.eventring")))
                 if "-trigger" not in path]
        if not files:
            raise Failed("nothing was recorded in %s" % self.folder)
        return files[0]

    def in_rings(self):
        """Rings from small ones, which wrap, to large ones; or a stream."""
        if self.random.random() < 0.25:
            return {"SAROS_EVENTRING_STREAM": self.path("stream.eventring")}
        return {"SAROS_EVENTRING_START": "1",
                "SAROS_EVENTRING_WSIZE": self.random.choice(("11", "12", "13", "16"))}

    # ---- Kinds of recordings

    def ended(self):
        return self.truth(**self.in_rings())

    def killed(self):
        return self.truth("kill", status=-9, **self.in_rings())

    def failed(self):
        return self.truth("fail", status=1, **self.in_rings())

    def stream(self):
        return self.truth(SAROS_EVENTRING_STREAM=self.path("stream.eventring"))

    def wrapped(self):
        return self.truth(turns=200, SAROS_EVENTRING_START="1", SAROS_EVENTRING_WSIZE="11")

    def recorded(self, *options, turns=None):
        """By `record`, from small rings: what it is too slow for is lost."""
        path = self.path("recorded.eventring")
        text = self.run(os.environ["EVENTRING"], "record", "-q", *options, "-o", path, "--",
                        *self.truth_command(turns=turns),
                        **self.settings(SAROS_EVENTRING_WSIZE="11", SAROS_EVENTRING_PRESERVE="0"))
        return path, json.loads(text)

    def gaps(self):
        """Blocks of a few events each, which come faster than the recorder: hundreds of gaps."""
        path, program = self.path("recorded.eventring"), self.path("gaps.lua")
        pathlib.Path(program).write_text(GAPS, encoding="utf-8")
        self.run(os.environ["EVENTRING"], "record", "-q", "-o", path, "--",
                 os.environ["SAROS"], program, SAROS_EVENTRING_WSIZE="11")
        return path, None

    def losses(self):
        return self.recorded(turns=self.random.choice((200, 500)))

    def packed(self):
        return self.recorded("--zstd", turns=self.random.choice((60, 200)))

    def forked(self):
        path, truth = self.truth("fork", domains=1, **self.in_rings())
        for each in glob.glob(self.path("*.eventring")):
            if each != path:
                os.rename(each, each + ".other")
        return path, truth

    def merged(self):
        self.truth("fork", domains=1, **self.in_rings())
        files = glob.glob(self.path("*.eventring"))
        path = self.path("merged")
        self.tool("merge", "-q", "-o", path, *files)
        return path, None

    def merged_alone(self):
        """Of one recording: it says the same."""
        path, truth = self.ended()
        copy = self.path("merged")
        self.tool("merge", "-q", "-o", copy, path)
        return copy, truth

    def copied(self, command, *options):
        path, truth = self.ended()
        copy = self.path("copy")
        self.tool(command, *options, "-o", copy, path)
        return copy, truth

    def snapshot(self):
        return self.copied("snapshot")

    def stripped(self):
        return self.copied("strip", "-q")[0], None

    def cut(self):
        path, _ = self.ended()
        window = json.loads(self.tool("stats", "--json", path))["window"]
        length = (window["last_ns"] - window["start_ns"]) / 1e9
        first, last = sorted(self.random.random() for _ in range(2))
        copy = self.path("part")
        self.tool("cut", "-q", "--since", "%.9f" % (first * length),
                  "--until", "%.9f" % (last * length), "-o", copy, path)
        return copy, None

    def damaged(self):
        """Of a stream without some of its blocks. (What was lost at its end nobody knows.)"""
        path, _ = self.truth(turns=self.random.choice((60, 200)),
                             SAROS_EVENTRING_STREAM=self.path("stream.eventring"))
        self.damage(path)
        copy = self.path("sound")
        self.run(os.environ["EVENTRING"], "cut", "-q", "-o", copy, path, status=1)
        return copy, None

    def damage(self, path):
        with open(path, "r+b") as file:
            data = file.read()
            blocks = [at for at in range(65536, len(data) - 4095, 4096)
                      if any(data[at:at + 8]) and data[at + 8:at + 10] == b"\1\0"]
            for at in self.random.sample(blocks[1:-1], max(1, len(blocks) // 4)):
                file.seek(at)
                file.write(bytes(4096))

    def triggered(self):
        _, _ = self.truth(turns=60, **dict(self.in_rings(), SAROS_EVENTRING_TRIGGER=
                          'span("inner") > 1us, max=1'))
        copies = glob.glob(self.path("*-trigger*.eventring"))
        if not copies:
            raise Failed("the trigger did not fire")
        return copies[0], None

    def shaped(self):
        program = os.path.join(os.environ["BUILDDIR"], "testsuite/format/shapes")
        die = self.random.random() < 0.5
        self.run(program, "--rounds", str(self.random.choice((3, 30, 100))),
                 *(["--die"] if die else []), status=-9 if die else 0,
                 SAROS_EVENTRING_PRESERVE="1", SAROS_EVENTRING_PREFIX=self.folder,
                 **self.in_rings())
        return self.only_file(), None

    def produced(self):
        program = os.path.join(os.environ["BUILDDIR"], "testsuite/tools/producer")
        flags = [flag for flag in ("--open", "--extras", "--extras --stray")
                 if self.random.random() < 0.6]
        die = self.random.random() < 0.3
        self.run(program, "--rounds", str(self.random.choice((5, 40, 200))), "--domains",
                 str(self.random.choice((1, 2, 5))), "--users", str(self.random.choice((1, 3))),
                 "--flood", str(self.random.choice((0, 500, 20000))), *" ".join(flags).split(),
                 *(["--die"] if die else []), status=-9 if die else 0,
                 SAROS_EVENTRING_PRESERVE="1", SAROS_EVENTRING_PREFIX=self.folder,
                 **self.in_rings())
        return self.only_file(), None


KINDS = ("ended", "losses", "killed", "wrapped", "stream", "packed", "merged", "shaped",
         "produced", "cut", "snapshot", "stripped", "damaged", "forked", "triggered",
         "failed", "merged_alone", "gaps")


def make(number, seed, kind=None):
    """One of the kinds, each in turn."""
    maker = Maker(number, seed)
    kind = kind or KINDS[number % len(KINDS)]
    path, truth = getattr(maker, kind)()
    return Recording(path, kind, truth)
