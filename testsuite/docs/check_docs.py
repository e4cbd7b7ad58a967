# SPDX-License-Identifier: MIT
"""Compares the documents with the tree.

    check_docs.py SOURCE-DIR

Says what is wrong, a line each; the exit status is 1 then. Checked are:

- links between documents, with their anchors, and pictures;
- names of files in `backticks`;
- functions eventring_*(), which a header must declare, or a test that the page speaks of;
- targets of make, options of configure, environment variables;
- that HACKING.md and libeventring.md name every public header, and VERSIONS.md none that
  does not exist;
- that every document is listed in doc/README.md, and every notebook and decision in theirs;
- that the pictures are those of their texts;
- that the tests exist which doc/notes/behaviours.md names, and the checks within them.
"""
import glob
import html
import os
import re
import sys

top = sys.argv[1]
wrong = []

# Documents about other times and other trees: only their links are checked.
HISTORY = ("doc/notes/",)

# Where a name in a document may be looked for, besides the root and the document's folder.
FOLDERS = ["", "doc", "eventring", "eventring/include", "eventring/include/eventring",
           "eventring/tools", "eventring/view", "testsuite", "testsuite/tools", "testsuite/fuzz",
           "testsuite/format", "testsuite/bench", "runtime", "vm", "stdlib", "examples",
           "scripts", "include", "eventring/remote", "eventring/export",
           "eventring/analysis", "testsuite/figures", "testsuite/docs",
           "eventring/producer", "eventring/reader", "eventring/format",
           "testsuite/lua", "testsuite/coverage", "testsuite/programs",
           "testsuite/soak", "testsuite/unit", "testsuite/rock", "rock/saros-eventring"]
SUFFIXES = (".c", ".h", ".def", ".md", ".sh", ".lua", ".py", ".mk", ".awk", ".pml", ".txt")


def read(path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return file.read()


def complain(document, text):
    wrong.append(f"{document}: {text}")


def documents():
    paths = ["README.md", "HACKING.md"]
    for root, _, names in os.walk(os.path.join(top, "doc")):
        paths += [os.path.relpath(os.path.join(root, n), top) for n in names if n.endswith(".md")]
    return sorted(paths)


def without_code(text):
    """The text without its indented and fenced blocks of code."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


def anchors(path):
    found = set()
    for title in re.findall(r"^#+ +(.*)$", read(path), flags=re.M):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower())
        found.add(plain.replace(" ", "-"))
    return found


def check_links(document, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if not os.path.exists(os.path.join(top, path)):
            complain(document, f"a link to {target}, which is not there")
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            complain(document, f"a link to {target}, which has no such heading")


def is_there(document, name):
    folders = [os.path.dirname(document), *FOLDERS]
    return any(glob.glob(os.path.join(top, folder, name)) for folder in folders)


def check_files(document, text):
    """Names with a folder, or with a suffix of a source: not those of examples, which are in
    capitals or begin with a dot."""
    for name in re.findall(r"`([\w./*-]+)`", without_code(text)):
        is_path = "/" in name and name.split("/")[0] in tops
        if not (is_path or name.endswith(SUFFIXES)) or re.search(r"[A-Z]{3}", name):
            continue
        if name in GENERATED | OF_USERS | OF_REFERENCE or re.fullmatch(r"X?\.\w+", name):
            continue
        if not is_there(document, name) and not is_there(document, name + ".c"):
            complain(document, f"`{name}` is not there")


# Made by the build or by a program that the text speaks of, or of a user's.
GENERATED = {"times.txt", "results.txt", "testsuite/log/NAME.log"}
OF_USERS = {"a.lua", "app.lua", "new.lua", "domain.lua", "lua/saros/eventring.lua", "stdint.h", "liblua5.4.so.0", "coverage/coverage/lines.txt",
            "eventring/eventring"}
# Of the reference's own suite.
OF_REFERENCE = {"all.lua", "api.lua", "attrib.lua", "big.lua", "code.lua", "heavy.lua", "main.lua"}


def declared():
    """The functions of libeventring that a header, or a source of a test, has."""
    names = set()
    for pattern in ("eventring/include/**/*.h", "testsuite/**/*.c"):
        for path in glob.glob(os.path.join(top, pattern), recursive=True):
            with open(path, encoding="utf-8") as file:
                names |= set(re.findall(r"\beventring_\w+", file.read()))
    return names


def check_functions(document, text, names):
    for name in set(re.findall(r"`(eventring_\w+)(?:\(|`)", text)):
        metric = re.sub("_(total|count|sum)$", "", name)
        is_metric = any(f'"{n.removeprefix(prefix)}"' in source
                        for n in (name, metric) for prefix in ("", "eventring_"))
        if name.endswith("_") or name in names or is_metric:
            continue
        complain(document, f"`{name}` is declared nowhere")


def targets():
    found = set()
    paths = [os.path.join(top, "Makefile.am"),
             *glob.glob(os.path.join(top, "**/*.mk"), recursive=True)]
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r"^([a-z][\w-]*)(?=[ \w-]*:)", file.read(), flags=re.M))
    return found | {"install", "uninstall", "check", "distcheck", "clean", "dist", "all"}


def check_targets(document, text, known):
    for target in set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)+)\b", text)):
        if target not in known:
            complain(document, f"`make {target}`: there is no such target")


def options():
    text = read("configure.ac")
    found = re.findall(r"AC_ARG_(ENABLE|WITH)\(\[([\w-]+)\]", text)
    found = {f"{kind.lower()}-{name}" for kind, name in found}
    return found | {f"enable-{name}" for name in re.findall(r"SAROS_FLAG\(\[([\w-]+)\]", text)}


def check_options(document, text, known):
    for kind, name in set(re.findall(r"--(enable|disable|with|without)-([\w-]+)", text)):
        kind = {"disable": "enable", "without": "with"}.get(kind, kind)
        if name in ("shared", "static"):
            continue # of libtool
        if f"{kind}-{name}" not in known:
            complain(document, f"--{kind}-{name}: configure has no such option")


def check_variables(document, text, source):
    for name in set(re.findall(r"\bSAROS_[A-Z_]*[A-Z]\b", text)):
        part = name.removeprefix("SAROS_EVENTRING_")
        if name not in source and f'"_{part}"' not in source and f'"{part}"' not in source:
            complain(document, f"{name}: no source has such a variable")


def check_headers():
    headers = glob.glob(os.path.join(top, "eventring/include/**/*.h"), recursive=True)
    names = [os.path.relpath(path, os.path.join(top, "eventring/include")) for path in headers]
    for document in ("HACKING.md", "doc/libeventring.md"):
        text = read(document)
        for name in names:
            if name not in text:
                complain(document, f"does not name the header {name}")
    for name in re.findall(r"`(eventring[\w/]*\.h)`", read("doc/VERSIONS.md")):
        if name not in names:
            complain("doc/VERSIONS.md", f"there is no header {name}")


def check_lists():
    for folder in ("doc", "doc/notes", "doc/decisions"):
        index = read(f"{folder}/README.md")
        for path in glob.glob(os.path.join(top, folder, "*.md")):
            name = os.path.basename(path)
            if name != "README.md" and f"({name})" not in index:
                complain(f"{folder}/README.md", f"does not list {name}")


def check_pictures():
    for path in glob.glob(os.path.join(top, "doc/pictures/*.dot")):
        name = os.path.relpath(path, top)
        with open(path, encoding="utf-8") as file:
            labels = re.findall(r'label="([^"]*)"', file.read())
        picture = html.unescape(read(name.removesuffix(".dot") + ".svg"))
        for line in (line for label in labels for line in label.split("\\n")):
            if " ".join(line.split()) not in " ".join(picture.replace("\xa0", " ").split()):
                complain(name, f"its picture lacks {line!r} (make pictures)")


BEHAVIOURS = "doc/notes/behaviours.md"
TEST = r"lua/(?:[\w-]+/)*[a-z]\w*\.lua|(?:[\w-]+/)+(?:test_\w+\.sh|\w+_test\.c)"


def has_check(test, check):
    """In C it is a function that the test runs, elsewhere words that stand at the check."""
    text = read("testsuite/" + test)
    if test.endswith(".c"):
        return re.search(rf"\b(?:cmocka_unit_test\w*|TEST)\({re.escape(check)}\b", text)
    return check in text


def check_behaviours():
    """Rows: id, behaviour, tests with their checks in `backticks`, how strongly."""
    for row in re.findall(r"^\| ([A-Z]\d+) \|([^|]*)\|([^|]*)\|[^|]*\|$", read(BEHAVIOURS), flags=re.M):
        number, test = row[0], None
        for name in re.findall(r"`([^`]+)`", row[2]):
            if re.fullmatch(TEST, name):
                test = name if os.path.exists(os.path.join(top, "testsuite", name)) else None
                if not test:
                    complain(BEHAVIOURS, f"{number}: there is no test {name}")
            elif test and not has_check(test, name):
                complain(BEHAVIOURS, f"{number}: {test} has no check `{name}`")
        if "`" not in row[2] and not row[2].startswith(" none"):
            complain(BEHAVIOURS, f"{number} names no test")


def sources():
    text = []
    for pattern in ("eventring/**/*.[ch]", "runtime/*.[ch]", "vm/*.[ch]", "stdlib/**/*.[ch]",
                    "testsuite/**/*", "**/*.mk", "configure.ac", "Makefile.am", "runtests",
                    "scripts/*", "eventring/**/*.def", "runtime/*.def", "m4/*"):
        for path in glob.glob(os.path.join(top, pattern), recursive=True):
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text.append(file.read())
    return "\n".join(text)


tops = {name for name in os.listdir(top) if os.path.isdir(os.path.join(top, name))}
functions, make_targets, configure_options, source = declared(), targets(), options(), sources()
for document in documents():
    text = read(document)
    check_links(document, text)
    if document.startswith(HISTORY):
        continue
    check_files(document, text)
    check_functions(document, text, functions)
    check_targets(document, text, make_targets)
    check_options(document, text, configure_options)
    check_variables(document, text, source)
check_headers()
check_lists()
check_pictures()
check_behaviours()
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
