from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attack import sessions
from attack.__main__ import served

Server = tuple[str, Path, int]
"""Its address, its log, its process."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served() as found:
        yield found


@pytest.mark.slow
def test_all_pages_can_be_opened_in_the_same_moment_while_the_server_is_cold() -> None:
    with served() as (address, log, _):
        sessions.all_pages_at_once(address, log)


@pytest.mark.slow
def test_a_session_of_150_texts_needs_no_more_memory_than_one_of_30(server: Server) -> None:
    """`make attack` asks more of them."""
    sessions.one_who_never_stops(*server, texts=150)


@pytest.mark.slow
def test_six_models_in_turn_need_no_more_memory_after_100_views_than_after_60(server: Server) -> None:
    sessions.models_in_turn(*server, views=100)


@pytest.mark.slow
def test_several_sessions_are_answered_at_once(server: Server) -> None:
    found = sessions.crowd(*server, people=4, minutes=0.05, thinking=0.1)
    assert len(found.seconds) >= 4
