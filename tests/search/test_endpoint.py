"""The client of language models, against a real server that hangs, fails, breaks off, lies or redirects."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from endpoints import endpoint_server
from porism.search.generation.endpoint import Endpoint, EndpointError, Message, Sampling, address

SAMPLING = Sampling(50, 0.7)
QUESTION = (Message("user", "why?"),)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint_server() as url:
        yield url


def endpoint(server: str, behaviour: str, seconds: float = 5.0) -> Endpoint:
    return Endpoint(f"{server}/{behaviour}/v1/chat/completions", "tiny", "secret", seconds)


def test_a_reply_has_text_end_and_counts(server: str) -> None:
    made = endpoint(server, "good").chat(QUESTION, SAMPLING)
    assert made.text.startswith("It is irrational")
    assert (made.finished, made.prompt_tokens) == (True, 100)
    assert endpoint(server, "unfinished").complete("Q: why?\n\nA:", SAMPLING).finished is False


def test_a_request_has_model_key_and_settings(server: str) -> None:
    sent = json.loads(endpoint(server, "echo").chat(QUESTION, SAMPLING).text)
    assert (sent["model"], sent["key"], sent["max_tokens"], sent["temperature"]) == ("tiny", "Bearer secret", 50, 0.7)
    assert sent["messages"] == [{"role": "user", "content": "why?"}]
    assert json.loads(endpoint(server, "echo").complete("Q:", Sampling(5)).text)["prompt"] == "Q:"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("fail", "status 500: out of memory [31m"),
        ("refuse", "status 401: no key"),
        ("nonsense", "the reply is not JSON: '<html>not json'"),
        ("deep", "the reply is not JSON"),
        ("other-json", "the reply has no text at choices[0].message.content"),
        ("list", "the reply has no text at choices[0].message.content: '[]'"),
        ("redirect", "redirects to /good/v1/chat/completions"),
        ("huge", "cannot be reached: the reply is larger than 1,000,000 bytes"),
        ("half-body", "cannot be reached: the connection was closed in the middle of the reply"),
    ],
)
def test_a_reply_that_is_no_answer_is_explained(server: str, behaviour: str, message: str) -> None:
    with pytest.raises(EndpointError) as caught:
        endpoint(server, behaviour).chat(QUESTION, SAMPLING)
    assert caught.value.message.startswith(message)
    assert caught.value.where == f"the endpoint {server}/{behaviour}/v1/chat/completions"
    assert caught.value.fix
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("behaviour", ["hang", "drip", "drip-headers"])
def test_an_endpoint_that_never_ends_is_left(server: str, behaviour: str) -> None:
    began = time.monotonic()
    with pytest.raises(EndpointError, match=r"no complete answer within 0\.5 seconds"):
        endpoint(server, behaviour, 0.5).chat(QUESTION, SAMPLING)
    assert time.monotonic() - began < 15  # the server would take 20 seconds


def test_a_stream_comes_in_pieces(server: str) -> None:
    pieces = list(endpoint(server, "good").stream(QUESTION, SAMPLING))
    assert len(pieces) > 5
    assert "".join(pieces).startswith("It is irrational")
    assert len(list(endpoint(server, "whole-instead").stream(QUESTION, SAMPLING))) == 1


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("half-stream", "the answer broke off before its end"),
        ("error-stream", "the stream reports an error: the model crashed"),
        ("nonsense-stream", "the reply is not JSON: '{oops'"),
        ("hang", "no complete answer within 0.5 seconds"),
    ],
)
def test_a_stream_that_breaks_off_is_an_error(server: str, behaviour: str, message: str) -> None:
    with pytest.raises(EndpointError) as caught:
        list(endpoint(server, behaviour, 0.5 if behaviour == "hang" else 5).stream(QUESTION, SAMPLING))
    assert caught.value.message == message


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(EndpointError, match="cannot be reached: Connection refused") as caught:
        Endpoint("http://127.0.0.1:9/v1/completions", "tiny", seconds=2).complete("Q:", SAMPLING)
    assert caught.value.may_pass


@pytest.mark.parametrize("url", ["", "localhost:80", "file:///etc/passwd", "http://", "http://a b/", "http://x:70000/"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(EndpointError) as caught:
        Endpoint(url, "tiny").complete("Q:", SAMPLING)
    assert caught.value.fix.startswith("write an address as http://")


def test_messages_show_no_password() -> None:
    assert address("https://me:secret@example.org:8443/v1?key=1") == "https://example.org:8443/v1"
