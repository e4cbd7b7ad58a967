# SPDX-License-Identifier: MIT
"""Where the figures of --json stand, and which are shared: a table.

PLACES says for each command, and each object in what it prints, which subject that object is
about. All of its members but those that name the subject are figures, under their own names:
what two objects about the same subject have in common is compared. So the list of what is
compared follows from the keys of --json. An object that is not in the table is an error, so that
a new one gets its row here; so is a row that no recording has ever reached.

A subject is a kind and what tells those of the kind apart: members of the object, or (with a `^`)
of one around it; `*` is the key under which the object stands; `def` the definition that its
member `id`, or else its `name`, stands for.
"""

PLACES = """
list       .                       recording

show       .                       recording
show       classes[]               class            name
show       catalogue[]             definition       id
show       domains[]               domain           domain
show       domains[].lives[]       life             ^domain incarnation
show       domains[].rings{}       ring             ^domain *
show       rings{}                 named-ring       *
show       processes[]             process          pid

stats      .                       recording
stats      window                  recording
stats      loss                    recording
stats      domains[]               domain           domain
stats      domains[].lives[]       life             ^domain incarnation
stats      domains[].rings{}       ring             ^domain *
stats      spans[]                 span-of-domain   domain def
stats      async_spans[]           span-of-domain   domain def
stats      counters[]              counter-of-domain domain def
stats      events[]                event-of-domain  domain def
stats      recorded[]              recorded         def
stats      total                   total
stats      total.spans[]           span             def
stats      total.async_spans[]     span             def
stats      total.counters[]        counter          def
stats      total.events[]          event            def

spans      .                       recording
spans      window                  recording
spans      loss                    recording
spans      total                   spans-of-class   class
spans      total.names[]           span             def
spans      open_spans[]            open-span        domain context ns name
spans      rows[]                  one-span         domain incarnation context ns def

pauses     .                       recording
pauses     window                  recording
pauses     loss                    recording-read
pauses     total                   steps
pauses     total.kinds[]           steps-of-kind    step reason
pauses     open_steps[]            open-step        domain incarnation ns
pauses     rows[]                  one-step         domain incarnation ns
pauses     rows[].phases[]         phase            ^domain ^ns name

frames     .                       recording
frames     window                  recording
frames     loss                    recording
frames     total                   span             name class ring
frames     total.causes[]          frames           frame cause
frames     open_frames[]           open-span        domain context ns frame
frames     rows[]                  one-span         domain incarnation context ns def

autopsy    .                       recording
autopsy    window                  recording
autopsy    loss                    recording
autopsy    total                   recording
autopsy    open_spans[]            open-span        domain context ns name
autopsy    stacks[]                stack            domain
autopsy    stacks[].frames[]       -
autopsy    memory[]                counter-of-domain domain def
autopsy    sites[]                 heap-line        function source line through
autopsy    collector               steps
autopsy    collector.cycles[]      cycle            domain
autopsy    rings[]                 ring             domain ring
autopsy    rows[]                  last-event       domain context ns name

heap       .                       recording
heap       window                  recording
heap       loss                    recording
heap       total                   heap
heap       rows[]                  heap-BY          *BY

profile    .                       profile
profile    window                  profile
profile    loss                    profile
profile    total                   profile
profile    rows[]                  profile-BY       *BY
profile    rows[].stack[]          -
heap       rows[].stack[]          -

stack      .                       recording
stack      rows[]                  stack            domain
stack      rows[].frames[]         -

memory     .                       recording
memory     total                   memory
memory     domains[]               domain           domain
memory     rows[]                  memory-row       domain name

check      .                       recording
check      window                  recording
check      loss                    recording
check      total                   -
check      rows[]                  rule             rule
"""

# Members that have another name than elsewhere, or are about another subject than the rest of
# their object: command, object, member; subject and figure.
RENAMED = """
show       .          version          recording   format_version
show       .          end_ns           recording   end_ns_or_0
show       domains[]  stop_ns          domain      stop_ns_or_0
show       domains[].lives[] stop_ns   life        stop_ns_or_0
stats      domains[].lives[] stop_ns   life        stop_ns_or_0
autopsy    total      end_ns           recording   end_ns_or_last
stats      total      delivered        recording   delivered
stats      total      missed           recording   missed
stats      total      lost             recording   lost
stats      total      torn             recording   torn
pauses     total      gc_ns            total       gc_ns
pauses     total      gc_share         total       gc_share
pauses     total      watched_ns       total       watched_ns
pauses     rows[]     step             one-step    name
frames     .          limit_ns         -           limit_ns
frames     .          span             -           span
frames     total      off_cpu_ns       span        frames_off_cpu_ns
frames     total.causes[] max_ns       -           max_ns
frames     rows[]     off_cpu_ns       one-span    frame_off_cpu_ns
autopsy    total      events           recording   delivered
autopsy    collector  steps            steps       count
autopsy    collector  longest_ns       steps       max_ns
autopsy    sites[]    error_bytes      heap-line   live_bytes_error
heap       total      ns               heap        last_ns
heap       .          by               -           by
heap       .          order            -           order
profile    .          by               -           by
profile    loss       ns               profile     lost_ns
profile    loss       calls            profile     lost_calls
list       .          path             -           path
stack      .          version          -           version
stack      .          end_ns           recording   end_ns_or_last
"""

# Which subjects must be there: `all` of a kind are in what these tools print, whose names are
# patterns, if any of them has it; of the others, `some`. Spans of which there is nothing are left
# out.
LISTED = """
ring       all   show*rings{}
ring       all   stats*rings{}
ring       all   autopsy*rings[]
span       all   stats*total.*spans[]
span       all   dump
span       some  sql
span       some  spans*names[]
span-of-domain all stats*spans[]
span-of-domain all dump
one-span   all   spans*rows[]
one-span   all   sql
one-span   all   dump
one-step   all   pauses*rows[]
one-step   all   dump
counter    all   stats*total.counters[]
counter    all   sql
counter    all   dump
event      all   stats*total.events[]
event      some  dump
open-span  some  autopsy*open_spans[]
open-span  all   dump
last-event some  autopsy*rows[]
last-event all   dump
"""
