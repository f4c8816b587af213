# SPDX-License-Identifier: MIT
"""The sheet, one image of the samples in a stream's ring, for who watches with a valid token; and
the page that shows it, in a real browser."""

import io
import json
import re

import numpy
import pytest
from PIL import Image

import test_page
from harness import wait_for
from test_watch import connected

LISTS = {
    "uint8": ("NHWC", []),
    "float16": ("NCHW", []),
    "bfloat16": ("NHWC", []),
    "float32": ("NCHW", [{"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}]),
}

fixture_port, fixture_browser = test_page.fixture_port, test_page.fixture_browser


@pytest.fixture(name="watched")
def fixture_watched(spawn, port):
    daemon = spawn(metrics_port=port)
    daemon.url, daemon.port = f"http://127.0.0.1:{port}/", port
    return daemon


def get(daemon, target, token=None):
    """(status, headers, body)"""
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    with connected(daemon.port) as peer:
        peer.sendall((head + "\r\n").encode())
        answer = b""
        while part := peer.recv(1 << 16):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body


def session_of(daemon):
    token = json.loads(daemon.ctl("--json", "page").stdout)["token"]
    return json.loads(get(daemon, "/session", token)[2])["session"]


def attach(daemon, photos, size, dtype="uint8", **fields):
    """A peer that holds all samples that fit into its ring, so all of them are finished."""
    layout, more = LISTS[dtype]
    peer = daemon.connect()
    answer = peer.attach(photos, transforms=[{"name": "Resize", "size": size}, *more], dtype=dtype,
                         layout=layout, shuffle=False, prefetch=3, inflight=3, **fields)
    assert answer.name == "attached", answer
    return peer


def pictures_of(body, count, height, width):
    """The pictures of a sheet, cut out of it."""
    sheet = numpy.asarray(Image.open(io.BytesIO(body)).convert("RGB"))
    assert sheet.shape == (-(-count // 6) * (height + 2) - 2, min(count, 6) * (width + 2) - 2, 3)
    return [sheet[i // 6 * (height + 2):, i % 6 * (width + 2):][:height, :width]
            for i in range(count)]


def bytes_of(image, dtype):
    """An array of the ring as pixels, with Normalize undone."""
    if dtype == "bfloat16":
        image = (image.astype(numpy.uint32) << 16).view(numpy.float32)
    if LISTS[dtype][0] == "NCHW":
        image = image.transpose(1, 2, 0)
    if LISTS[dtype][1]:
        image = image * numpy.float32([0.2, 0.3, 0.4]) + numpy.float32([0.5, 0.4, 0.3])
    return image if dtype == "uint8" else image.astype(numpy.float32) * 255


@pytest.mark.parametrize("dtype", LISTS)
def test_sheet_has_the_samples_of_the_ring(watched, photos, dtype):
    """All twelve that a trainer holds, in order; of uint8 byte for byte, else within one."""
    session = session_of(watched)
    with attach(watched, photos, [12, 10], dtype) as peer:
        held = [peer.expect("batch").fields["runs"] for _ in range(3)]
        status, headers, body = get(watched, f"/sheet/{peer.attached['stream']}", session)
        assert status == 200 and headers["Content-Type"] == "image/bmp"
        first, last = map(int, re.findall(r"epoch 0, position (\d+)", headers["Stoker-Samples"]))
        assert first == 0 and last == 11
        images = peer.ring.read([run for runs in held for run in runs])["image"]
        for shown, image in zip(pictures_of(body, 12, 12, 10), images):
            away = numpy.abs(shown - bytes_of(image, dtype).astype(numpy.float32))
            assert away.max() <= (0 if dtype == "uint8" else 1), dtype


def test_large_pictures_are_shrunk(watched, photos):
    """To at most 80 by 80 pixels, each the centre of its part of the picture."""
    session = session_of(watched)
    with attach(watched, photos, [300, 600]) as peer:
        held = [peer.expect("batch").fields["runs"] for _ in range(3)]
        _, _, body = get(watched, f"/sheet/{peer.attached['stream']}", session)
        images = peer.ring.read([run for runs in held for run in runs])["image"]
        rows, columns = ((2 * numpy.arange(n) + 1) * size // (2 * n)
                         for n, size in ((40, 300), (80, 600)))
        for shown, image in zip(pictures_of(body, 12, 40, 80), images):
            assert (shown == image[rows][:, columns]).all()
        assert len(body) < 200_000


def test_sheet_of_a_stream_with_views(watched, photos):
    session = session_of(watched)
    with attach(watched, photos, [12, 10], views=2) as peer:
        peer.expect("batch")
        wait_for(lambda: watched.status()["queued"] == 0, "all is made")
        assert get(watched, f"/sheet/{peer.attached['stream']}", session)[0] == 200


def test_the_sheet_needs_a_token(watched, photos):
    session = session_of(watched)
    with attach(watched, photos, [12, 10]) as peer:
        peer.expect("batch")
        target = f"/sheet/{peer.attached['stream']}"
        for token in (None, "0" * 32, session[:-1]):
            status, _, body = get(watched, target, token)
            assert status == 403 and b"stokerctl page" in body
        for other in ("/sheet/77", "/sheet/", "/sheet/1x", "/sheet/-1", "/sheets/1"):
            assert get(watched, other, session)[0] == 404
        status, headers, _ = get(watched, target, session)
        assert status == 200 and "Access-Control-Allow-Origin" not in headers
    watched.settle()
    assert get(watched, target, session)[0] == 404


@pytest.mark.skipif(not test_page.CHROMIUM, reason="there is no chromium")
def test_sheet_on_the_page(watched, browser, photos):
    """Behind a button, which only the link of `stokerctl page` shows."""
    with attach(watched, photos, [12, 10]) as peer:
        held = [peer.expect("batch").fields["runs"] for _ in range(3)]
        browser.open(watched.url)
        assert "Pictures" not in browser.shows(["names are hidden", "1 streams"])
        browser.open(test_page.link_of(watched))
        browser.shows(["Pictures", "Show the last ones"])
        browser.value("document.getElementById('show').click()")
        browser.shows(["epoch 0, position 0, to epoch 0, position 11"])
        shown = browser.value("[...document.getElementById('sheet').getContext('2d')"
                              ".getImageData(0, 0, 10, 12).data]")
        image = peer.ring.read(held[0])["image"][0]
        assert (numpy.reshape(shown, (12, 10, 4))[:, :, :3] == image).all()
        label = browser.value("document.getElementById('sheet').getAttribute('aria-label')")
        assert label == f"pictures of stream {peer.attached['stream']}"
    browser.shows(["Nobody reads"])
    wait_for(lambda: not browser.value("document.getElementById('which').value"), "no choice")
