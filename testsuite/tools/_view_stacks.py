# SPDX-License-Identifier: MIT
"""_view_stacks.py CHECK PAGE ...: do the stacks of a page say what the commands say?

    sound PAGE                    the tree and all figures are as DATA.md has them
    heap PAGE HEAP.json           allocated and live of each site: `heap --json --by stack`
    calls PAGE PROFILE.json       time and calls of each path: `profile --json --by stack`
    range PAGE FIRST END          the moments, as options take them, of cells FIRST to END - 1
    allocated PAGE FIRST END      bytes allocated in them
    same-sums PAGE OTHER          sums of all sets; of OTHER, a smaller page, also by "(other)"
    total PAGE SECTION MEASURE    its sum
    under PAGE SECTION NAME       the part of its first measure that has the function on the stack
"""
import json
import sys

from _view import Page, pairs, undo

SECTIONS = {"samples": {"samples"}, "allocated": {"bytes", "objects"}, "live": {"bytes", "objects"},
            "calls": {"ns", "count"}}


class Tree:
    def __init__(self, page):
        self.page = page
        stacks = page.section("stacks")
        self.functions = stacks["functions"]
        nodes = stacks["nodes"]
        parents = undo(nodes["parent_d"])
        assert len(parents) == len(nodes["function"]) == len(nodes["line"])
        self.paths = [()]
        for number, (parent, function, line) in enumerate(
                zip(parents, nodes["function"], nodes["line"]), 1):
            assert 0 <= parent < number, (parent, number)
            self.paths.append(self.paths[parent] + ((function, line),))
        assert len(set(self.paths)) == len(self.paths), "a site twice"
        assert len({tuple(f) for f in self.functions}) == len(self.functions), "a function twice"

    def names(self, node):
        """Its path, outermost first: name, source, line of the site."""
        return tuple((self.functions[f][0], self.functions[f][1], line)
                     for f, line in self.paths[node])

    def sets(self, section, measure=None):
        part = self.page.section(section)
        return [s for s in (part["sets"] if part else []) if measure in (None, s["measure"])]

    def by_path(self, section, measure):
        sums = {}
        for one in self.sets(section, measure):
            for node, figure in zip(one["node"], one["self"]):
                path = self.names(node)
                sums[path] = sums.get(path, 0) + figure
        return sums

    def total(self, section, measure):
        return sum(sum(one["self"]) for one in self.sets(section, measure))


def sound(page):
    tree = Tree(page)
    head = page.head
    for section, measures in SECTIONS.items():
        part = page.section(section)
        if not part:
            continue
        assert part["unit"] and part["from"], section
        for one in part["sets"]:
            assert one["measure"] in measures, one["measure"]
            assert 0 <= one["domain"] < len(head["domains"]), one["domain"]
            assert one["node"] == sorted(set(one["node"])), "sites in order"
            assert all(0 < node < len(tree.paths) for node in one["node"])
            assert len(one["node"]) == len(one["self"])
            if "cells" not in one:
                continue
            assert len(one["cells"]) == len(one["node"])
            for column, figure in zip(one["cells"], one["self"]):
                cells = pairs(column)
                assert [c for c, _ in cells] == sorted({c for c, _ in cells}), cells
                assert all(0 <= c << one["level"] < head["grid"]["cells"] for c, _ in cells)
                if section == "samples":
                    assert sum(f for _, f in cells) == figure, (cells, figure)
    print(len(tree.paths) - 1)


def near(what, got, expected, allowed):
    got = {key: figure for key, figure in got.items() if figure or key in expected}
    assert expected.keys() == got.keys(), \
        (what, sorted(expected.keys() ^ got.keys())[:3], len(expected), len(got))
    for key, figure in expected.items():
        assert abs(got[key] - figure) <= allowed, (what, key, got[key], figure)


def source_of(frame):
    return "" if frame.get("source") == "[C]" else frame.get("source", "")


def check_heap(page, answer):
    tree = Tree(page)
    assert answer["rows"]
    for section, prefix in (("allocated", "allocated"), ("live", "live")):
        for measure in ("bytes", "objects"):
            expected = {}
            for row in answer["rows"]:
                path = tuple((f["name"], source_of(f), f["line"]) for f in reversed(row["stack"]))
                if row[prefix + "_samples"]:
                    expected[path] = expected.get(path, 0) + row[f"{prefix}_{measure}"]
            domains = len(tree.sets(section, measure))
            near(f"{section} {measure}", tree.by_path(section, measure), expected, domains)


def check_calls(page, answer):
    """A path of the command is a text: "main;work;leaf" or the like, with places."""
    tree = Tree(page)
    for measure, key in (("ns", "exclusive_ns"), ("count", "count")):
        got, expected = {}, {}
        for path, figure in tree.by_path("calls", measure).items():
            got[path[-1][0]] = got.get(path[-1][0], 0) + figure
        for row in answer["rows"]:
            name = row["name"]
            expected[name] = expected.get(name, 0) + row[key]
        near(measure, {k: v for k, v in got.items() if v}, {k: v for k, v in expected.items() if v}, 0)


def moments(page, first, end):
    grid = page.head["grid"]
    begin = int(grid["begin_ns"]) - int(grid["start_ns"])
    for ns in (begin + first * grid["cell_ns"], begin + end * grid["cell_ns"] - 1):
        print(f"{ns // 10**9}.{ns % 10**9:09}", end=" ")


def allocated(page, first, end):
    tree = Tree(page)
    print(sum(figure for one in tree.sets("allocated", "bytes") for column in one["cells"]
              for cell, figure in pairs(column) if first <= cell < end))


def same_sums(page, other):
    one, two = Tree(page), Tree(other)
    assert len(two.paths) < len(one.paths), (len(two.paths), len(one.paths))
    assert any(f[0] == "(other)" for f in two.functions)
    for section, measures in SECTIONS.items():
        for measure in measures:
            left, right = one.total(section, measure), two.total(section, measure)
            rounded = 0 if section in ("samples", "calls") else len(one.paths)
            assert abs(left - right) <= rounded, (section, measure, left, right)
            kept, all_of = two.by_path(section, measure), one.by_path(section, measure)
            for path, figure in kept.items():
                if path and path[-1][0] != "(other)":
                    assert abs(all_of[path] - figure) <= 1, (section, path)
                    continue
                shown = {p[:len(path)] for p in (two.names(n) for n in range(len(two.paths)))}
                rest = sum(f for p, f in all_of.items()
                           if p[:len(path) - 1] == path[:-1] and len(p) >= len(path)
                           and p[:len(path)] not in shown)
                assert abs(rest - figure) <= (0 if not rounded else len(all_of)), (section, path)


def under(page, section, name):
    tree = Tree(page)
    measure = {"samples": "samples", "allocated": "bytes", "live": "bytes", "calls": "ns"}[section]
    sums = tree.by_path(section, measure)
    part = sum(f for path, f in sums.items() if any(frame[0] == name for frame in path))
    print(f"{part / max(sum(sums.values()), 1):.6f}")


def main():
    what, page, more = sys.argv[1], Page(sys.argv[2]), sys.argv[3:]
    if what == "sound":
        sound(page)
    elif what in ("heap", "calls"):
        answer = json.load(open(more[0], encoding="utf-8"))
        (check_heap if what == "heap" else check_calls)(page, answer)
    elif what == "range":
        moments(page, int(more[0]), int(more[1]))
    elif what == "allocated":
        allocated(page, int(more[0]), int(more[1]))
    elif what == "same-sums":
        same_sums(page, Page(more[0]))
    elif what == "total":
        print(Tree(page).total(more[0], more[1]))
    else:
        under(page, more[0], more[1])


main()
