#!/usr/bin/env python3
"""How the program is started: by the launcher of another MPI, inside a Slurm step, on a machine without ssh. Standard
library only.

usage: launch_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest, launch, ranks_of, wait_for
from tuning_case import MODEL

LAUNCHERS = ("PMI_", "PMIX_", "MPI_", "MV2_", "MVP_", "SLURM_", "PALS_", "OMPI_COMM_")
MPICH = {"PMI_SIZE": "2", "PMI_RANK": "0", "PMI_FD": "9", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "0"}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4",
         "SLURM_PROCID": "0"}


class Start(CommandTest):
    def start(self, *command, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=60,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def prepare_words(self, name):
        return [MULTICARD, "prepare", "images", "--format", "synthetic", "--limit", "8", "-o", self.path(name)]

    def test_every_command_refuses_another_launcher_before_it_writes(self):
        for command in (self.prepare_words("a"), [MULTICARD, "run", self.deck], [MULTICARD, "plan", self.deck],
                        [MULTICARD, "export", self.path("a"), self.path("b")], [MULTICARD, "info"]):
            said = self.expect(3, self.start(*command, **MPICH), "MPICH", r"MPI_LOCALNRANKS=2", r"Open MPI's mpirun")
            self.assertEqual(said[1], "")
        self.assertEqual(os.listdir(self.scratch), ["deck.yaml"])

    def test_one_rank_alone_in_a_slurm_step_is_refused(self):
        self.expect(3, self.start(*self.prepare_words("a"), **SLURM), "SLURM_STEP_NUM_TASKS=4", "--mpi=pmix")

    def test_its_own_mpirun_starts_one_rank_inside_others(self):
        for name, outer in (("a", MPICH), ("b", SLURM)):
            options = ["--mca", "ras", "^slurm", "--mca", "plm", "isolated"]
            self.expect(0, self.start("mpirun", *options, "-n", "1", *self.prepare_words(name), **outer))

    def test_a_rank_that_stops_before_mpi_starts_or_before_it_ends_is_5(self):
        stop_first = 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then kill -STOP $$; fi; exec "$0" info'
        environment = {**os.environ, "MULTICARD_TIMEOUT_S": "5"}
        done = subprocess.run(["mpirun", "-n", "2", "sh", "-c", stop_first, MULTICARD], capture_output=True, text=True,
                              timeout=60, env=environment)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("MPI did not start within 5 s", done.stderr)
        process = launch(2, "tokenize", MODEL, stdin=subprocess.PIPE, env=environment)  # rank 0 reads, rank 1 is done
        wait_for(lambda: len(ranks_of(process)) == 2)
        time.sleep(2)
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        wait_for(lambda: process.poll() is not None)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5, err)

    def folder_without_ssh(self):
        """A PATH with what Open MPI starts, and nothing else."""
        folder = Path(self.path("bin"))
        folder.mkdir()
        for name in ("mpirun", "orted", "false", "bash", "id", "dirname"):
            (folder / name).symlink_to(shutil.which(name))
        return str(folder)

    def test_starts_without_ssh_and_rsh(self):
        path = self.folder_without_ssh()
        self.expect(0, self.start(*self.prepare_words("a"), PATH=path))
        settings = Path(os.environ["MULTICARD_SOURCE"], "scripts/env.sh")
        line = f'. {settings}; exec mpirun -n 2 "$@"'
        self.expect(0, self.start("bash", "-c", line, "bash", *self.prepare_words("b"), PATH=path))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
