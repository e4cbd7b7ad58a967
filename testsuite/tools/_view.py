# SPDX-License-Identifier: MIT
"""Reads the pages of `eventring view` (eventring/view/DATA.md).

    _view.py PAGE                 names of the sections, and their bytes in the page
    _view.py PAGE SECTION         the JSON of a section

As a module: Page(path) has `text`, `names`, and `section(name)`: the parsed value, or None.
Page.cells(series, first, last): the sums of a series over cells.
"""
import base64
import gzip
import json
import re
import sys

ELEMENT = re.compile(r'<script type="application/x-eventring" id="section:([^"]*)">'
                     r'([A-Za-z0-9+/=]*)</script>\n')


def undo(column):
    """The values of a column of differences."""
    values, value = [], 0
    for difference in column:
        value += difference
        values.append(value)
    return values


def pairs(column):
    """[(number, figure)] of a column: number as difference, figure, ..."""
    return list(zip(undo(column[::2]), column[1::2]))


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            self.text = file.read()
        self.raw = {}
        for name, text in ELEMENT.findall(self.text):
            assert name not in self.raw, f"section {name} twice"
            self.raw[name] = text
        self.names = list(self.raw)
        self.parsed = {}

    def section(self, name):
        if name not in self.raw:
            return None
        if name not in self.parsed:
            data = gzip.decompress(base64.b64decode(self.raw[name], validate=True))
            self.parsed[name] = json.loads(data.decode("utf-8"))
        return self.parsed[name]

    @property
    def head(self):
        return self.section("head")


def rows(columns, keys=None):
    """Dictionaries, one a row, of an object of columns; differences are undone."""
    lists = {}
    for key, column in columns.items():
        if isinstance(column, list) and (keys is None or key in keys):
            plain = key[:-2] if key.endswith("_d") else key
            lists[plain] = undo(column) if key.endswith("_d") else column
    lengths = {len(column) for column in lists.values()}
    assert len(lengths) <= 1, {key: len(column) for key, column in lists.items()}
    return [dict(zip(lists, values)) for values in zip(*lists.values())]


if __name__ == "__main__":
    page = Page(sys.argv[1])
    if len(sys.argv) > 2:
        print(json.dumps(page.section(sys.argv[2])))
    else:
        print(f"{'(page)':24} {len(page.text) - sum(map(len, page.raw.values())):10}")
        for name in page.names:
            print(f"{name:24} {len(page.raw[name]):10}")
