# SPDX-License-Identifier: MIT
"""Who watches the daemon by HTTP: metrics that Prometheus reads, figures of the page, who may see
names, and clients that do not behave."""

import json
import os
import re
import shutil
import socket
import subprocess

import pytest

from harness import SOURCE, STOKERD, WAIT_S, wait_for

TRANSFORMS = [{"name": "Resize", "size": [8, 8]}]
SAMPLE = re.compile(r"^(\w+)(\{[^}]*\})? (\S+)$", re.MULTILINE)


def ask(path, target="/metrics", host="localhost", method="GET", **headers):
    """(status, headers, body) of one request on a Unix socket, at a port or at (address, port)."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return say(path, ("\r\n".join(lines) + "\r\n\r\n").encode())


def connected(path):
    if isinstance(path, (int, tuple)):
        place = ("127.0.0.1", path) if isinstance(path, int) else path
        return socket.create_connection(place, WAIT_S)
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(WAIT_S)
    peer.connect(str(path))
    return peer


def say(path, data):
    with connected(path) as peer:
        peer.sendall(data)
        answer = b""
        while part := peer.recv(1 << 16):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in rest)
    assert method_is_head(data) or int(headers["Content-Length"]) == len(body)
    return int(first.split()[1]), headers, body.decode()


def method_is_head(data):
    return data.startswith(b"HEAD ")


def samples(text):
    """{name and labels: value}"""
    return {name + (labels or ""): float(value) for name, labels, value in SAMPLE.findall(text)}


@pytest.fixture(name="port")
def fixture_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(name="watched")
def fixture_watched(spawn, tmp_path, port):
    daemon = spawn(metrics_socket=tmp_path / "metrics.sock", metrics_port=port)
    daemon.metrics, daemon.port = tmp_path / "metrics.sock", port
    return daemon


def read_all(daemon, photos, **fields):
    with daemon.connect() as peer:
        assert peer.attach(photos, transforms=TRANSFORMS, **fields).name == "attached"
        return sum(1 for _ in peer.samples())


# Metrics


def test_every_counter_is_there(watched, photos):
    assert read_all(watched, photos) == 60
    watched.settle()
    status, headers, text = ask(watched.metrics)
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values, counters = samples(text), watched.status()
    table = re.findall(r"\bC\(\w+, (\w+), (TOTAL|GAUGE), (NONE|BYTES|NS),",
                       (SOURCE / "proto" / "counters.h").read_text())
    assert len(table) > 50
    for name, kind, unit in table:
        shown = "stoker_" + (name.replace("_ns", "_seconds") if unit == "NS" else name)
        if name in ("connections_total", "readers_total"):  # beside a gauge of that name
            shown = shown.replace("_total", "_seen_total")
        assert f"# TYPE {shown} {'counter' if kind == 'TOTAL' else 'gauge'}\n" in text
        if not name.startswith("connections"):
            expected = counters[name] / (1e9 if unit == "NS" else 1)
            assert values[shown] == pytest.approx(expected), name
    assert values["stoker_samples_delivered_total"] == 60
    assert values["stoker_ring_memory_bytes"] == counters["ring_memory"]


def test_histograms(watched, photos):
    read_all(watched, photos)
    text = ask(watched.metrics)[2]
    values = samples(text)
    for stage in ("fetch", "decode", "transform"):
        name = f"stoker_sample_{stage}_seconds"
        assert values[f"{name}_count"] == 60 and values[f'{name}_bucket{{le="+Inf"}}'] == 60
        buckets = [value for key, value in values.items() if key.startswith(name + "_bucket")]
        assert len(buckets) == 20 and buckets == sorted(buckets)
    total = sum(values[f"stoker_sample_{stage}_seconds_sum"] for stage in ("decode", "transform"))
    assert total == pytest.approx(values["stoker_work_seconds_total"])
    assert 1 <= values["stoker_batch_hand_over_seconds_count"] <= 15


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool (prometheus)")
def test_promtool_finds_nothing(watched, photos):
    with watched.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, job="a\"b\\", epochs=0)
        peer.expect("batch")
        for text in (ask(watched.port)[2], watched.ctl("metrics").stdout):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_open_metrics(watched):
    status, headers, text = ask(
        watched.metrics, Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert status == 200 and headers["Content-Type"].startswith("application/openmetrics-text")
    assert text.endswith("\n# EOF\n")
    assert "# TYPE stoker_samples_read counter\n" in text
    assert "\nstoker_samples_read_total 0" in text
    families = re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)
    assert len(families) == len(set(families))


def test_readers_streams_datasets(watched, photos):
    with watched.connect() as peer:
        answer = peer.attach(photos, transforms=TRANSFORMS, job="secret", epochs=0).fields
        peer.expect("batch")
        text = ask(watched.metrics)[2]
        values = samples(text)
        labels = f'reader="{answer["reader"]}",stream="{answer["stream"]}"'
        delivered, = [value for key, value in values.items()
                      if key.startswith("stoker_reader_samples_delivered_total{" + labels)]
        assert delivered in (4, 8, 12)
        waits = {key: value for key, value in values.items()
                 if key.startswith("stoker_reader_wait_seconds_total{" + labels)}
        assert len(waits) == 4 and sum(waits.values()) > 0
        assert f'stoker_stream_ring_bytes{{stream="{answer["stream"]}"' in text
        assert "secret" not in text and str(photos) not in text
    watched.settle()
    assert "reader=" not in ask(watched.metrics)[2]


def test_many_readers_are_bounded(watched, photos):
    peers = [watched.connect() for _ in range(203)]
    try:
        for peer in peers:
            assert peer.attach(photos, transforms=TRANSFORMS, epochs=0).name == "attached"
        text = watched.ctl("metrics").stdout  # longer than a frame
        assert len(text) > 1 << 16
        assert text.count("stoker_reader_leased_batches{") == 64
        assert samples(text)['stoker_not_shown{what="readers"}'] == 139
        assert len(json.loads(ask(watched.port, "/live.json")[2])["readers"]) == 200
    finally:
        for peer in peers:
            peer.close()


# The page's figures


def live(daemon, **headers):
    return json.loads(ask(daemon.port, "/live.json", **headers)[2])


def test_figures_of_producers(watched):
    with watched.connect() as peer:
        answer = peer.request("produce", code="0" * 32, secret="sixteen bytes!!!", name="of-a-user")
        assert answer.name == "producer"
        now = live(watched)
        (row,) = now["producers"]
        assert row["producer"] == answer.fields["producer"] and row["sample"] is None
        assert (row["state"], row["place"], row["made"], row["lent"]) == ("idle", "-", 0, 0)
        assert row["cpu_s"] > 0 and row["memory"] > 1 << 20
        assert "code" not in row and "of-a-user" not in json.dumps(now)
        link = json.loads(watched.ctl("--json", "page").stdout)
        session = json.loads(ask(watched.port, "/session",
                                 Authorization=f"Bearer {link['token']}")[2])["session"]
        named = live(watched, Authorization=f"Bearer {session}")
        assert named["producers"][0]["code"] == "of-a-user"
    watched.settle()
    assert live(watched)["producers"] == []


def test_figures_without_names(watched, photos, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    with watched.connect() as bad, watched.connect() as peer:
        bad.attach(tmp_path, transforms=TRANSFORMS)
        bad.expect("bad_sample")
        peer.attach(photos, transforms=TRANSFORMS, job="secret", epochs=0)
        peer.expect("batch")
        now = live(watched)
        text = json.dumps(now)
        assert not now["names"] and "secret" not in text and "private" not in text
        reader, = [reader for reader in now["readers"] if reader["inflight"] == 3
                   and reader["stream"] == peer.attached["stream"]]
        assert reader["state"] in ("holding", "filling")
        assert set(reader) == set(
            "reader stream rank world epoch state waits_for leased inflight images_per_second "
            "waited limited_by share_trainer share_storage share_decode share_slot".split())
        assert now["bad"][0]["name"] == "sample_corrupt"
        assert now["budgets"]["rings"][0] == now["counters"]["ring_bytes"] > 0

        link = json.loads(watched.ctl("--json", "page").stdout)
        assert link["url"] == f"http://127.0.0.1:{watched.port}/#token={link['token']}"
        assert not live(watched, Authorization=f"Bearer {link['token']}")["names"]
        status, _, body = ask(watched.port, "/session", Authorization=f"Bearer {link['token']}")
        assert status == 200
        now = live(watched, Authorization=f"Bearer {json.loads(body)['session']}")
        assert now["names"] and "secret" in json.dumps(now)
        assert now["bad"][0]["path"].endswith("broken.jpg")
        # A second browser of the same user, also on the Unix socket.
        for place in (watched.port, watched.metrics):
            assert ask(place, "/session", Authorization=f"Bearer {link['token']}")[0] == 200
        wrong = ask(watched.port, "/session", Authorization=f"Bearer {link['token'][::-1]}")
        assert wrong[0] == 403 and "stokerctl page" in wrong[2]


def test_history(watched, photos):
    read_all(watched, photos)
    wait_for(lambda: sum(second[0] for second in live(watched)["history"]) == 60,
             "the seconds in which samples were delivered")
    assert sum(second[1] for second in live(watched)["history"]) == 60


def test_no_page_without_a_place(daemon):
    done = daemon.ctl("page", check=False)
    assert done.returncode == 78 and "--metrics-port" in done.stderr
    assert "stoker_workers 2" in daemon.ctl("metrics").stdout


# Who may ask, and how


def test_host(watched):
    for host in ("localhost", f"127.0.0.1:{watched.port}", "[::1]:80"):
        assert ask(watched.port, host=host)[0] == 200
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        for target in ("/", "/metrics", "/live.json", "/session"):
            assert ask(watched.port, target, host=host)[0] == 403
    assert ask(watched.metrics, host="stoker")[0] == 200
    assert ask(watched.metrics, "/live.json", host="stoker")[0] == 403


def test_other_machines(spawn, port):
    """With another address they get the metrics, by any name, and not the page."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but localhost")
        address = probe.getsockname()[0]
    daemon = spawn(metrics_address="0.0.0.0", metrics_port=port)
    assert ask((address, port), host=f"{address}:{port}")[0] == 200
    for target in ("/", "/live.json", "/session", "/sheet/1"):
        for host in ("localhost", address):
            status, _, body = ask((address, port), target, host=host)
            assert status == 403 and "/metrics alone" in body
    assert ask(port, "/")[0] == 200 and ask(port, host="evil.example")[0] == 403
    assert f"http://127.0.0.1:{port}/#token=" in daemon.ctl("page").stdout
    daemon = spawn(metrics_address=address, metrics_port=port + 1)
    assert ask((address, port + 1))[0] == 200
    assert "serves no page" in daemon.ctl("page", check=False).stderr


def test_all_addresses_of_both_kinds(spawn, port):
    """One of IPv4 that comes to a socket of IPv6 is of this machine, too, and has a user."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("there is no IPv6")
    daemon = spawn(metrics_address="::", metrics_port=port)
    link = json.loads(daemon.ctl("--json", "page").stdout)
    assert link["url"].startswith(f"http://[::1]:{port}/")
    for place in (port, ("::1", port), port):
        status = ask(place, "/session", Authorization=f"Bearer {link['token']}")[0]
        assert status == 200, place


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_a_link_that_another_user_has_seen(watched):
    token = json.loads(watched.ctl("--json", "page").stdout)["token"]
    assert ask(watched.port, "/session", Authorization=f"Bearer {token}")[0] == 200
    code = ("import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], headers="
            "{'Authorization': 'Bearer ' + sys.argv[2]}))")
    done = subprocess.run(["/usr/bin/python3", "-c", code,
                           f"http://127.0.0.1:{watched.port}/session", token], user=65534,
                          cwd="/", text=True, capture_output=True, check=False, timeout=WAIT_S)
    assert "403" in done.stderr, done
    assert ask(watched.port, "/session", Authorization=f"Bearer {token}")[0] == 200


def test_headers_of_the_page(watched):
    status, headers, body = ask(watched.port, "/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert not re.findall(r"(?:src|href)=\"(?!data:)", body), "nothing is loaded from elsewhere"


@pytest.mark.parametrize("data, status", [
    (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    (b"DELETE / HTTP/1.1\r\n\r\n", 405),
    (b"\x16\x03\x01\x02\x00\x01\x00\n\n", 400),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n", 400),
    (b"GET /" + b"a" * 100 + b" HTTP/1.1\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431),
    (b"GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
])
def test_refused(watched, data, status):
    assert say(watched.port, data)[0] == status


def test_head(watched):
    status, headers, body = ask(watched.port, method="HEAD")
    assert status == 200 and int(headers["Content-Length"]) > 1000 and not body


def test_a_connection_that_hangs_keeps_no_other_out(watched, photos):
    """Of connections beyond the bound the oldest idle ones are closed, so that whoever scrapes gets
    in; trainers do not notice; nothing is left of them."""
    read_all(watched, photos)
    ask(watched.metrics)
    usage = watched.usage()
    many = [connected(watched.port) for _ in range(40)]
    try:
        for peer in many[8:]:
            peer.sendall(b"GET /metr")
        for peer in many[:8]:
            assert peer.recv(1) == b""
        for place in (watched.port, watched.metrics) * 4:
            assert ask(place)[0] == 200
        many[-1].sendall(b"ics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert many[-1].recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert read_all(watched, photos) == 60
    finally:
        for peer in many:
            peer.close()
    wait_for(lambda: watched.usage().fds <= usage.fds, "its descriptors are closed")
    assert ask(watched.metrics)[0] == 200


def test_a_port_that_is_taken(watched, tmp_path):
    done = subprocess.run([str(STOKERD), "--socket", tmp_path / "other.sock", "--metrics-port",
                           str(watched.port)], capture_output=True, text=True, check=False,
                          timeout=WAIT_S)
    assert done.returncode != 0 and "give another --metrics-port" in done.stderr


def test_alerts_and_dashboard_use_names_that_exist(watched, photos):
    folder = SOURCE / "packaging" / "grafana"
    with watched.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, epochs=0)
        peer.expect("batch")
        exist = set(re.findall(r"^(\w+)(?:\{|\s)", ask(watched.metrics)[2], re.MULTILINE))
    dashboard = json.loads((folder / "stoker-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"]
               for target in panel.get("targets", [])]
    alerts = (folder / "stoker-alerts.yml").read_text()
    queries += re.findall(r"^ *expr: (.*)$", alerts, re.MULTILINE)
    exist |= set(re.findall(r"^ *- record: (.*)$", alerts, re.MULTILINE))
    assert len(queries) > 15
    for query in queries:
        used = re.findall(r"\b(?:stoker[_:]|process_)[\w:]+", query)
        assert used and set(used) <= exist, query


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool (prometheus)")
def test_promtool_reads_the_alerts():
    done = subprocess.run(["promtool", "check", "rules",
                           SOURCE / "packaging" / "grafana" / "stoker-alerts.yml"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0 and "rules found" in done.stdout, done
