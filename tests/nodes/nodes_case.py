"""What the tests on two nodes share: the nodes that scripts/two_nodes.sh makes on one machine, and decks for them."""

import atexit
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/commands"))
from command_test import MULTICARD, CommandTest, run, wait_for  # noqa: E402

SCRIPT = str(SOURCE / "scripts/two_nodes.sh")
SKIPPED = 77
CANNOT = 3  # exit code of the script where the machine does not allow nodes
MODEL = str(SOURCE / "tests/data/models/tinystories-656K")


class Nodes:
    """Two nodes of this process alone, which go with it."""

    def __init__(self):
        self.environment = {**os.environ, "MULTICARD_NODES": "mc%d" % os.getpid()}
        self.hosts = tuple("mc%d-%s" % (os.getpid(), node) for node in "ab")
        atexit.register(self.script, "down")

    def script(self, *words, **options):
        return subprocess.run([SCRIPT, *map(str, words)], env=self.environment, capture_output=True, text=True,
                              **options)

    def do(self, *words):
        done = self.script(*words)
        if done.returncode:
            raise AssertionError("%s: %s" % (words, done.stderr))
        return done.stdout

    def launch(self, counts, *arguments, network=None, environment=None, **options):
        """Starts multicard on "A,B" ranks, which connect over another network where one is named."""
        named = {"MULTICARD_NODES_NETWORK": network} if network else {}
        return subprocess.Popen([SCRIPT, "run", counts, MULTICARD, *map(str, arguments)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**self.environment, **named, **(environment or {})}, **options)

    def run(self, counts, *arguments, timeout=120, **options):
        process = self.launch(counts, *arguments, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise
        return process.returncode, out, err

    def bytes_sent(self):
        """Bytes that have left node a and node b."""
        return [int(word) for word in self.do("bytes").split()]

    def processes(self, node=None):
        """Process ids of what runs on a node, or on both."""
        hosts = self.hosts if node is None else [self.hosts["ab".index(node)]]
        found = []
        for host in hosts:
            done = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True)
            found += [int(word) for word in done.stdout.split()]
        return found

    def kill_all(self):
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


class NodesTest(CommandTest):
    nodes = None

    def tearDown(self):
        self.nodes.kill_all()
        self.nodes.do("limit", "none")
        self.nodes.do("restore")

    def metric(self, output, name="train_loss"):
        """As text, bit for bit."""
        return self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + name)

    def train(self, counts, output, *overrides, deck=None):
        """On ranks of two nodes ("1,1"), or on a number of ranks of this one; returns the losses as text."""
        words = ("run", deck or self.deck, "run.output=" + self.path(output), *overrides)
        done = run(counts, *words) if isinstance(counts, int) else self.nodes.run(counts, *words)
        self.assertEqual(done[0], 0, done[2])
        return self.metric(output)


def main():
    nodes = Nodes()
    made = nodes.script("up")
    if made.returncode == CANNOT:
        print("SKIPPED: " + made.stderr.strip())
        sys.exit(SKIPPED)
    if made.returncode:
        sys.exit(made.stderr)
    NodesTest.nodes = nodes
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
