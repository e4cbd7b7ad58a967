# Documents for people; doc/README.md lists them.

EXTRA_DIST += doc
