# SPDX-License-Identifier: MIT
"""Whose bytes a resize makes: Pillow 13's, unless the program, its token or the daemon's age says
else."""

import pytest
from test_resuming import first_token

# Of pictures of 60 x 45: the height shrinks, and the width does not.
TALL = [{"name": "Resize", "size": [15, 70], "interpolation": "bicubic"}]
ATTACH = {"dataset": {"path": "/data/20"}, "batch_size": 4, "epochs": 1}


@pytest.fixture(name="resized")
def fixture_resized(stream):
    return lambda **changed: stream(transforms=TALL, **changed)


def test_pillow_13_where_nothing_is_said(client, daemon, resized, truth):
    run = client.run(daemon.socket, resized())
    attached, _, batches = truth(resized(resize="pillow-13"))
    assert run.said("attached")[0]["pipeline"] == attached["pipeline_hash"]
    assert run.batches == batches
    assert run.token["description"]["resize"] == "pillow-13"


def test_pillow_12_on_request(client, daemon, resized, truth):
    run = client.run(daemon.socket, resized(resize="pillow-12"))
    attached, _, batches = truth(resized(resize=""))
    assert run.said("attached")[0]["pipeline"] == attached["pipeline_hash"]
    assert run.batches == batches != truth(resized(resize="pillow-13"))[2]
    assert run.token["description"]["resize"] == "pillow-12"


def test_a_token_without_a_word_is_of_pillow_12(client, daemon, resized, truth):
    """Of version 1, by a client that knew no others; the program is told."""
    attached, _, batches = truth(resized(resize=""))
    token = first_token(attached, {}, position=int(batches[3]["position"]))
    del token["resize"]
    rest = client.run(daemon.socket, resized(), token=token)
    assert rest.batches == batches[3:]
    assert rest.token["description"]["resize"] == "pillow-12"
    told = rest.said("attached")[0].get("note", "")
    assert (rest.warnings() + bytes.fromhex(told).decode()).count("that knew the resizes of") == 1


def test_a_token_says_whose_resizes_it_is_of(client, daemon, resized, truth):
    for resize in "pillow-12", "pillow-13":
        token = client.run(daemon.socket, resized(resize=resize), take=3).token
        rest = client.run(daemon.socket, resized(), token=token)
        assert rest.batches == truth(resized(resize=resize))[2][3:]


def test_a_token_of_the_other(client, daemon, resized):
    token = client.run(daemon.socket, resized(resize="pillow-12"), take=1).token
    client.start(daemon.socket, resized(resize="pillow-13"), token=token).fails("token")


def test_a_word_that_is_none(client, daemon, resized):
    client.start(daemon.socket, resized(resize="pillow-11")).fails("argument", "option")


def test_a_daemon_that_does_not_know_the_word(client, fake):
    """It is asked for nothing that it would ignore; who insists is told."""
    fake.hooks["say_welcome"] = lambda peer, fields: fields.update(capabilities=["fd", "path"])
    run = client.run(fake.path, ATTACH, take=1)
    seen = next(fields for name, fields in fake.seen if name == "attach")
    assert not seen.get("resize")
    assert run.token["description"]["resize"] == "pillow-12"
    run = client.start(fake.path, {**ATTACH, "resize": "pillow-13"})
    assert "older" in run.fails("option", "other")
