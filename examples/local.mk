# Guest programs that do real work; see the top of each.

exampledir = $(pkgdatadir)/examples
dist_example_DATA =
