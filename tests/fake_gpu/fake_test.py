#!/usr/bin/env python3
"""The fake GPU itself: that what the other tests rely on is noticed. Calls it as a program does, from Python.

usage: fake_test.py NAME   runs one test class; see fake_run.py
"""

import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from fake_run import Counts, environment_of, main

PROLOGUE = """\
import ctypes, time
cuda = ctypes.CDLL("libcudart.so.13")
BYTES = 4096
pinned, device, stream, event = (ctypes.c_void_p() for _ in range(4))
def check(code): assert code == 0, code
check(cuda.cudaHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(BYTES), 0))
check(cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(BYTES)))
check(cuda.cudaStreamCreateWithPriority(ctypes.byref(stream), 1, 0))
check(cuda.cudaEventCreate(ctypes.byref(event)))
def copy(to, source): return cuda.cudaMemcpyAsync(to, source, ctypes.c_size_t(BYTES), 4, stream)
def byte_of(memory): return ctypes.string_at(memory, 1)[0]
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def work(_): time.sleep(0.3)
def keep_busy(): check(cuda.cudaLaunchHostFunc(stream, work, None))
"""


class Fake(unittest.TestCase):
    def calls(self, body, **settings):
        """Runs the statements on a fake GPU; what was said, and the counts."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", PROLOGUE + textwrap.dedent(body)], capture_output=True,
                                  text=True, env=environment_of(log=folder + "/log", **settings))
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr, Counts.of(Path(folder, "log.0"))

    def test_pinned_memory_that_changes_too_early_is_a_race(self):
        for delay, races in (("check(cuda.cudaStreamSynchronize(stream))", 0), ("", 1)):
            said, counts = self.calls("""
                keep_busy()
                check(copy(device, pinned))
                %s
                ctypes.memset(pinned, 1, BYTES)
                check(cuda.cudaStreamSynchronize(stream))
                """ % delay, is_async=True)
            self.assertEqual(counts.number("race"), races)
            self.assertEqual("race" in said, races > 0)

    def test_pinned_memory_that_is_read_too_early_holds_something_else(self):
        self.calls("""
            check(cuda.cudaMemset(device, 7, ctypes.c_size_t(BYTES)))
            keep_busy()
            check(copy(pinned, device))
            assert byte_of(pinned) == 0xfe
            check(cuda.cudaEventRecord(event, stream))
            check(cuda.cudaEventSynchronize(event))
            assert byte_of(pinned) == 7
            """, is_async=True)

    def test_an_event_is_as_old_as_the_work_after_it(self):
        _, counts = self.calls("""
            check(cuda.cudaEventRecord(event, stream))
            for _ in range(10): check(copy(device, pinned))
            check(cuda.cudaEventSynchronize(event))
            """)
        self.assertEqual(counts.event_wait_ages, [11])  # with the recording itself
        self.assertEqual(counts.live_events, 1)

    def test_blocking_and_pageable_copies_are_told_apart(self):
        _, counts = self.calls("""
            pageable = ctypes.create_string_buffer(BYTES)
            check(copy(device, pinned))
            check(copy(device, pageable))
            check(cuda.cudaMemcpy(pinned, device, ctypes.c_size_t(BYTES), 4))
            """)
        self.assertEqual(counts.calls["copy"], {"pinned -> device": 1, "pageable -> device": 1,
                                                "device -> pinned, blocking": 1})

    def test_memory_ends(self):
        _, counts = self.calls("""
            more = ctypes.c_void_p()
            assert cuda.cudaMalloc(ctypes.byref(more), ctypes.c_size_t(64 << 20)) == 2
            check(cuda.cudaMalloc(ctypes.byref(more), ctypes.c_size_t(16 << 20)))
            check(cuda.cudaFree(more))
            check(cuda.cudaMalloc(ctypes.byref(more), ctypes.c_size_t(24 << 20)))
            """, memory_mib=32)
        self.assertEqual(counts.peak_device_bytes, (24 << 20) + 4096)

    def test_a_driver_that_is_too_old_has_no_device(self):
        with self.assertRaisesRegex(AssertionError, "35"):  # cudaErrorInsufficientDriver
            self.calls("check(cuda.cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))", driver=12040)


if __name__ == "__main__":
    main()
