import glob
T=[("--backwards with what is still to come","--backwards cannot show what is still to come"),
("--directory is for --start","--directory needs --start"),
("--frame-span without --frames","--frame-span needs --frames"),
("--full with --size","--full and --size cannot be combined"),
("--json is for --status","--json needs --status"),
("--last with --since or --until","--last cannot be combined with --since or --until"),
("\"--over with --frames","\"--over cannot be combined with --frames"),
("--perf has samples of its own","--perf reads samples: no --cpu"),
("--perf is of a PID or FILE","--perf needs a PID or FILE"),
("--profile: calls or off","--profile: must be calls or off"),
("both in --span and --no-span","is given both in --span and in --no-span"),
("\"and a command to launch\"","\"or a command to launch, not both\""),
("\"and a command\"","\"or a command to launch, not both\""),
("both --pause and --resume","--pause and --resume cannot be combined"),
("both to standard output","cannot both write to standard output"),
("for one process only","needs one process, no more"),
("ends 2 \"less than 1ms","ends 2 \"must be at least 1ms"),
("no %p and no %i","must not contain %p or %i"),
("not with several files","cannot be combined with several files"),
("ends 2 \"nothing is asked for","ends 2 \"nothing to do"),
("ends 2 \"of one PID or FILE","ends 2 \"needs one PID or FILE"),
("ends 2 \"without --on","ends 2 \"--before needs --on"),
("ends 2 \"without --zstd","ends 2 \"--zstd-threads needs --zstd"),
]
for f in glob.glob("testsuite/**/*.sh",recursive=True)+glob.glob("testsuite/**/*.py",recursive=True):
    s=o=open(f).read()
    for a,b in T: s=s.replace(a,b)
    if s!=o: open(f,"w").write(s); print(f)
