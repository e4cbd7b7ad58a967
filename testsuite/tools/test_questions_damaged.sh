# SPDX-License-Identifier: MIT
# Damaged files through the commands that answer questions, and through the exporters: a status
# of their own with a message, valid JSON, text without control characters, protobuf that can be
# decoded, databases that SQLite opens, folders that babeltrace2 reads.
# QUESTIONS_FILES=1000 [QUESTIONS_SEED=n] takes more files (make check-questions).
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
record --rounds 50
EVENTRING="$EVENTRING" timeout $((PATIENCE + ${QUESTIONS_FILES:-10})) python3 - "$file" "${QUESTIONS_FILES:-10}" \
  "$TESTSUITE/../eventring/export/formats.def" <<'PYTHON' || fail "the questions"
import gzip, json, os, random, re, shutil, sqlite3, subprocess, sys
formats = re.findall(r'^EXPORT_\w+\((\w+), "([^"]*)"', open(sys.argv[3]).read(), re.M)
random.seed(int(os.environ.get("QUESTIONS_SEED", "5"), 0))
sound = open(sys.argv[1], "rb").read()
used = [i for i in range(len(sound)) if sound[i]]
wrong, read = 0, {}


def complain(*what):
    global wrong
    wrong += 1
    print(*what)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at
        assert shift < 64, "a number of more than 64 bits"


def decode(data):
    """Fields of a message of protobuf, up to its last byte."""
    at, fields = 0, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        assert key >> 3 and kind in (0, 1, 2, 5), (at, key)
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            at += size
        else:
            at += 8 if kind == 1 else 4
        assert at <= len(data), "a field beyond the end"
        fields += 1
    return fields


def packets(data):
    """Of a trace of Perfetto, each a field 1 of length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        assert key == 1 << 3 | 2 and at + size <= len(data), (at, key)
        decode(data[at:at + size])
        at += size


def check(name, path):
    """Reads what was exported."""
    data = b"" if os.path.isdir(path) else open(path, "rb").read()
    if name in ("otlp", "otlp_metrics", "otlp_profiles"):
        decode(data)
    elif name.endswith("_json"):
        for line in data.decode("utf-8").splitlines():
            json.loads(line)
    elif name in ("perfetto", "pprof"):
        packets(data) if name == "perfetto" else decode(
            gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    elif name == "sqlite":
        with sqlite3.connect(path) as base:
            assert base.execute("pragma integrity_check").fetchone() == ("ok",)
            for (table,) in base.execute("select name from sqlite_master where type = 'table'"):
                base.execute(f'select * from "{table}"').fetchall()
    elif name == "ctf":
        if not shutil.which("babeltrace2"):
            return
        run = subprocess.run(["babeltrace2", path], capture_output=True)
        assert run.returncode == 0, run.stderr[-800:]
    elif path.endswith(".json"):
        json.loads(data.decode("utf-8"))
    else:
        text = data.decode("utf-8")
        assert name != "openmetrics" or text.endswith("# EOF\n")
    read[name] = read.get(name, 0) + 1


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


for number in range(int(sys.argv[2])):
    data = bytearray(sound)
    for _ in range(random.choice([1, 3, 20, 200])):
        data[random.choice(used)] = random.choice([0, 255, random.randrange(256)])
    if number % 5 == 0:
        data = data[:random.randrange(len(data))]
    open("damaged.eventring", "wb").write(data)
    for question in ("pauses", "pauses --frames 0 --frame-span request", "spans", "stats", "autopsy",
                     "diff"):
        wants_json = random.random() < 0.5
        words = [os.environ["EVENTRING"], *question.split()] + ["--json"] * wants_json
        words += ["damaged.eventring"] * (2 if question == "diff" else 1)
        run = subprocess.run(words, capture_output=True)
        text = run.stdout.decode("utf-8")
        if run.returncode not in (0, 1) or (run.returncode == 1 and not run.stderr):
            complain(number, question, run.returncode, run.stderr[-500:])
        if wants_json and text:
            json.loads(text)
        if any(c < " " and c != "\n" for c in text):
            complain(number, question, "control characters")
    name, suffix = random.choice(formats)
    exported = "exported" + suffix
    remove(exported)
    run = subprocess.run([os.environ["EVENTRING"], "export", "--to", name, "-o", exported,
                          "damaged.eventring"], capture_output=True)
    if run.returncode not in (0, 1) or (run.returncode == 1 and not run.stderr):
        complain(number, name, run.returncode, run.stderr[-500:])
    if os.path.exists(exported):
        try:
            check(name, exported)
        except Exception as error:
            complain(number, name, "is not read:", repr(error)[-900:])
    elif run.returncode == 0:
        complain(number, name, "nothing was written")
print("read again:", read)
sys.exit(wrong > 0)
PYTHON
finish
