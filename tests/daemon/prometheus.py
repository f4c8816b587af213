# SPDX-License-Identifier: MIT
"""A real Prometheus that asks one daemon, and the expressions of packaging/grafana as Grafana would
send them."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request

from harness import SOURCE, WAIT_S, wait_for

PROGRAM = shutil.which("prometheus")
FOLDER = SOURCE / "packaging" / "grafana"
DASHBOARD, ALERTS = FOLDER / "stoker-dashboard.json", FOLDER / "stoker-alerts.yml"
CONFIGURATION = """
global: {{scrape_interval: {every}, evaluation_interval: {every}}}
rule_files: [{rules}]
scrape_configs:
  - job_name: stoker
    authorization: {{credentials_file: {token}}}
    static_configs: [{{targets: ["{target}"]}}]
"""


def panels():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]


def expression(text, interval):
    """That of a panel, with what Grafana puts in for its variables; all of them are chosen."""
    return re.sub(r"\$\w+", lambda found: {"$instance": ".*", "$job": ".*",
                                           "$__rate_interval": interval}[found[0]], text)


def rules():
    """{alert or record: its expression}. Each is a line."""
    found = re.findall(r"^ +- (?:alert|record): (\S+)\n +expr: (.*)$",
                       ALERTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) == ALERTS.read_text(encoding="utf-8").count("expr:")
    return dict(found)


class Prometheus:
    """With a folder of its own; asks the daemon at `port` every so often ("1s")."""

    def __init__(self, port, token, every="1s"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-prometheus-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        configuration = self.folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(
            every=every, rules=ALERTS, token=token, target=f"127.0.0.1:{port}"), encoding="utf-8")
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config.file={configuration}", f"--web.listen-address={self.address}",
                 f"--storage.tsdb.path={self.folder / 'data'}"], stdout=log, stderr=log)

    def __enter__(self):
        wait_for(self.has_asked, lambda: f"it asked the daemon; {self.log()}", 6 * WAIT_S)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def has_asked(self):
        try:
            return [found for found in self.query("up") if found["value"][1] == "1"]
        except OSError:
            return []

    def ask(self, what, **parameters):
        """The data of its HTTP API; raises HTTPError with the words of an error."""
        url = f"http://{self.address}/api/v1/{what}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            error.msg += ": " + error.read().decode()
            raise

    def query(self, text, **parameters):
        return self.ask("query", query=text, **parameters)["result"]

    def query_range(self, text, begin, end, step):
        return self.ask("query_range", query=text, start=begin, end=end, step=step)["result"]
