# SPDX-License-Identifier: MIT
# The configuration of doc/OPERATIONS.md is one that Prometheus takes, and the metrics that its rules
# ask for are there.
. "$TESTSUITE/_checks.sh"
command -v promtool >/dev/null || { echo "promtool is missing (Debian package: prometheus)"; exit 77; }
page=$TESTSUITE/../doc/OPERATIONS.md

# block FIRST-LINE: the indented block of the page that begins so
block() { awk -v first="    $1" '$0 == first { on = 1 } on && !/^    / && NF { exit } on { print substr($0, 5) }' "$page"; }

block "groups:" >rules.yml
block "scrape_configs:" >prometheus.yml
[ "$(wc -l <rules.yml)" -gt 20 ] && [ -s prometheus.yml ] || fail "the page has no configuration"
echo "rule_files: [rules.yml]" >>prometheus.yml
promtool check config prometheus.yml >checked.txt 2>&1 || fail "$(cat checked.txt)"
has "rules" "7 rules found" "$(cat checked.txt)"
for name in $(grep -o 'eventring_[a-z_]*' rules.yml | sort -u); do
  base=$(sed -E 's/_(total|count|sum|bucket)$//' <<<"$name")
  grep -q "\"$base\"" "$TESTSUITE/../eventring/export/metrics.def" || fail "no metric $name"
done
finish
