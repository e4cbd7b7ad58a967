# SPDX-License-Identifier: MIT
"""XMPP clients on loopback: load for test_prosody.sh; Stream also serves the hour (soak/hour.py).

_xmpp_clients.py PORT CLIENTS MESSAGES

Each client registers an account, logs in, binds a resource, asks for its roster and for
what the server offers, publishes an item, enters a room, pings, and sends MESSAGES
messages to the next client and some to the room, until all have received theirs. The
last line says what was received; a client that fails ends the program with status 1.
"""
import base64
import collections
import re
import socket
import sys
import threading
import traceback
import xml.etree.ElementTree as ET

HOST, ROOM = "localhost", "room@conference.localhost"
PATIENCE = 60  # seconds, for any reply
SAID = 5  # messages of each client to the room


def plain(tag):
    return tag.rpartition("}")[2]


class Stream:
    """A connection, with the stanzas that come in."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.restart()

    def restart(self):
        self.parser, self.depth, self.stanzas = ET.XMLPullParser(("start", "end")), 0, collections.deque()
        self.send(f"<?xml version='1.0'?><stream:stream to='{HOST}' version='1.0' xmlns='jabber:client' "
                  "xmlns:stream='http://etherx.jabber.org/streams'>")
        self.features = self.stanza()

    def send(self, text):
        self.socket.sendall(text.encode())

    def stanza(self):
        while not self.stanzas:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("the server closed the stream")
            self.parser.feed(data)
            for event, element in self.parser.read_events():
                self.depth += 1 if event == "start" else -1
                if event == "end" and self.depth == 1:
                    self.stanzas.append(element)
        return self.stanzas.popleft()


class Client:
    def __init__(self, port, number, clients, messages):
        self.number, self.messages, self.seen = number, messages, collections.Counter()
        self.user, self.to = f"user{number}", f"user{(number + 1) % clients}"
        self.from_others, self.in_room = messages, SAID * clients
        self.stream = Stream(port)

    def request(self, kind, body, to=None):
        """An IQ; what else comes meanwhile is counted."""
        name = f"q{sum(self.seen.values())}-{body[:12].strip('</ ')}"
        target = f" to='{to}'" if to else ""
        self.stream.send(f"<iq type='{kind}' id='{name}'{target}>{body}</iq>")
        while True:
            stanza = self.stream.stanza()
            if plain(stanza.tag) == "iq" and stanza.get("id") == name:
                if stanza.get("type") != "result":
                    raise ValueError(ET.tostring(stanza))
                self.seen["replies"] += 1
                return stanza
            self.count(stanza)

    def count(self, stanza):
        if plain(stanza.tag) != "message" or stanza.find("{*}body") is None:
            return
        room = stanza.get("type") == "groupchat"
        text = stanza.find("{*}body").text
        if not re.fullmatch(r"(\d+) ü<&>" + (" said" if room else "") + "x" * 200, text):
            raise ValueError(f"changed on its way: {text}")
        self.seen["said" if room else "messages"] += 1

    def log_in(self):
        self.request("set", "<query xmlns='jabber:iq:register'><username>%s</username>"
                     "<password>secret</password></query>" % self.user)
        token = base64.b64encode(f"\0{self.user}\0secret".encode()).decode()
        self.stream.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>")
        if plain(self.stream.stanza().tag) != "success":
            raise ValueError("cannot log in")
        self.stream.restart()
        self.request("set", "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>r</resource></bind>")

    def look_around(self):
        self.request("get", "<query xmlns='jabber:iq:roster'/>")
        self.request("get", "<query xmlns='http://jabber.org/protocol/disco#info'/>", HOST)
        self.request("get", "<query xmlns='http://jabber.org/protocol/disco#items'/>", HOST)
        self.request("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='mood'>"
                     f"<item id='1'><m xmlns='x'>{self.number}</m></item></publish></pubsub>")
        self.stream.send("<presence/>")
        self.stream.send(f"<presence to='{ROOM}/{self.user}'><x xmlns='http://jabber.org/protocol/muc'>"
                         "<history maxstanzas='0'/></x></presence>")
        self.request("get", "<ping xmlns='urn:xmpp:ping'/>", HOST)

    def talk(self):
        for i in range(self.messages):
            self.stream.send(f"<message to='{self.to}@{HOST}/r' type='chat'><body>{i} ü&lt;&amp;&gt;{'x' * 200}"
                             "</body></message>")
            if i < SAID:
                self.stream.send(f"<message to='{ROOM}' type='groupchat'><body>{i} ü&lt;&amp;&gt; said{'x' * 200}"
                                 "</body></message>")
            if i % 10 == 0:
                self.request("get", "<ping xmlns='urn:xmpp:ping'/>", HOST)
        while self.seen["messages"] < self.from_others or self.seen["said"] < self.in_room:
            self.count(self.stream.stanza())
        self.stream.send("</stream:stream>")


def main():
    port, clients, messages = map(int, sys.argv[1:])
    all_clients, failed = [Client(port, i, clients, messages) for i in range(clients)], []
    ready = threading.Barrier(clients, timeout=PATIENCE)

    def live(client):
        try:
            client.log_in()
            ready.wait()
            client.look_around()
            ready.wait()
            client.talk()
        except Exception:  # of whatever kind: it is reported, and is this program's status
            failed.append(traceback.format_exc())
            ready.abort()

    threads = [threading.Thread(target=live, args=(client,)) for client in all_clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text in failed:
        print(text, file=sys.stderr)
    total = sum((client.seen for client in all_clients), collections.Counter())
    print(", ".join(f"{total[kind]} {kind}" for kind in sorted(total)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
