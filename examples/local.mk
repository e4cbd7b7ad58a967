# SPDX-License-Identifier: MIT
# Programs that do real work; see the top of each.

exampledir = $(pkgdatadir)/examples
if SAROS
dist_example_DATA = examples/app.lua examples/dpkg-graph.lua examples/gc-events.lua \
	examples/game-loop.lua examples/gc-pauses.lua examples/leak.lua examples/memory-limit.lua examples/chrome-trace.lua \
	examples/ffi-eventring.lua examples/ffi-libc.lua examples/ffi-sqlite.lua examples/ffi-zlib.lua
endif

# A C program that embeds libeventring, with its own Makefile for an installed one.
embeddir = $(exampledir)/embed
dist_embed_DATA = examples/embed/embed.c examples/embed/Makefile

# A C program with a loop of frames whose logic is in Lua.
if SAROS
gamedir = $(exampledir)/game
dist_game_DATA = examples/game/game.c examples/game/logic.lua \
	examples/game/frames.lua examples/game/Makefile examples/game/README.md

# A container with the packages of Debian.
containerdir = $(exampledir)/container
dist_container_DATA = examples/container/Containerfile
endif
