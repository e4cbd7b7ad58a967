# SPDX-License-Identifier: MIT
"""Debian's Prosody as a daemon, for hour.py: its configuration, start and end, and what the system
says of its process."""
import os
import re
import signal
import socket
import subprocess
import time

PROSODY = "/usr/bin/prosody"

# An administrator's own module. It does what the operator's questions are asked about: it keeps
# what it was sent, leaves coroutines waiting, and takes its time.
MODULE = """local st = require "util.stanza";
local async = require "util.async";
local remembered, waiting = {}, {};

local function remember(n)
	for i = 1, 50 do
		remembered[#remembered % 20000 + 1] = { n = n, i = i, text = ("x"):rep(200) .. i };
	end
end

local function wait_for_ever()
	local wait, done = async.waiter();
	waiting[#waiting + 1] = done;
	wait();
end

local function take(ms)
	local till = os.clock() + ms / 1000;
	while os.clock() < till do end
end

local function slow_request(event)
	take(tonumber(event.stanza.tags[1].attr.ms));
	event.origin.send(st.reply(event.stanza));
	return true;
end

module:hook("iq/host/saros:hour:slow", slow_request);
module:hook("iq/host/saros:hour:remember", function (event)
	remember(tonumber(event.stanza.tags[1].attr.n));
	event.origin.send(st.reply(event.stanza):tag("n"):text(tostring(#remembered)));
	return true;
end);
module:hook("iq/host/saros:hour:hang", function (event)
	async.runner(wait_for_ever):run(true);
	event.origin.send(st.reply(event.stanza):tag("n"):text(tostring(#waiting)));
	return true;
end);
"""

CONFIGURATION = """
run_as_root = true
daemonize = true
pidfile = "{where}/prosody.pid"
data_path = "{where}/data"
certificates = "{where}/certs"
plugin_paths = {{ "{where}/modules" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
http_interfaces = {{ "127.0.0.1" }}
http_ports = {{ {http_port} }}
https_ports = {{ }}
http_paths = {{ bosh = "/http-bind"; files = "/files" }}
http_files_dir = "{where}/files"
consider_bosh_secure = true
modules_enabled = {{ "roster"; "saslauth"; "disco"; "posix"; "ping"; "time"; "version"; "private"; "vcard4";
  "pep"; "carbons"; "register"; "mam"; "blocklist"; "bookmarks"; "vcard_legacy"; "bosh"; "http_files"; "hour" }}
modules_disabled = {{ "s2s"; "tls" }}
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
allow_registration = true
authentication = "internal_hashed"
storage = "internal"
log = {{ {{ levels = {{ min = "info" }}, to = "file", filename = "{where}/prosody.log" }} }}
VirtualHost "localhost"
Component "conference.localhost" "muc"
muc_room_locking = false
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def await_that(what, condition, patience=60):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


class Server:
    """A server with a directory, accounts and ports of its own, which it has in all its lives."""

    def __init__(self, name, program, where):
        self.name, self.program, self.where = name, program, where
        self.port, self.http_port = free_ports(2)
        self.pid = self.began = None
        for folder in ("data", "certs", "modules", "files"):
            os.makedirs(os.path.join(where, folder))
        self.write("prosody.cfg.lua", CONFIGURATION.format(**vars(self)))
        self.write("modules/mod_hour.lua", MODULE)
        for n in range(1, 6):
            self.write(f"files/{n}.txt", f"line {n}\n" * 10 ** n)

    def path(self, name):
        return os.path.join(self.where, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def start(self, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SAROS_", "LUA_"))}
        environment.update(variables)
        with open(self.path("said.txt"), "ab") as said:
            done = subprocess.run([self.program, PROSODY, "--config", self.path("prosody.cfg.lua")],
                                  cwd=self.where, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=said, stderr=said, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name} does not start: {self.read('said.txt')}")
        await_that(f"{self.name} listens", self.listens)
        self.pid = int(self.read("prosody.pid"))
        self.began = self.stat()[19]

    def listens(self):
        try:
            if not self.read("prosody.pid").strip():
                return False
            for port in (self.port, self.http_port):
                socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def stat(self):
        """The fields of /proc/PID/stat behind the name; nothing if it is gone."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(") ")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return []

    def lives(self):
        fields = self.stat()
        return bool(fields) and fields[0] not in "ZX" and fields[19] == self.began

    def end(self, how):
        if self.pid and self.lives():
            os.kill(self.pid, how)
            await_that(f"{self.name} ends by {signal.Signals(how).name}", lambda: not self.lives())
        if how == signal.SIGKILL and os.path.exists(self.path("prosody.pid")):
            os.remove(self.path("prosody.pid"))

    def errors(self):
        """Lines of the log about errors, without what differs from run to run."""
        return sorted(re.sub(r"^\S+ +\d+ [\d:]+ |0x[0-9a-f]+|c2s[0-9a-f]+", "", line)
                      for line in self.read("prosody.log").splitlines()
                      if "\terror\t" in line or "traceback" in line)

    def figures(self):
        """Memory in KiB, and how much of what the system counts; nothing if it is gone."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                status = dict(line.split(":", 1) for line in file)
            with open(f"/proc/{self.pid}/maps", encoding="utf-8") as file:
                mappings = len(file.readlines())
            return {"anonymous": int(status["RssAnon"].split()[0]),
                    "resident": int(status["VmRSS"].split()[0]),
                    "threads": int(status["Threads"]), "mappings": mappings,
                    "descriptors": len(os.listdir(f"/proc/{self.pid}/fd"))}
        except (FileNotFoundError, ProcessLookupError, KeyError):
            return None

    def processor_seconds(self):
        fields = self.stat()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0

    def zombies(self):
        """Children that have ended and were not waited for."""
        found = 0
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                        fields = file.read().rpartition(") ")[2].split()
                    found += fields[0] == "Z" and fields[1] == str(self.pid)
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return found
