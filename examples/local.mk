# Guest programs that do real work; see the top of each.

exampledir = $(pkgdatadir)/examples
dist_example_DATA = examples/dpkg-graph.lua examples/gc-events.lua \
	examples/gc-pauses.lua examples/chrome-trace.lua
