# SPDX-License-Identifier: MIT
"""Programs, `eventring serve`, Prometheus and its companions, for fleet.py and alerts.py.

All that is started runs in a temporary folder and on the loopback interface, and is stopped by its
process number when the `with` of Services ends, also because a check fails or a signal arrives.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def skip_without(*packages):
    """Ends with status 77 when a program is missing. Debian's packages have the programs' names."""
    for name in packages:
        if not shutil.which(name):
            print("%s is missing (Debian package: %s)" % (name, name))
            sys.exit(77)


def end_by_signal(number, _frame):
    sys.exit(128 + number)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except OSError:
        return False


class Services:
    def __init__(self):
        self.started = []

    def __enter__(self):
        for number in SIGNALS:
            signal.signal(number, end_by_signal)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="services-"))
        return self

    def __exit__(self, *_):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for p in reversed(self.started):
            self.stop(p)
        shutil.rmtree(self.folder)

    def start(self, words, env=None, **more):
        process = subprocess.Popen(words, cwd=self.folder, env={**os.environ, **(env or {})}, **more)
        self.started.append(process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start_serve(self, port=0):
        self.serve = self.start([os.environ["EVENTRING"], "serve", "--listen", "127.0.0.1:%d" % port],
                                stdout=subprocess.PIPE)
        self.address = self.serve.stdout.readline().decode().split("//")[1].strip().rstrip("/")

    def start_server(self, words, ready):
        """words: with %d for the port; ready: the path that answers once it serves. Returns the
        port. Another process may take a port that was free."""
        for _ in range(10):
            port = free_port()
            log = self.folder / (words[0] + ".log")
            with open(log, "w") as out:
                p = self.start([w.replace("%d", str(port)) for w in words], stdout=out, stderr=out)
            end = time.monotonic() + 60
            while p.poll() is None and time.monotonic() < end:
                if answers("http://127.0.0.1:%d%s" % (port, ready)) and p.poll() is None:
                    return port
                time.sleep(0.1)
            self.stop(p)
        raise RuntimeError("%s does not start: %s" % (words[0], log.read_text()[-500:]))

    def start_prometheus(self, configuration):
        (self.folder / "prometheus.yml").write_text(configuration)
        self.port = self.start_server(
            ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=db",
             "--web.listen-address=127.0.0.1:%d"], "/-/ready")

    def ask(self, path, **parameters):
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, path, urllib.parse.urlencode(parameters))
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        return self.ask("query", query=text)["result"]
