# SPDX-License-Identifier: MIT
# Debian's lua-argparse: parsing, usage, help, errors, generated completions.
. "$TESTSUITE/programs/_compare.sh"
need "$modules/5.4/argparse.lua" lua-argparse
run() { compare "argparse $*" /dev/null "$TESTSUITE/programs/argparse_tool.lua" "$@"; }
run --help
run
run input.txt
run -v -v --level 3 input.txt more.txt
run --level=7 --pair a b --define x=1 --define y=2 in
run --format xml in
run --no-such-option
run --level many in
run --level 99 in
run remote add origin http://example.org --fetch
run remote --help
run remote delete
run remote frobnicate
run remot
run -lv 3 in
run -- -dash
run completion bash
run completion zsh
run completion fish
finish
