"""Locks: readers ask without keeping a writer out, and without hiding from each other that nobody writes."""

import os
import subprocess
import sys
import threading
import time

import pytest

from jaxgait.ensembles import locks

fcntl = pytest.importorskip("fcntl")


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "lock"
    place.touch()
    return place


def test_a_second_writer_is_kept_out_and_a_dead_one_keeps_nobody_out(file, monkeypatch):
    code = f"import fcntl; f = open({str(file)!r}, 'r+'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    monkeypatch.setattr(locks, "PATIENCE", 0.02)
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        assert not locks.is_free(file)
        with pytest.raises(BlockingIOError), locks.exclusive(file):
            pass
        other.kill()
        other.wait()
    with locks.exclusive(file):
        assert not locks.is_free(file), "also within one process"
    assert locks.is_free(file)


def test_a_process_forked_meanwhile_does_not_keep_the_file_locked(file, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.02)
    begin, end = os.pipe()
    with locks.exclusive(file):
        child = os.fork()
        if not child:
            os.close(end)
            os.read(begin, 1)  # until its parent has closed the other end
            os._exit(0)
    try:
        assert locks.is_free(file)
        with locks.exclusive(file):
            pass
    finally:
        os.close(end)
        os.waitpid(child, 0)


def test_readers_do_not_hide_from_each_other_that_nobody_writes(file):
    with open(file) as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert locks.is_free(file)


def test_a_writer_waits_for_a_reader_who_asks(file):
    with open(file) as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        leaves = threading.Timer(0.05, fcntl.flock, (reader, fcntl.LOCK_UN))
        leaves.start()
        begin = time.monotonic()
        with locks.exclusive(file):
            assert time.monotonic() - begin >= 0.04
        leaves.join()


def test_writers_begin_while_readers_ask_all_the_time(file):
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            assert locks.is_free(file) in (True, False)

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        for _ in range(20):
            with locks.exclusive(file):
                pass
    finally:
        stop.set()
        reader.join()


def test_what_cannot_be_found_out_is_not_free(file, monkeypatch):
    assert locks.is_free(file.with_name("missing"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError()))
        assert not locks.is_free(file)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert not locks.is_free(file)
    with locks.exclusive(file):
        pass
