# SPDX-License-Identifier: MIT
# Damaged files through the commands that answer questions, and through the exporters: a status
# of their own, valid JSON, text without control characters. QUESTIONS_FILES=200 makes 1,000
# questions and 200 exports (make check-questions).
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
record --rounds 50
EVENTRING="$EVENTRING" timeout $PATIENCE python3 - "$file" "${QUESTIONS_FILES:-10}" \
  "$TESTSUITE/../eventring/export/formats.def" <<'PYTHON' || fail "the questions"
import json, os, random, re, subprocess, sys
formats = re.findall(r'^EXPORT_\w+\((\w+), "([^"]+)"', open(sys.argv[3]).read(), re.M)
random.seed(5)
sound = open(sys.argv[1], "rb").read()
used = [i for i in range(len(sound)) if sound[i]]
wrong = 0
for number in range(int(sys.argv[2])):
    data = bytearray(sound)
    for _ in range(random.choice([1, 3, 20, 200])):
        data[random.choice(used)] = random.choice([0, 255, random.randrange(256)])
    if number % 5 == 0:
        data = data[:random.randrange(len(data))]
    open("damaged.eventring", "wb").write(data)
    for question in ("pauses", "spans", "stats", "autopsy", "diff"):
        wants_json = random.random() < 0.5
        words = [os.environ["EVENTRING"], question] + ["--json"] * wants_json
        words += ["damaged.eventring"] * (2 if question == "diff" else 1)
        run = subprocess.run(words, capture_output=True)
        text = run.stdout.decode("utf-8")
        if run.returncode not in (0, 1):
            wrong += 1
            print(number, question, run.returncode, run.stderr[-500:])
        if wants_json and text:
            json.loads(text)
        if any(c < " " and c != "\n" for c in text):
            wrong += 1
            print(number, question, "control characters")
    name, suffix = formats[number % len(formats)]
    exported = "exported" + suffix
    if os.path.exists(exported):
        os.remove(exported)
    run = subprocess.run([os.environ["EVENTRING"], "export", "--to", name, "-o", exported,
                          "damaged.eventring"], capture_output=True)
    if run.returncode not in (0, 1) or (run.returncode == 1 and not run.stderr):
        wrong += 1
        print(number, name, run.returncode, run.stderr[-500:])
    if suffix.endswith(".json") and os.path.exists(exported) and os.path.getsize(exported):
        json.loads(open(exported, encoding="utf-8").read())
sys.exit(wrong > 0)
PYTHON
finish
