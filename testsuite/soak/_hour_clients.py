# SPDX-License-Identifier: MIT
"""What the clients of hour.py do: operations on a server, each with all that clients receive for it.

An operation is drawn once, as a name with arguments, and done on each server in turn. One session
sends; then each session pings the server and collects what has come by its pong. The server is
one thread that delivers in order, so that is all that the operation has caused. What it returns
are texts in a form in which two servers say the same: without what servers draw (ids of their
own, times, nonces), and with children and stanzas sorted, as Lua visits tables in any order.
The bodies of messages stay in the order in which they came.
"""
import base64
import hashlib
import hmac
import http.client
import os
import re
import sys
import time
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
from _xmpp_clients import HOST, ROOM, Stream, plain  # noqa: E402

PASSWORD = "secret"
USERS = ("alice", "bob")
SESSIONS = ("alice/desk", "alice/phone", "bob/desk")
DRAWN_BY_SERVERS = {"stamp", "seconds", "authid", "sid"}
TEXTS_OF_SERVERS = {"utc", "tzo", "first", "last", "challenge"}

# Operations that only send something: those that are drawn, and ASKED, which is done when hour.py
# wants it. OTHERS are more than that.
STANZAS = {
    "roster": "<iq type='get' id='{id}'><query xmlns='jabber:iq:roster'/></iq>",
    "add contact": "<iq type='set' id='{id}'><query xmlns='jabber:iq:roster'><item jid='c{n}@{host}' "
                   "name='Contact {n} ü'><group>Friends</group></item></query></iq>",
    "remove contact": "<iq type='set' id='{id}'><query xmlns='jabber:iq:roster'>"
                      "<item jid='c{n}@{host}' subscription='remove'/></query></iq>",
    "disco info": "<iq type='get' id='{id}' to='{host}'>"
                  "<query xmlns='http://jabber.org/protocol/disco#info'/></iq>",
    "disco items": "<iq type='get' id='{id}' to='{host}'>"
                   "<query xmlns='http://jabber.org/protocol/disco#items'/></iq>",
    "rooms": "<iq type='get' id='{id}' to='conference.{host}'>"
             "<query xmlns='http://jabber.org/protocol/disco#items'/></iq>",
    "about the room": "<iq type='get' id='{id}' to='{room}'>"
                      "<query xmlns='http://jabber.org/protocol/disco#info'/></iq>",
    "ping": "<iq type='get' id='{id}' to='{host}'><ping xmlns='urn:xmpp:ping'/></iq>",
    "version": "<iq type='get' id='{id}' to='{host}'><query xmlns='jabber:iq:version'/></iq>",
    "time": "<iq type='get' id='{id}' to='{host}'><time xmlns='urn:xmpp:time'/></iq>",
    "unknown": "<iq type='get' id='{id}' to='{host}'><query xmlns='urn:nobody:knows'/></iq>",
    "keep private": "<iq type='set' id='{id}'><query xmlns='jabber:iq:private'>"
                    "<x xmlns='private:{n}'>{text}</x></query></iq>",
    "private": "<iq type='get' id='{id}'><query xmlns='jabber:iq:private'>"
               "<x xmlns='private:{n}'/></query></iq>",
    "publish": "<iq type='set' id='{id}'><pubsub xmlns='http://jabber.org/protocol/pubsub'>"
               "<publish node='mood{n}'><item id='1'><m xmlns='x'>{text}</m></item></publish></pubsub></iq>",
    "items": "<iq type='get' id='{id}'><pubsub xmlns='http://jabber.org/protocol/pubsub'>"
             "<items node='mood{n}'/></pubsub></iq>",
    "vcard": "<iq type='set' id='{id}'><vCard xmlns='vcard-temp'><FN>{text}</FN></vCard></iq>",
    "vcard of bob": "<iq type='get' id='{id}' to='bob@{host}'><vCard xmlns='vcard-temp'/></iq>",
    "block": "<iq type='set' id='{id}'><block xmlns='urn:xmpp:blocking'>"
             "<item jid='spam{n}@example.org'/></block></iq>",
    "unblock": "<iq type='set' id='{id}'><unblock xmlns='urn:xmpp:blocking'>"
               "<item jid='spam{n}@example.org'/></unblock></iq>",
    "blocked": "<iq type='get' id='{id}'><blocklist xmlns='urn:xmpp:blocking'/></iq>",
    "archive": "<iq type='set' id='{id}'><query xmlns='urn:xmpp:mam:2'>"
               "<set xmlns='http://jabber.org/protocol/rsm'><max>{n}</max><before/></set></query></iq>",
    "message to all": "<message id='{id}' to='{other}@{host}' type='chat'><body>{text}</body></message>",
    "message to one": "<message id='{id}' to='{other}@{host}/desk' type='chat'><body>{text}</body></message>",
    "message to nobody": "<message id='{id}' to='nobody{n}@{host}' type='chat'><body>{text}</body></message>",
    "presence": "<presence id='{id}'><status>{text}</status></presence>",
    "enter": "<presence id='{id}' to='{room}/{nick}'><x xmlns='http://jabber.org/protocol/muc'>"
             "<history maxstanzas='3'/></x></presence>",
    "leave": "<presence id='{id}' to='{room}/{nick}' type='unavailable'/>",
    "say": "<message id='{id}' to='{room}' type='groupchat'><body>{text}</body></message>",
    "subject": "<message id='{id}' to='{room}' type='groupchat'><subject>{text}</subject></message>",
    "remember": "<iq type='set' id='{id}' to='{host}'><remember xmlns='saros:hour' n='{n}'/></iq>",
    "hang": "<iq type='set' id='{id}' to='{host}'><hang xmlns='saros:hour'/></iq>",
}
ASKED = {"slow": "<iq type='set' id='{id}' to='{host}'><slow xmlns='saros:hour' ms='{ms}'/></iq>"}
OTHERS = ("burst", "log in", "log in with SCRAM", "wrong password", "register", "malformed", "BOSH",
          "page")


def draw(random, number):
    """An operation: its name, who does it, its arguments."""
    name = random.choice(list(STANZAS) + list(OTHERS) * 2)
    who = random.choice(SESSIONS)
    user = who.partition("/")[0]
    return name, who, {
        "id": f"c-{number}", "host": HOST, "room": ROOM, "n": random.randrange(1, 9),
        "other": USERS[1 - USERS.index(user)], "nick": who.replace("/", "-"),
        "text": f"{number} ü&lt;&amp;&gt; " + "x" * random.randrange(400)}


class Session(Stream):
    """A stream that is logged in. What was received since the last sync() is returned by it."""

    def __init__(self, port, user, resource, mechanism="PLAIN", password=PASSWORD):
        super().__init__(port)
        self.pings = 0
        self.transcript = [self.features]
        if self.authenticate(user, password, mechanism):
            self.restart()
            self.transcript.append(self.features)
            self.send(f"<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
                      f"<resource>{resource}</resource></bind></iq>")
            self.transcript.append(self.stanza())

    def authenticate(self, user, password, mechanism):
        answer = (self.plain if mechanism == "PLAIN" else self.scram)(user, password)
        self.transcript.append(answer)
        return plain(answer.tag) == "success"

    def sasl(self, element, text):
        self.send(f"<{element} xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
                  f"{base64.b64encode(text.encode()).decode()}</{element.split()[0]}>")
        return self.stanza()

    def plain(self, user, password):
        return self.sasl_first("PLAIN", f"\0{user}\0{password}")

    def sasl_first(self, mechanism, text):
        self.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='{mechanism}'>"
                  f"{base64.b64encode(text.encode()).decode()}</auth>")
        return self.stanza()

    def scram(self, user, password):
        """SCRAM-SHA-1 (RFC 5802); the server's signature is compared, too."""
        bare = f"n={user},r=nonce"
        challenge = self.sasl_first("SCRAM-SHA-1", "n,," + bare)
        if plain(challenge.tag) != "challenge":
            return challenge
        self.transcript.append(challenge)
        server_first = base64.b64decode(challenge.text).decode()
        fields = dict(part.split("=", 1) for part in server_first.split(","))
        salted = hashlib.pbkdf2_hmac("sha1", password.encode(), base64.b64decode(fields["s"]),
                                     int(fields["i"]))

        def sign(key, text):
            return hmac.new(key, text, hashlib.sha1).digest()
        client_key = sign(salted, b"Client Key")
        without_proof = f"c=biws,r={fields['r']}"
        message = f"{bare},{server_first},{without_proof}".encode()
        signature = sign(hashlib.sha1(client_key).digest(), message)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature))).decode()
        answer = self.sasl("response", f"{without_proof},p={proof}")
        if plain(answer.tag) == "success":
            expected = base64.b64encode(sign(sign(salted, b"Server Key"), message)).decode()
            said = base64.b64decode(answer.text).decode()
            answer.text = "right" if said == "v=" + expected else f"wrong: {said}"
        return answer

    def sync(self):
        """All that has come by the pong of a ping that is sent now."""
        self.pings += 1
        name = f"sync{self.pings}"
        self.send(f"<iq type='get' id='{name}' to='{HOST}'><ping xmlns='urn:xmpp:ping'/></iq>")
        received, self.transcript = self.transcript, []
        while True:
            stanza = self.stanza()
            if stanza.get("id") == name:
                return received
            received.append(stanza)

    def end(self):
        """Ends the stream; what came before its end."""
        received, self.transcript = self.transcript, []
        self.send("</stream:stream>")
        return received + rest(self)


def rest(stream):
    """What comes before the server closes it."""
    received = []
    try:
        while True:
            received.append(stream.stanza())
    except (EOFError, ET.ParseError, ConnectionResetError):
        stream.socket.close()
    return received


def is_clients(value):
    return re.match(r"(c-\d+|bind|sync\d+)$", value)


def canonical(element):
    """An element as text; what servers draw is `*`, and children are sorted."""
    name = plain(element.tag)
    attributes = sorted(
        (key, "*" if key in DRAWN_BY_SERVERS or (key == "id" and not is_clients(value)
                                                 and value != "1") else value)
        for key, value in element.items())
    text = (element.text or "").strip()
    if name in TEXTS_OF_SERVERS:
        text = "*"
    inside = "".join(sorted(canonical(child) for child in element))
    return f"<{element.tag}{''.join(f' {k}={v!r}' for k, v in attributes)}>{text}{inside}</>"


def texts(who, stanzas):
    """What a session has received: stanzas in any order, bodies in theirs."""
    bodies = [body.text for stanza in stanzas for body in stanza.iter()
              if plain(body.tag) == "body"]
    return sorted(f"{who}: {canonical(stanza)}" for stanza in stanzas) + [f"{who}: bodies {bodies}"]


class World:
    """A server with the sessions on it."""

    def __init__(self, server):
        self.server, self.sessions = server, {}

    def connect(self):
        """Logs in all; registers them if need be, and makes them see each other."""
        received = []
        for user in USERS:
            received += texts(user, self.account(user))
        for who in SESSIONS:
            session = Session(self.server.port, *who.split("/"))
            self.sessions[who] = session
            session.send("<iq type='set' id='c-0'><enable xmlns='urn:xmpp:carbons:2'/></iq><presence/>")
            received += self.sync(who)
        for user, other in (USERS, USERS[::-1]):
            for kind in ("subscribe", "subscribed"):
                self.sessions[f"{user}/desk"].send(f"<presence to='{other}@{HOST}' type='{kind}'/>")
                received += self.sync(f"{user}/desk")
        return received

    def sync(self, first=None):
        """first: who has sent something; the others are asked when that is done."""
        order = sorted(self.sessions, key=lambda who: (who != first, who))
        return [text for who in order for text in texts(who, self.sessions[who].sync())]

    def leave(self):
        for session in self.sessions.values():
            session.socket.close()
        self.sessions.clear()

    def do(self, name, who, arguments):
        stanza = STANZAS.get(name) or ASKED.get(name)
        if stanza:
            self.sessions[who].send(stanza.format(**arguments))
            return self.sync(who)
        return getattr(self, name.replace(" ", "_").lower())(who, **arguments) + self.sync()

    # ---- Operations that are more than a stanza ----------------------------------------------

    def account(self, user):
        """Makes an account, of which there may be one already."""
        stream = Stream(self.server.port)
        stream.send(f"<iq type='set' id='c-0'><query xmlns='jabber:iq:register'>"
                    f"<username>{user}</username><password>{PASSWORD}</password></query></iq>")
        stanza = stream.stanza()
        stream.socket.close()
        return [stanza]

    def register(self, _who, n, **_arguments):
        """An account that comes and goes."""
        received = texts("new", self.account(f"new{n}"))
        session = Session(self.server.port, f"new{n}", "x")
        session.send("<iq type='set' id='c-1'><query xmlns='jabber:iq:register'><remove/></query></iq>")
        received += texts("new", session.transcript)
        return received + texts("new", rest(session))

    def burst(self, who, **arguments):
        for i in range(20):
            again = dict(arguments, text=f"{i} of {arguments['text']}")
            self.sessions[who].send(STANZAS["message to all"].format(**again))
        return self.sync(who)

    def log_in(self, who, mechanism="PLAIN", **arguments):
        session = Session(self.server.port, who.partition("/")[0], f"guest{arguments['n']}", mechanism)
        session.send("<presence/>")
        received = texts("guest", session.sync())
        return received + self.sync() + texts("guest", session.end())

    def log_in_with_scram(self, who, **arguments):
        return self.log_in(who, mechanism="SCRAM-SHA-1", **arguments)

    def wrong_password(self, who, **arguments):
        mechanism = "PLAIN" if arguments["n"] % 2 else "SCRAM-SHA-1"
        session = Session(self.server.port, who.partition("/")[0], "x", mechanism, "wrong")
        return texts("guest", session.end())

    def malformed(self, _who, **_arguments):
        stream = Stream(self.server.port)
        stream.send("<iq type='get'><a></b></iq>")
        return texts("guest", rest(stream))

    def page(self, _who, **arguments):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=60)
        connection.request("GET", f"/files/{arguments['n']}.txt", headers={"Host": HOST})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        # (that something is not found is said by a joke that is drawn)
        what = hashlib.sha1(content).hexdigest() if answer.status == 200 else ""
        return [f"page: {answer.status} {what}"]

    def bosh(self, who, **arguments):
        """A session over HTTP: logs in, sends a message, ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=60)
        received, rid, sid = [], 1000, ""

        def post(attributes, inside=""):
            nonlocal rid
            rid += 1
            connection.request("POST", "/http-bind", f"<body xmlns='http://jabber.org/protocol/httpbind' "
                               f"rid='{rid}' {sid} {attributes}>{inside}</body>".encode(),
                               {"Host": HOST, "Content-Type": "text/xml"})
            answer = connection.getresponse()
            body = ET.fromstring(answer.read())
            received.append(body)
            return body
        first = post(f"to='{HOST}' wait='5' hold='1' ver='1.6' xmpp:version='1.0' "
                     "xmlns:xmpp='urn:xmpp:xbosh' xml:lang='en'")
        sid = f"sid='{first.get('sid')}'"
        token = base64.b64encode(f"\0{who.partition('/')[0]}\0{PASSWORD}".encode()).decode()
        post("", f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>")
        post("xmlns:xmpp='urn:xmpp:xbosh' xmpp:restart='true'")
        post("", "<iq type='set' id='c-0' xmlns='jabber:client'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
             "<resource>web</resource></bind></iq>")
        post("type='terminate'", "<message xmlns='jabber:client' id='{id}' to='{other}@{host}/desk' type='chat'>"
             "<body>{text}</body></message>".format(**arguments))
        connection.close()
        return texts("web", received)


def timed(function, *arguments):
    """What it returns, and the times at which it began and ended, ns of the monotonic clock."""
    begin = time.monotonic_ns()
    result = function(*arguments)
    return result, begin, time.monotonic_ns()
