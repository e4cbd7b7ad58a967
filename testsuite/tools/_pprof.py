# SPDX-License-Identifier: MIT
"""Reads a profile of pprof, as far as these tests need it:

    _pprof.py FILE    prints the sums of its values as a JSON object, and the stacks
                      of the largest inuse_space, innermost first
"""
import json
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut off"
        else:
            raise ValueError("wire type %d" % (key & 7))
        yield key >> 3, value


def main():
    types, samples, locations, functions, strings = [], [], {}, {}, []
    for field, value in fields(open(sys.argv[1], "rb").read()):
        if field == 1:
            types.append(dict(fields(value))[1])
        elif field == 2:
            samples.append(([v for f, v in fields(value) if f == 1],
                            [v for f, v in fields(value) if f == 2]))
        elif field == 4:
            location = dict(fields(value))
            locations[location[1]] = dict(fields(location[4]))
        elif field == 5:
            function = dict(fields(value))
            functions[function[1]] = function[2]
        elif field == 6:
            strings.append(value.decode("utf-8"))
    assert strings[0] == "", "the first string"
    names = [strings[t] for t in types]
    sums = {name: sum(values[i] for _, values in samples) for i, name in enumerate(names)}
    space = names.index("inuse_space")
    path, _ = max(samples, key=lambda sample: sample[1][space])
    sums["stack"] = [strings[functions[locations[id][1]]] for id in path]
    print(json.dumps(sums))


if __name__ == "__main__":
    main()
