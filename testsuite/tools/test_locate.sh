# SPDX-License-Identifier: MIT
# A process found by its number: its own file is read, whatever has the file's path by
# now, and wherever the links on that path lead in our root.
. "$TESTSUITE/tools/_tools.sh"

unshare --user --map-root-user --mount true 2>/dev/null ||
  { echo "user namespaces are not allowed here"; exit 77; }

# Two ways lead to the file: /proc/PID/map_files, for the root of the machine; its path, for
# others (as root of a user namespace is one, who may mount).
each_way() {
  ways=(--user\ --map-root-user)
  [ "$(id -u)" = 0 ] && ways+=("")
  for way in "${ways[@]}"; do
    rm -rf work && mkdir work
    # shellcheck disable=SC2086
    (cd work && unshare $way --mount --propagation private bash -c "$(declare -f)
      . \"\$TESTSUITE/tools/_tools.sh\"; $1; finish") || fail "$1, unshare $way"
  done
}

# Which process the recording of a process says it is of
found() { "$EVENTRING" show --json "$1" 2>error.txt | jq .pid; }

# decoy DIRECTORY: the recording of another one, under the name of that of $pid
decoy() { : >"$1/first"; cp dead.eventring "$1/$pid.eventring"; }
make_dead() { record --rounds 3 --die 2>/dev/null; mv "$file" dead.eventring; }

# A tmpfs numbers its inodes from 1 on: the second file has the same number in each.
file_system_over_it() {
  mkdir here && mount -t tmpfs tmpfs here
  make_dead
  cd here && : >producer.txt && start --rounds 1000000 --pause-us 1000 && cd ..
  mine=$(stat -c %i here/$pid.eventring)
  is "before" $pid "$(found $pid)"
  mount -t tmpfs tmpfs here && decoy here
  is "inode numbers" "$mine" "$(stat -c %i here/$pid.eventring)"
  number=$(found $pid)
  [ "$number" = "$pid" ] || [ -z "$number" ] || fail "the recording of $number was shown for $pid"
  kill $pid
}

# A directory on the path is a link by now. It leads to the file in the root of the
# process, and in ours to another one.
link_on_the_path() {
  mkdir here target ours && mount -t tmpfs tmpfs ours
  make_dead
  cat >inside <<INSIDE
    mount -t tmpfs tmpfs target && mkdir -p here/rec && mount --bind target here/rec
    cd here/rec && : >first
    SAROS_EVENTRING_START=1 "$PRODUCER" --rounds 1000000 --pause-us 1000 >/dev/null &
    echo \$! >../../pid
    cd ../..
    until ls target/*.eventring >/dev/null 2>&1; do sleep 0.01; done
    mount -t tmpfs tmpfs here && ln -s "$PWD/target" here/rec
    touch ready
    wait
INSIDE
  unshare --mount --propagation private bash inside &
  until_so [ -e ready ] || fail "no producer"
  pid=$(cat pid)
  mount --bind ours target && decoy target
  is "in its root" "$pid" "$(found $pid)"
  has "no error" "" "$(cat error.txt)"
  kill $pid
  wait
}

# /proc/PID/maps names files as the reader sees them, also of a process with another root
another_root() {
  mkdir jail && mount --rbind / jail && mount -t tmpfs tmpfs "jail/$PWD"
  (SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$PWD exec chroot jail \
     "$PRODUCER" --rounds 1000000 --pause-us 1000 >/dev/null) &
  pid=$!
  await $pid
  is "in another root" $pid "$(found $pid)"
  kill $pid
}

each_way file_system_over_it
each_way link_on_the_path
each_way another_root
finish
