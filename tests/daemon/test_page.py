# SPDX-License-Identifier: MIT
"""The page in a real browser, without a window: what it says of an idle daemon, of three trainers
with a slow one, of storage that stalls, and with names; and that its script has no complaints."""

import json
import shutil
import socket

import pytest

from browser import CHROMIUM, Browser
from harness import SLOW, wait_for
from test_storage import faulty, on_disk

TRANSFORMS = [{"name": "Resize", "size": [8, 8]}]

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")


@pytest.fixture(name="port")
def fixture_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(name="watched")
def fixture_watched(spawn, port):
    daemon = spawn(metrics_port=port)
    daemon.url = f"http://127.0.0.1:{port}/"
    return daemon


@pytest.fixture(name="browser")
def fixture_browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
        assert not browser.console, browser.console


def link_of(daemon):
    return json.loads(daemon.ctl("--json", "page").stdout)["url"]


def test_idle(watched, browser):
    browser.open(watched.url)
    browser.shows(["running", "Nobody reads: no trainer is attached.", "2 workers", "none was met",
                   "no dataset is open", "names are hidden"])


def test_a_slow_trainer(watched, browser, photos):
    """Two that take each batch, beside one that holds all it has."""
    fields = {"transforms": TRANSFORMS, "epochs": 0, "pace": "together", "prefetch": 4}
    with watched.connect() as slow, watched.connect() as one, watched.connect() as other:
        slow.attach(photos, job="slow-job", **fields)
        held = [slow.expect("batch") for _ in range(3)]
        for peer in (one, other):
            peer.attach(photos, job="fast-job", **fields)
            for _ in range(len(held) + 1):
                peer.release(peer.expect("batch"))
        number = slow.attached["reader"]
        browser.open(watched.url)
        text = browser.shows([f"wait for reader {number}, which holds all its batches: its trainer "
                              "is the slow one", "1 streams"])
        assert "slow-job" not in text and str(photos) not in text
        link = link_of(watched)
        browser.open(link)
        browser.shows([f"wait for reader {number} (slow-job)", str(photos), "Resize("])
        assert "token" not in browser.value("location.href")
    browser.shows(["Nobody reads"])  # live, without loading it again


def test_storage_that_stalls(spawn, browser, photos, tmp_path, port):
    folder, gate = tmp_path / "photos", tmp_path / "gate"
    shutil.copytree(photos, folder)
    gate.touch()
    on_disk("dead", folder, 30)
    daemon = spawn(metrics_port=port, environment=faulty(STOKER_TEST_GATE=str(gate)))
    with daemon.connect() as peer:
        peer.attach(folder, transforms=TRANSFORMS, shuffle=False, prefetch=15, inflight=15)
        for _ in range(7):
            peer.release(peer.expect("batch"))
        browser.open(f"http://127.0.0.1:{port}/")
        browser.shows(["Storage stalled: 1 reads hang, and 1 readers wait for them", "stalled"])
        gate.unlink()
        peer.expect("batch", 30 * SLOW)


def test_a_link_in_two_browsers(watched, browser, photos, tmp_path_factory):
    """Of one user: both show names."""
    link = link_of(watched)
    with watched.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, epochs=0)
        browser.open(link)
        browser.shows([str(photos)])
        browser.open(watched.url)  # what was given in exchange stays in the tab
        browser.shows([str(photos)])
        with Browser(tmp_path_factory.mktemp("other")) as other:
            other.open(link)
            other.shows([str(photos)])
        with Browser(tmp_path_factory.mktemp("third")) as other:
            other.open(watched.url)
            assert str(photos) not in other.shows(["names are hidden"])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1600])
def test_sizes_and_keys(watched, browser, photos, width, dark):
    """Nothing sticks out sideways; the lists that scroll can be reached by keyboard."""
    with watched.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, job="j" * 200, epochs=0)
        browser.size(width, 900, dark)
        browser.open(link_of(watched))
        browser.shows([str(photos)])
        assert browser.value("document.documentElement.scrollWidth") <= width
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        assert back == ("rgb(20, 23, 26)" if dark else "rgb(251, 251, 249)")
        reached = set()
        for _ in range(7):
            browser.tab()
            reached.add(browser.value("document.activeElement.id"))
        assert {"readers", "streams", "datasets", "bad", "which", "show"} <= reached
        assert len(browser.picture()) > 10000


OVERFLOWS = """[...document.querySelectorAll("html, section, .scroll, td, ul, header")]
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => [e.tagName, e.id, e.scrollWidth, e.clientWidth])"""


@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_no_card_overflows(watched, browser, photos, tmp_path, width):
    """With long names, all transforms of a training and bad samples; each table names datasets."""
    folder = tmp_path / ("imagenet-" + "of-last-year-" * 6)
    shutil.copytree(photos, folder)
    for path in sorted(folder.rglob("*.jpg"))[:8]:
        path.write_bytes(b"\xff\xd8\xff\xe0 is cut short")
    transforms = [{"name": "RandomResizedCrop", "size": 224}, {"name": "RandomHorizontalFlip"},
                  {"name": "Normalize", "mean": [.485, .456, .406], "std": [.229, .224, .225]}]
    with watched.connect() as peer:
        peer.attach(folder, transforms=transforms, job="resnet50-" * 20, epochs=0)
        wait_for(lambda: watched.status()["samples_bad_total"], "a bad sample")
        browser.size(width, 1200)
        browser.open(link_of(watched))
        text = browser.shows(["sample_corrupt", "RandomResizedCrop(", "bad samples were met"])
        assert text.count(folder.name) >= 4  # datasets, streams, readers, bad samples
        assert browser.value(OVERFLOWS) == []


UNDER_THE_POINTER = """(() => {
    const box = document.getElementById("chart").getBoundingClientRect();
    document.getElementById("plot").dispatchEvent(new PointerEvent("pointermove",
        {clientX: box.right - 0.5, clientY: box.top + 5}));
    return document.getElementById("under").textContent;
})()"""


def test_last_minute(watched, browser, photos):
    """A line for each reader, what its trainer waited, and the second under the pointer."""
    with watched.connect() as holds, watched.connect() as takes:
        for seed, peer in enumerate((holds, takes)):
            peer.attach(photos, transforms=TRANSFORMS, epochs=0, order_seed=seed)
        for _ in range(3):
            holds.expect("batch")
        for _ in range(20):
            takes.release(takes.expect("batch"))
        browser.open(watched.url)
        browser.shows(["trainer waited", "that the workers may use",
                       "off: cache-memory is 0", "0 refused since the start", "5 minutes ago"])
        wait_for(lambda: browser.value("document.querySelectorAll('#readers svg polyline').length")
                 == 2, "a line for each reader")
        wait_for(lambda: browser.value(UNDER_THE_POINTER).endswith(" decoded"), "its figures")
        rows = watched.ctl("--json", "readers").stdout
        assert all(0 <= row["waited"] <= 1 for row in json.loads(rows)["readers"])


def test_five_bad_samples_and_warnings(watched, browser, photos, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    for path in sorted(folder.rglob("*.jpg"))[:8]:
        path.write_bytes(b"\xff\xd8\xff\xe0 is cut short")
    with watched.connect() as peer:
        peer.attach(folder, transforms=TRANSFORMS, epochs=1, bad_samples="substitute")
        assert len(list(peer.samples())) == 60
        browser.open(watched.url)
        browser.shows(["and 3 more"])
        assert browser.value("document.querySelectorAll('#bad tbody tr').length") == 5
        assert browser.value("document.getElementById('warned').hidden")
        browser.open(link_of(watched))
        browser.shows(["Last warnings of the log", "could not be decoded", str(folder)])


def test_advice_is_that_of_doctor(spawn, browser, photos, port):
    """From figures: a daemon whose workers are idle is not told to have more."""
    daemon = spawn(metrics_port=port)
    with daemon.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, epochs=0)
        for _ in range(3):
            peer.expect("batch")
        browser.open(f"http://127.0.0.1:{port}/")
        text = browser.shows(["1 reader: the trainer works", "no index-dir is set".capitalize()])
        assert "more workers" not in text
        troubles = [line for line in daemon.ctl("doctor").stdout.splitlines() if "warn" in line]
        assert any("no index-dir is set" in line for line in troubles)
