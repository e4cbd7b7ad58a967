# SPDX-License-Identifier: MIT
# All commands and exports say the same of the corpus and of a few random recordings, and the
# check finds figures that were altered: see figures.py. `make check-figures` does it with many,
# and asks Perfetto's trace processor, too.
[ -x "$SAROS" ] || { echo "there is no interpreter in this build"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1 NPM=/nowhere
kinds="--kind=losses --kind=cut --kind=damaged --kind=gaps --kind=produced"
count=5
[ "$TEST_SLOWNESS" -le 1 ] || count=2
# shellcheck disable=SC2086
python3 "$TESTSUITE/figures/figures.py" --recordings=$count --seed="${FIGURES_SEED:-5}" $kinds || exit 1
exec python3 "$TESTSUITE/figures/figures.py" --plant=30 v3-saros.eventring
