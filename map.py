import glob,re
M=[
("--before: without --on","--before needs --on"),
("--span: `all' is no function (--enable calls: spans of all)","--span: `all' is no function (--enable calls records spans of all functions)"),
("`%.*s' both in --span and --no-span","`%.*s' is given both in --span and in --no-span"),
("--snapshot: of one PID or FILE","--snapshot needs one PID or FILE, no more"),
("--snapshot - and --status: both to standard output","--snapshot - and --status cannot both write to standard output"),
("both --pause and --resume","--pause and --resume cannot be combined"),
("--profile: calls or off","--profile: must be calls or off"),
("--trigger: there is none","--trigger: the text contains no trigger"),
("--json is for --status","--json needs --status"),
("--directory is for --start","--directory needs --start"),
("nothing is asked for","nothing to do: no option says what to change or show"),
("\"one of --to, --json, --csv, --leaked","\"only one of --to, --json, --csv, --leaked"),
("--to is of a PID: a FILE knows only coroutines with spans open","--to needs a PID: a FILE knows only coroutines with open spans"),
("`%s' and a command to launch","either `%s' or a command to launch, not both"),
("\"one of --heap and --profile","\"only one of --heap and --profile"),
("`%s' has no counterpart: runs of A and B in turn","`%s' has no counterpart: A and B are run in turn"),
("--backwards with what is still to come: --follow, --seconds, ","--backwards cannot show what is still to come: no --follow, --seconds, "),
("`--to %s' has all events: no --live, --allocated, --peak, ","`--to %s' exports all events: no --live, --allocated, --peak, "),
("--every: less than 1ms","--every: must be at least 1ms"),
("--over with --frames, which has a limit","--over cannot be combined with --frames, which has a limit of its own"),
("--frame-span without --frames","--frame-span needs --frames"),
("--perf-event: a name","--perf-event: the name is empty"),
("--perf has samples of its own","--perf reads samples: no --cpu, and no option that takes samples"),
("--perf is of a PID or FILE","--perf needs a PID or FILE, not a PROGRAM"),
("\"one of --wall, --cpu","\"only one of --wall, --cpu"),
("--tree is alone","--tree cannot be combined with --by, --callers, --json or --csv"),
("both --callers and --by","--callers and --by cannot be combined"),
("--graph is --to dot","--graph means --to dot: give only one of them"),
("\"one of --to, --json, --tree, --callers","\"only one of --to, --json, --tree, --callers"),
("--buffer-size: 64K to 4M, a multiple of 64K","--buffer-size: must be a multiple of 64K, from 64K to 4M"),
("--max-size: at least 1M","--max-size: must be at least 1M"),
("--rotate-size: at least 2 buffers (--buffer-size)","--rotate-size: must be at least 2 buffers (--buffer-size)"),
("--rotate-time: at least 10ms","--rotate-time: must be at least 10ms"),
("--seconds: more than 0","--seconds: must be more than 0"),
("--zstd-threads: without --zstd","--zstd-threads needs --zstd"),
("--merge: not with several files of one process","--merge cannot be combined with several files of one process"),
("--merge: FILE has no %%p and no %%i, for it is one","--merge makes one file, so FILE must not contain %%p or %%i"),
("--on: for one process only","--on needs one process, no more"),
("--command-fifo: for one process only","--command-fifo needs one process, no more"),
("--interval: at least 50ms","--interval: must be at least 50ms"),
("--locals and --coroutines are of a live process: PID","--locals and --coroutines need a live process (PID)"),
("--open with `-o -': there is no file","--open cannot be combined with `-o -': there is no file to open"),
("--full with --size","--full and --size cannot be combined"),
("--last with --since or --until","--last cannot be combined with --since or --until"),
]
src=glob.glob("eventring/tools/*.c")
for a,b in M:
    hit=[]
    for f in src:
        s=open(f).read()
        if a in s:
            if a=="nothing is asked for" and 'usage_error(self, "nothing is asked for")' not in s: continue
            hit.append(f); open(f,"w").write(s.replace(a,b))
    if not hit: print("NO SRC",a)
