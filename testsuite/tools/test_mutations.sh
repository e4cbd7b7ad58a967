# SPDX-License-Identifier: MIT
# A few hundred damaged files: every command ends by itself, soon, with 0 or 1,
# and says why when it is 1. (Under AddressSanitizer a finding is another status.)
. "$TESTSUITE/tools/_tools.sh"

SAROS_EVENTRING_WSIZE=11 record --rounds 30 --domains 2 --flood 3000 --hold-ms 50
size=$(stat -c %s "$file")
RANDOM=${MUTATION_SEED:-4711}

# Where something is: damage in the holes of a sparse file proves nothing.
mapfile -t places < <(od -An -v -t u8 -w4096 "$file" | awk '{
  for (i = 1; i <= NF; i++) if ($i != 0) { print (NR - 1) * 4096; break } }')

word() { printf '\\x%02x' $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)); }
damage() { # FILE
  local kind=$((RANDOM % 5)) page=${places[RANDOM % ${#places[@]}]} at bytes
  at=$((page + (RANDOM % 4096)))
  case $kind in
    0) bytes="\\x$(printf %02x $((RANDOM % 256)))" ;;
    1) bytes=$(word)$(word) at=$((at / 8 * 8)) ;;
    2) bytes='\xff\xff\xff\xff\xff\xff\xff\xff' at=$((at / 8 * 8)) ;;
    3) bytes='\x00\x00\x00\x00\x00\x00\x00\x00' at=$((at / 8 * 8)) ;;
    4) truncate -s $(((RANDOM * 32768 + RANDOM) % size)) "$1"; return ;;
  esac
  printf "$bytes" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

commands=(show "show --json" dump "dump --json" stats "stats --json" "snapshot -o copy.eventring"
          "merge -o copy.eventring" "view -o copy.eventring")
runs=${MUTATIONS:-300}
for ((run = 0; run < runs; run++)); do
  cp --sparse=always "$file" bad.eventring
  for ((n = 0; n <= RANDOM % 4; n++)); do damage bad.eventring; done
  # half of the damage goes to the header and what follows it
  ((run % 2)) && printf "$(word)" | dd of=bad.eventring bs=1 seek=$((RANDOM % 4096)) conv=notrunc status=none
  rm -f copy.eventring
  command=${commands[run % ${#commands[@]}]}
  # shellcheck disable=SC2086
  timeout $((10 * TEST_SLOWNESS)) "$EVENTRING" $command bad.eventring >out.txt 2>err.txt
  status=$?
  case $status in
    0) ;;
    1) [ -s err.txt ] || fail "run $run ($command): status 1 without a message" ;;
    *) fail "run $run ($command): status $status"; tail -n 5 err.txt
       cp bad.eventring "${TMPDIR:-/tmp}/eventring-mutation-$run.bad" ;;
  esac
done
finish
