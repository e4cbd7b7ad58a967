# SPDX-License-Identifier: MIT
# The configuration of doc/OPERATIONS.md is one that Prometheus and Alertmanager take, and the metrics
# that its rules ask for are there. (soak/alerts.py runs it.)
. "$TESTSUITE/_checks.sh"
command -v promtool >/dev/null || { echo "promtool is missing (Debian package: prometheus)"; exit 77; }
page=$TESTSUITE/../doc/OPERATIONS.md

block() { awk -v first="$1" -f "$TESTSUITE/_indented_block.awk" "$page"; }

block "groups:" >eventring.rules.yml
block "global:" >prometheus.yml
block "route:" >alertmanager.yml
[ "$(wc -l <eventring.rules.yml)" -gt 20 ] && [ -s prometheus.yml ] && [ -s alertmanager.yml ] ||
  fail "the page has no configuration"
if command -v amtool >/dev/null; then
  amtool check-config alertmanager.yml >checked.txt 2>&1 || fail "$(cat checked.txt)"
fi
promtool check config prometheus.yml >checked.txt 2>&1 || fail "$(cat checked.txt)"
has "rules" "9 rules found" "$(cat checked.txt)"
cp "$TESTSUITE/docs/_rules.yml" .
promtool test rules _rules.yml >checked.txt 2>&1 || fail "$(cat checked.txt)"
for name in $(grep -o 'eventring_[a-z_]*' eventring.rules.yml | sort -u); do
  base=$(sed -E 's/_(total|count|sum|bucket)$//' <<<"$name")
  grep -q "\"$base\"" "$TESTSUITE/../eventring/export/metrics.def" || fail "no metric $name"
done
finish
