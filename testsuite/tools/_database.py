# SPDX-License-Identifier: MIT
"""Checks a database that write_database.c has written: _database.py FILE ROWS SIZE"""
import sqlite3
import sys

path, rows, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def link_of(n):
    near = (1 << n % 64) + n // 64 % 3 - 1
    near = near if n % 2 else -near
    return (near + (1 << 63)) % (1 << 64) - (1 << 63)


def value_of(n):
    if n < 1000:
        return chr(97 + n % 26) * (n * 37 % size)
    return [None, n / 8, None, -float("inf")][n % 4]


db = sqlite3.connect(path)
assert db.execute("pragma integrity_check").fetchall() == [("ok",)], "integrity"
read = 0
for n, row in enumerate(db.execute("select rowid, ns, kind, link, value from events")):
    assert row == (n + 1, n, None, link_of(n), value_of(n)), (n, row[:4], str(row[4])[:20])
    assert type(row[4]) is type(value_of(n)), n
    read += 1
assert read == rows, read
for number in {1, rows // 2, rows} & set(range(1, rows + 1)):
    assert db.execute("select ns from events where rowid = ?", [number]).fetchall() == [(number - 1,)]
db.execute("insert into events(ns) values (4711)")
db.execute("delete from events where rowid % 3 = 0")
assert db.execute("pragma integrity_check").fetchall() == [("ok",)], "integrity after changes"
