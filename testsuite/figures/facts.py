# SPDX-License-Identifier: MIT
"""Figures that tools give, so that those of one thing can be compared.

A figure has a subject, what it is about: a tuple such as ("span", NAME, CLASS, RING) or ("ring",
DOMAIN, RING); and a name, a key of --json. Facts are what one tool says: for each of them the
values, which are several where the tool does not say what tells their subjects apart.
"""
import collections


class Catalogue:
    """Definitions, as `show --json` has them: which subject an id, or a name, stands for."""

    def __init__(self, show):
        self.by_id = {d["id"]: d for d in show.get("catalogue", ())}
        self.by_name = collections.defaultdict(list)
        for definition in self.by_id.values():
            self.by_name[definition["name"]].append(definition)

    def of_id(self, number):
        d = self.by_id.get(number)
        return (d["name"], d["class"], d["ring"]) if d else ("?", "?", "?")

    def of_name(self, name, event_class, ring):
        """What stands for a definition where only these are known. (Some lifecycle events are
        written into several rings.)"""
        d = self.only(name)
        return (name, d["class"], d["ring"]) if d else (name, event_class, ring)

    def only(self, name):
        """The definition of this name, if there is one of it alone."""
        found = self.by_name[name]
        return found[0] if len(found) == 1 else None


class Facts:
    def __init__(self, tool):
        self.tool = tool
        self.values = collections.defaultdict(list)

    def add(self, subject, figure, value):
        self.values[subject, figure].append(value)

    def total(self, subject, figure, value):
        """Adds to the only value that the figure has."""
        held = self.values[subject, figure]
        held[:] = [(held[0] if held else 0) + value]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(one, other, part, amount):
    if is_number(one) and is_number(other):
        return abs(one - other) <= part * max(abs(one), abs(other)) + amount
    return one == other


def in_order(values):
    return sorted(values, key=lambda value: (0, value) if is_number(value) else (1, str(value)))


def same(ones, others, part=0, amount=0):
    """Are these the same values, in any order?"""
    return len(ones) == len(others) and all(
        equal(one, other, part, amount) for one, other in zip(in_order(ones), in_order(others)))
