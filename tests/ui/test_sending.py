"""What the server sends to a browser that has most of it already."""

from visiting import visit


def test_a_page_that_is_run_anew_is_sent_in_full(app_server: str) -> None:
    messages = list(visit(app_server, "playground", again=True))
    ends = [number for number, message in enumerate(messages) if message.WhichOneof("type") == "script_finished"]
    first, second = messages[: ends[0]], messages[ends[0] + 1 :]
    large = {message.hash for message in first if message.ByteSize() > 10_000}
    assert large & {message.hash for message in second}
    assert not [message.ref_hash for message in messages if message.ref_hash]
    assert not any(message.metadata.cacheable for message in messages)
