# SPDX-License-Identifier: MIT
"""_members.py PAGE <SCHEMA: do the blocks of members in the page of a command list the members of
its JSON Schema? Prints those that only one of the two has."""
import json, re, sys


def of_schema(schema, path=""):
    """The paths of all members: `rows.name`."""
    found = set()
    for other in schema.get("anyOf", []):
        found |= of_schema(other, path)
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found |= of_schema(inner, path)
    for key, value in schema.get("properties", {}).items():
        found |= {path + key} | of_schema(value, path + key + ".")
    return found


def of_page(page):
    """The same of the blocks `{ "version": 1, "rows": [ { "name" } ] }` of a page. A key of
    capitals without quotes, as RING, stands for names; `as "rows"` for the members of those."""
    found = set()
    for block in re.findall(r"^    \{.*?\}$", page, re.M | re.S):
        stack, last = [], None
        for word in re.findall(r'as "[^"]*"|"[^"]*"|[{}\[\]:]|[A-Z]+(?=:)', block):
            if word.startswith("as "):
                found |= {last + name[len(word) - 5:] for name in found
                          if name.startswith(word[4:-1] + ".")}
            elif word[0].isupper():
                last = ""
            elif word[0] == '"':
                last = ".".join([p for p in stack if p] + [word[1:-1]])
                found.add(last)
            elif word == "{":
                stack.append(last.split(".")[-1] if last else None)
                last = None
            elif word == "}":
                stack.pop()
    return found


wanted = of_schema(json.load(sys.stdin))
written = of_page(open(sys.argv[1], encoding="utf-8").read())
for name in sorted(wanted - written):
    print(f"{sys.argv[1]} lacks {name}")
for name in sorted(written - wanted):
    print(f"only {sys.argv[1]} has {name}")
