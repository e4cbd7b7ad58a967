# SPDX-License-Identifier: MIT
"""_schema.py SCHEMA FILE: what of the JSON in FILE, an object a line, is not by the schema: the
part of JSON Schema that `eventring COMMAND --json-schema` writes."""
import json, sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def is_of(value, name):
    return isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name != "boolean")


def wrong(value, schema, root, path):
    """Lines that say what is wrong."""
    if "$ref" in schema:
        path_of, schema = schema["$ref"].split("/")[1:], root
        for part in path_of:
            schema = schema[int(part)] if isinstance(schema, list) else schema[part]
    if "anyOf" in schema:
        tries = [list(wrong(value, one, root, path)) for one in schema["anyOf"]]
        return min(tries, key=len)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of(value, name) for name in types):
        return [f"{path}: {value!r:.40} is not {types}"]
    lines = []
    if isinstance(value, dict) and "properties" in schema:
        lines += [f"{path}{key}: missing" for key in schema["required"] if key not in value]
    for key, inner in value.items() if isinstance(value, dict) else ():
        of = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
        lines += ([f"{path}{key}: not one of the members"] if of is None
                  else wrong(inner, of, root, f"{path}{key}."))
    for inner in value if isinstance(value, list) else ():
        lines += wrong(inner, schema["items"], root, path)
    return lines


root = json.load(open(sys.argv[1], encoding="utf-8"))
for text in open(sys.argv[2], encoding="utf-8"):
    for line in sorted(set(wrong(json.loads(text), root, root, ""))):
        print(line)
