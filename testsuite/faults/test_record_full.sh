# SPDX-License-Identifier: MIT
# eventring record: the disk is full for a while, or the file may not grow. The recorder goes
# on, counts what it could not write, and records again when there is room.
. "$TESTSUITE/tools/_tools.sh"

sums() { query "$1" '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'; }

# agrees WHAT FILE: the file is sound, and has lost what the summary says
agrees() {
  local lost
  "$EVENTRING" stats --json "$2" >stats.json || fail "$1: stats: status $?"
  is "$1: sums" true "$(sums stats.json)"
  lost=$(query stats.json '[.domains[].rings[].lost] | add')
  has "$1: lost" "$(echo "$lost" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') events lost" \
    "$(cat errors.txt)"
  has "$1: message" "cannot write" "$(cat errors.txt)"
}

# ---- A limit on the size of files -------------------------------------------------------------

# What the summary calls saved is what the file has. (Events that came before its first block of a
# ring, or after the last one, are in no count of it.)
SAROS_EVENTRING_WSIZE=16 start --domains 2 --rounds 300000 --pause-us 1
for options in "--writer threads" "--writer serial --buffer-size 1M" --zstd; do
  for kib in 500 750 1000; do
    rm -f limited.eventring
    (
      ulimit -f $kib
      # (the words are to be split)
      exec "$EVENTRING" record $options --seconds 0.7 --json -o limited.eventring "$pid" \
        >record.json 2>errors.txt
    )
    is "limit $kib $options: status" 1 $?
    grep -q "cannot compress" errors.txt && continue
    has "limit $kib $options: message" "cannot write" "$(cat errors.txt)"
    ! grep "somebody else" errors.txt || fail "limit $kib $options: nobody cut it"
    "$EVENTRING" stats --json limited.eventring >stats.json || fail "limit $kib: stats: status $?"
    is "limit $kib $options: sums" true "$(sums stats.json)"
    is "limit $kib $options: saved" "$(query record.json .saved)" "$(query stats.json .loss.delivered)"
    is "limit $kib $options: bytes" "$(query record.json .bytes)" "$(stat -c %s limited.eventring)"
  done
done
kill "$pid"
wait "$pid" 2>/dev/null

# ---- A full disk, and room again ---------------------------------------------------------------

mkdir small
mount -t tmpfs -o size=6m none small 2>/dev/null || {
  echo "no right to mount a small file system"
  exit 77
}
trap 'umount -l small' EXIT
writers="threads aio"
"$EVENTRING" record -q --zstd -o /dev/null -- "$PRODUCER" --rounds 1 2>/dev/null &&
  writers="$writers threads,--zstd=1"
for writer in $writers; do
  SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 1
  head -c 4M /dev/zero >small/fill
  : >errors.txt
  # shellcheck disable=SC2086
  "$EVENTRING" record -w ${writer/,/ } --buffer-size 64K -o small/full.eventring "$pid" 2>errors.txt &
  recorder=$!
  for ((i = 0; i < 200; i++)); do
    grep -q "cannot write" errors.txt && break
    sleep 0.05
  done
  sleep 0.1
  rm small/fill
  sleep 0.2
  kill -INT $recorder
  wait $recorder
  is "$writer: status" 1 $?
  kill "$pid"
  wait "$pid" 2>/dev/null
  agrees "$writer" small/full.eventring
  rm -f small/*
done

# ---- A disk that stays full ---------------------------------------------------------------------

# What the summary calls saved is in the files, which all read; the next file is not begun where
# there is no room for it.
delivered() {
  local sum=0 file
  for file in "$@"; do
    "$EVENTRING" stats --json "$file" >stats.json || fail "stays full: stats $file: status $?"
    is "stays full: $file" true "$(sums stats.json)"
    sum=$((sum + $(query stats.json '[.domains[].rings[].delivered] | add')))
  done
  echo $sum
}
for options in "" --zstd --zstd=3\ --buffers=1 --rotate-size=512K; do
  [[ $options == *zstd* && $writers != *zstd* ]] && continue
  SAROS_EVENTRING_WSIZE=16 start --domains 2 --rounds 300000 --pause-us 1
  head -c 4500K /dev/zero >small/fill
  : >errors.txt
  # shellcheck disable=SC2086
  "$EVENTRING" record $options --json --buffer-size 64K -o small/full.eventring "$pid" \
    >record.json 2>errors.txt &
  recorder=$!
  for ((i = 0; i < 600; i++)); do
    grep -q "cannot write" errors.txt && break
    sleep 0.05
  done
  sleep 0.3
  kill -INT $recorder
  wait $recorder
  is "stays full, $options: status" 1 $?
  kill "$pid"
  wait "$pid" 2>/dev/null
  is_same "stays full, $options: saved" "$(query record.json .saved)" "$(delivered small/full*.eventring)"
  rm -f small/*
done
finish
