# SPDX-License-Identifier: MIT
"""_svg.py SVG FOLDED: does the picture of a flame graph say what the folded stacks say?

Each box is as wide as its share of the whole, (other) has exactly what its caller called besides,
and the picture refers to nothing outside of itself. Prints the boxes, the levels and the number of
boxes (other)."""
import re
import sys
import xml.etree.ElementTree

MARGIN, WIDTH, TOP, LEVEL = 10, 1180, 46, 18
SVG = "{http://www.w3.org/2000/svg}"


def folded_tree(path):
    """path of titles -> figure, with all that was called"""
    sums = {}
    for line in open(path, encoding="utf-8"):
        line = line.replace("\ufffe", r"\xEF\xBF\xBE")  # which XML cannot have
        frames, figure = line.rstrip("\n").rsplit(" ", 1)
        stack = ()
        sums[stack] = sums.get(stack, 0) + int(figure)
        for frame in frames.split(";"):
            stack += (re.sub(r" \(([^()]*|.*:\d+)\)$", r" \1", frame),)
            sums[stack] = sums.get(stack, 0) + int(figure)
    return sums


def boxes(root):
    """(path, x, width), callers first"""
    path, left = [], []
    for group in root.findall(SVG + "g"):
        title, rect = group.find(SVG + "title").text, group.find(SVG + "rect")
        x, width = float(rect.get("x")), float(rect.get("width"))
        depth = round((float(rect.get("y")) - TOP) / LEVEL)
        clip = group.find(SVG + "svg")
        if clip is not None:
            assert float(clip.get("width")) <= width, title
            assert float(clip.get("x")) == x, title
        assert depth <= len(path), title
        del path[depth:], left[depth:]
        if path:
            assert left[-1][0] - 0.002 <= x <= left[-1][1] + 0.002, title
        path.append(title.split("\n")[0].replace(";", "?"))  # as folded has it
        left.append((x, x + width))
        yield tuple(path[1:]), x, width


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    root = xml.etree.ElementTree.fromstring(text)
    assert not re.search(r"script|href|url\(|@import|on[a-z]+=\"", re.sub(r">[^<]*<", "><", text))
    assert "prefers-color-scheme:dark" in text
    sums = folded_tree(sys.argv[2])
    scale = WIDTH / sums[()]
    allowed = 0.002 + 0.5 * scale * len(sums)  # of rounded figures
    shown, others, levels = {}, 0, 0
    for path, x, width in boxes(root):
        levels = max(levels, len(path) + 1)
        if path and path[-1].startswith("(other): "):
            count = int(path[-1].split()[1])
            rest = {p: v for p, v in sums.items() if len(p) == len(path) and p[:-1] == path[:-1]
                    and p not in shown and v > 0}
            assert len(rest) == count, (path, count, len(rest))
            assert abs(sum(rest.values()) * scale - width) < allowed, path
            others += 1
            continue
        assert path in sums, path
        assert abs(sums[path] * scale - width) < allowed, (path, sums[path] * scale, width)
        assert path not in shown, path
        shown[path] = x
    assert min(shown.values()) == MARGIN
    print(len(shown), levels, others)


main()
