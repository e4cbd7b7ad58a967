# SPDX-License-Identifier: MIT
"""Asks two auth servers of dovecot the same: _ask_auth.py SOCKET SOCKET COUNT. Says what they
answered differently; "same COUNT ok" and how many were logged in. Requests do not wait for the
answers of those before: dovecot answers refusals late."""
import base64
import os
import socket
import sys
import threading

count = int(sys.argv[3])


def request(number):
    user = f"user-{'abc'[number % 3]}-{number % 50}" if number % 11 else "nobody"
    password = f"secret{number % 50 if number % 5 else 'x'}"
    response = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
    return f"AUTH\t{number}\tPLAIN\tservice=imap\tno-penalty\tresp={response}\n".encode()


class Server:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.socket.sendall(b"VERSION\t1\t2\nCPID\t%d\n" % os.getpid())
        while (line := self.lines.readline()) != b"DONE\n":
            if line == b"":
                sys.exit(f"{path}: closed")
        self.sender = threading.Thread(target=self.send)
        self.sender.start()

    def send(self):
        for number in range(1, count + 1):
            self.socket.sendall(request(number))

    def answers(self):
        found = {}
        while len(found) < count and (line := self.lines.readline()) != b"":
            what, number, *fields = line.rstrip(b"\n").split(b"\t")
            found[int(number)] = [what, *sorted(fields)]
        return found


one, other = [server.answers() for server in [Server(path) for path in sys.argv[1:3]]]
for i in range(1, count + 1):
    if one.get(i) != other.get(i) or i not in one:
        sys.exit(f"{request(i)}: {one.get(i)} and {other.get(i)}")
print("same", count, "ok", sum(answer[0] == b"OK" for answer in one.values()))
