"""A file is written whole or not at all; what exists and is no regular file is never replaced."""

from __future__ import annotations

import errno
import os
import pty
import socket
import stat
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import tiny_checkpoint

from viz_transformer.checkpoint.writing import OutputError, check_output, replace_file, write_file
from viz_transformer.measuring.evaluation import evaluate
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

COMMAND = "import sys; from viz_transformer.command import main; main(sys.argv[1:])"


def kind(path: Path) -> int:
    return stat.S_IFMT(path.lstat().st_mode)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def read(pipe: Path) -> Iterator[Callable[[], bytes]]:
    """All that was written into the pipe. Its reader is there before anything is written."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    content: list[bytes] = []
    writer = os.open(pipe, os.O_WRONLY)  # the reader meets no end before there is a beginning
    with os.fdopen(descriptor, "rb") as file:
        reader = threading.Thread(target=lambda: content.append(file.read()))
        reader.start()

        def result() -> bytes:
            os.close(writer)
            reader.join()
            return content[0]

        yield result
        reader.join()


def test_a_pipe_that_is_read_is_written_into_and_stays_a_pipe(pipe: Path, read: Callable[[], bytes]) -> None:
    content = bytes(range(256)) * 1000  # more than a pipe holds
    write_file(pipe, content)
    assert read() == content
    assert kind(pipe) == stat.S_IFIFO
    assert list(pipe.parent.iterdir()) == [pipe]


def test_a_link_to_a_pipe_stays_too(pipe: Path, read: Callable[[], bytes]) -> None:
    link = pipe.with_name("link")
    link.symlink_to(pipe)
    write_file(link, b"new")
    assert read() == b"new"
    assert (kind(link), kind(pipe)) == (stat.S_IFLNK, stat.S_IFIFO)


def test_a_pipe_that_nobody_reads_is_refused_and_not_waited_for(pipe: Path) -> None:
    with pytest.raises(OutputError, match="pipe cannot be written: nobody reads from this pipe: start what reads it"):
        write_file(pipe, b"new")
    assert kind(pipe) == stat.S_IFIFO


def test_a_trace_goes_through_a_pipe_whole(pipe: Path, read: Callable[[], bytes], tmp_path: Path) -> None:
    recorded = trace(tiny_checkpoint(), "abca", "uvu")
    recorded.save(pipe)
    (tmp_path / "run.safetensors").write_bytes(read())
    assert Trace.load(tmp_path / "run.safetensors").diff(recorded)["logits"] == 0.0
    assert kind(pipe) == stat.S_IFIFO


def test_a_terminal_is_written_into() -> None:
    """A terminal is the one device that everybody may make: it stands for /dev/null and /dev/full."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        device = Path(os.ttyname(slave))
        write_file(device, b"new")
        assert os.read(master, 100) == b"new"
        assert kind(device) == stat.S_IFCHR
    finally:
        os.close(master)
        os.close(slave)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name may have 107 characters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        with pytest.raises(OutputError, match="socket, which is not written to: give the name of a file"):
            check_output("socket")
        with pytest.raises(OutputError):
            write_file("socket", b"new")
    assert kind(tmp_path / "socket") == stat.S_IFSOCK


@pytest.mark.parametrize("target", ["file", "missing"])
def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / target).read_bytes() == b"new"


@pytest.mark.parametrize("name", ["loop", "a\0b", "x" * 300, "file/below", "none/file"])
def test_a_name_that_can_be_no_file_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        check_output(f"{tmp_path}/{name}")


def test_a_name_as_long_as_may_be_can_be_written(tmp_path: Path) -> None:
    write_file(tmp_path / ("x" * 255), b"new")
    assert (tmp_path / ("x" * 255)).read_bytes() == b"new"


def test_a_writing_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def fail(new: Path) -> None:
        new.write_bytes(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        replace_file(file, fail)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_is_on_the_disk_before_it_takes_the_old_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    done: list[tuple[str, int]] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor: int) -> None:
        done.append(("sync", os.fstat(descriptor).st_ino))
        sync(descriptor)

    def noted_replace(new: Path, old: Path) -> None:
        done.append(("replace", os.stat(new).st_ino))
        assert Path(new).read_bytes() == b"new" and Path(old).read_bytes() == b"old"
        replace(new, old)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_file(file, b"new")
    new, folder = file.stat().st_ino, tmp_path.stat().st_ino
    assert done == [("sync", new), ("replace", new), ("sync", folder)]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_as_such(tmp_path: Path, number: int) -> None:
    def fill(new: Path) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(OutputError, match="file cannot be written: the disk is full: make room, or write somewhere"):
        replace_file(tmp_path / "file", fill)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import SafetensorError

    from viz_transformer.checkpoint import weights

    def full(*args: object, **named: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(weights, "save_file", full)
    with pytest.raises(OutputError, match=r"run.safetensors cannot be written: the disk is full"):
        trace(tiny_checkpoint(), "abca", "uvu").save(tmp_path / "run.safetensors")


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions_are_those_of_a_new_file_or_of_the_old_one(tmp_path: Path, umask: int) -> None:
    recorded = trace(tiny_checkpoint(), "a", "u")
    before = os.umask(umask)
    try:
        for name, write in (("text", lambda path: write_file(path, b"x")), ("trace", recorded.save)):
            write(tmp_path / name)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask
            (tmp_path / name).chmod(0o640)
            write(tmp_path / name)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_the_wrong_answers_go_through_a_pipe_that_is_read(pipe: Path, read: Callable[[], bytes]) -> None:
    evaluate(tiny_checkpoint(), [("a", "zzz")], errors=pipe)
    assert read().startswith(b"a\t")
    assert kind(pipe) == stat.S_IFIFO


def test_the_command_writes_into_what_is_no_file(
    command: Callable[..., Any], pipe: Path, read: Callable[[], bytes]
) -> None:
    done = command("translate", "numbers-tiny", "3", "--beam", 2, "--tree", pipe)
    assert (done.status, done.err) == (0, "")
    assert read().startswith(b"{")
    assert kind(pipe) == stat.S_IFIFO
