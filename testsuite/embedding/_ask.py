# SPDX-License-Identifier: MIT
"""Asks two servers the same: _ask.py PORT PORT COUNT. Says what they answered differently."""
import http.client
import sys

ports, count = [int(port) for port in sys.argv[1:3]], int(sys.argv[3])
servers = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]


def answer(server, path):
    server.request("GET", path)
    response = server.getresponse()
    return response.status, response.read(), [h for h in response.getheaders() if h[0] != "Date"]


for i in range(count):
    path = f"/some/path/{i}/{'x' * (i % 50)}?query={i * i}"
    one, other = [answer(server, path) for server in servers]
    if one != other or one[0] != 200:
        sys.exit(f"{path}: {one} and {other}")
print("same", count)
