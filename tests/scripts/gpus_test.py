#!/usr/bin/env python3
"""What the scripts make of the GPUs of a machine, with a made-up nvidia-smi. Standard library only.

usage: gpus_test.py [unittest arguments]   MULTICARD_SOURCE is the tree, MULTICARD_BUILD the build folder.
"""
import gzip
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  -L) cat {folder}/list ;;
  "-i "*pci.bus_id*) for one in $(echo "$2" | tr , ' '); do sed -n "$((one + 1))p" {folder}/bus; done ;;
  *pci.bus_id*) cat {folder}/bus ;;
esac
"""


class Machine(unittest.TestCase):
    """A machine with the GPUs that a test gives it."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-scripts.")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("SLURM") and name not in ("CUDA_VISIBLE_DEVICES", "MULTICARD_RANKS")}
        self.write("bin/nvidia-smi", NVIDIA_SMI.format(folder=self.folder), 0o755)
        self.environment["PATH"] = f"{self.folder}/bin:{os.environ['PATH']}"
        self.give_gpus([])

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def give_gpus(self, numa_nodes, slices=0):
        """One GPU for each number, which is its NUMA node."""
        lines, buses = [], []
        for index, node in enumerate(numa_nodes):
            lines.append(f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-{index})")
            lines += [f"  MIG 1g.10gb     Device  {i}: (UUID: MIG-{index}{i})" for i in range(slices)]
            buses.append(f"00000000:{index + 10}:00.0")
            self.write(f"sys/bus/pci/devices/0000:{index + 10}:00.0/numa_node", f"{node}\n")
        self.write("list", "".join(line + "\n" for line in lines))
        self.write("bus", "".join(bus + "\n" for bus in buses))

    def bash(self, script, status=0, **environment):
        command = ["bash", "-euo", "pipefail", "-c", script]
        result = subprocess.run(command, cwd=SOURCE, env={**self.environment, **environment}, capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout.strip() if status == 0 else result.stdout + result.stderr


class Ranks(Machine):
    def ranks(self, **environment):
        return self.bash(". scripts/lib.sh; echo $(num_gpus) $(ranks_to_try)", **environment)

    def test_as_many_as_gpus_two_at_most_two_on_the_cpu(self):
        expected = {0: "0 2", 1: "1 1", 2: "2 2", 4: "4 2", 8: "8 2"}
        for number, words in expected.items():
            self.give_gpus([0] * number)
            self.assertEqual(self.ranks(), words)

    def test_visible_devices_count(self):
        self.give_gpus([0] * 4)
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="3"), "1 1")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="0,1,2"), "3 2")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES=""), "0 2")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="-1"), "0 2")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="1,7,0"), "1 1")  # CUDA stops at what there is not

    def test_visible_devices_of_another_machine_do_not_count(self):
        self.give_gpus([0])
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="0,1,2,3"), "1 1")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="5"), "0 2")

    def test_a_process_sees_one_slice(self):
        self.give_gpus([0, 0], slices=7)
        self.assertEqual(self.ranks(), "1 1")
        self.assertEqual(self.ranks(CUDA_VISIBLE_DEVICES="MIG-1,MIG-2"), "1 1")

    def test_env_sets_them_unless_they_are_set(self):
        self.give_gpus([0])
        self.assertEqual(self.bash(". scripts/env.sh; echo $MULTICARD_RANKS"), "1")
        self.assertEqual(self.bash(". scripts/env.sh; echo $MULTICARD_RANKS", MULTICARD_RANKS="5"), "5")


class Setup(Machine):
    def missing_with(self, *options, free_kb=2 << 20):
        """setup.sh on a machine with everything but LibTorch, and a cache with `free_kb`: its words when it stops."""
        self.write("bin/df", f"#!/bin/sh\necho head\necho disk 1 1 {free_kb} 1% /\n", 0o755)
        cache = self.folder / "cache"
        self.environment.pop("TORCH_ROOT", None)
        return self.bash(f"scripts/setup.sh {' '.join(options)}", status=3, MULTICARD_CACHE=str(cache))

    def test_a_gpu_brings_the_cuda_libraries_and_their_need_of_space(self):
        self.assertIn("but LibTorch needs 4 GB", self.missing_with())
        self.give_gpus([0])
        said = self.missing_with()
        self.assertIn("nvidia-cudnn", said)
        self.assertIn("LibTorch with the CUDA libraries needs 9 GB", said)

    def test_no_gpu_leaves_them_out(self):
        self.give_gpus([0])
        self.assertNotIn("cudnn", self.missing_with("--no-gpu"))


class Binding(Machine):
    JOB = {"SLURM_NTASKS": "4", "SLURM_JOB_NUM_NODES": "1", "SLURM_CPUS_ON_NODE": "100000", "SLURM_GPUS_ON_NODE": "4"}

    def bind(self, **environment):
        script = ". slurm/common.sh; multicard_check_gpus; multicard_cpu_bind; echo $cpu_bind"
        return self.bash(script, MULTICARD_SYS=f"{self.folder}/sys", **{**self.JOB, **environment})

    def test_ranks_go_next_to_their_gpus(self):
        self.give_gpus([0, 0, 1, 1])
        self.assertEqual(self.bind(), "map_ldom:0,0,1,1")

    def test_the_gpus_of_the_job_count(self):
        self.give_gpus([0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(self.bind(CUDA_VISIBLE_DEVICES="4,5,6,7"), "map_ldom:1,1,1,1")
        self.assertEqual(self.bind(CUDA_VISIBLE_DEVICES="4,5"), "cores")

    def test_a_share_of_a_node_gets_cores(self):
        self.give_gpus([0, 0, 1, 1])
        self.assertEqual(self.bind(SLURM_CPUS_ON_NODE="1"), "cores" if os.cpu_count() > 1 else "map_ldom:0,0,1,1")

    def test_unknown_nodes_and_no_gpus_get_cores(self):
        self.assertEqual(self.bind(), "cores")
        self.give_gpus([-1, -1])
        self.assertEqual(self.bind(), "cores")

    def test_other_numbers_of_ranks_than_gpus_are_said(self):
        self.give_gpus([0, 1])
        said = self.bash(". slurm/common.sh; multicard_check_gpus 2>&1",
                         **{**self.JOB, "SLURM_NTASKS_PER_NODE": "2(x3)"})
        self.assertIn("2 ranks and 4 GPUs", said)


class BatchEnvironment(Machine):
    def setup_job(self, file, status=0):
        script = "set +e; . slurm/common.sh; multicard_setup deck.yaml; echo ${SITE:-none}"
        return self.bash(f"{{ {script}; }} 2>&1", status=status, **Binding.JOB, MULTICARD_ENV_FILE=file,
                         MULTICARD_ROOT=str(SOURCE), SLURM_JOB_ID="1", SLURM_JOB_NODELIST="a")

    def test_the_file_of_the_site_is_loaded(self):
        self.write("site.sh", "SITE=loaded\nfalse\n")
        self.assertTrue(self.setup_job(f"{self.folder}/site.sh").endswith("loaded"))
        self.assertIn("deck deck.yaml", self.setup_job(""))

    def test_a_missing_file_ends_the_job(self):
        self.assertIn(f"{self.folder}/none.sh cannot be read", self.setup_job(f"{self.folder}/none.sh", status=3))


class Decks(Machine):
    def words(self, *arguments):
        job = {**Binding.JOB, "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "a", "MULTICARD_ENV_FILE": "",
               "MULTICARD_ROOT": str(SOURCE)}
        words = " ".join(map(shlex.quote, arguments))
        script = f". slurm/common.sh; multicard_setup default.yaml {words} >&2; printf '%s\\n' \"${{words[@]}}\""
        return self.bash(script, **job).splitlines()

    def test_a_file_that_exists_is_the_deck_whatever_its_name(self):
        for name in ("lr=0.1/deck.yaml", "a b=[1]/deck", "--quick=*/deck.yml"):
            self.write(name, "task: image\n")
            deck = f"{self.folder}/{name}"
            self.assertEqual(self.words(deck, "run.epochs=1"), [deck, "run.epochs=1"])

    def test_an_override_is_not_the_deck(self):
        self.write("other.yaml", "")
        for word in ("run.epochs=3", "optimizer.betas=[0.8, 0.99]", f"tasks.1.deck={self.folder}/other.yaml"):
            self.assertEqual(self.words(word), ["default.yaml", word])
        self.assertEqual(self.words(), ["default.yaml"])

    def test_a_deck_that_is_missing_is_named_by_the_program(self):
        for name in ("none.yaml", "lr=0.1/none.yaml", "none"):
            self.assertEqual(self.words(name), [name])


class Help(Machine):
    def test_is_printed_without_an_error(self):
        for command in ("scripts/check_bundle.sh --help", "scripts/bundle.sh --help", "scripts/update_docs.py --help"):
            self.assertIn("usage: ", self.bash(command))

    def test_an_option_without_its_value_is_a_wrong_usage(self):
        for option in ("-o", "--build"):
            self.assertIn(f"{option} needs a value", self.bash(f"scripts/bundle.sh {option}", status=2))


@unittest.skipUnless(os.environ.get("MULTICARD_BUILD"), "MULTICARD_BUILD is not set")
class GpuDay(Machine):
    def day(self, *options, status=0):
        return self.bash(f"scripts/gpu_day.sh -o {self.folder}/day {' '.join(options)} 2>&1", status=status)

    def state(self):
        return (self.folder / "day/state").read_text()

    def test_without_a_gpu_it_says_so(self):
        self.assertIn("no GPU here", self.day(status=77))

    def test_a_part_that_has_passed_is_not_repeated(self):
        self.assertRegex(self.day("--device cpu", "--part machine"), r"machine +\d+ s  passed")
        self.assertIn("GPU path", (self.folder / "day/machine.log").read_text())
        self.assertRegex(self.state(), r"^machine cpu \d+ passed\n$")
        again = self.day("--device cpu", "--parts 'machine build'")
        self.assertIn("machine: passed in an earlier run", again)
        self.assertRegex(again, r"build +\d+ s  skipped")
        self.assertRegex(self.day("--list"), r"machine  .*  not run yet")  # on a GPU
        self.assertRegex(self.day("--list", "--device cpu"), r"machine  .*  passed")
        self.assertNotIn("earlier run", self.day("--device cpu", "--part machine", "--again"))
        self.assertEqual(len(self.state().splitlines()), 2)

    def test_a_part_that_takes_too_long_is_ended_and_the_next_runs(self):
        said = self.day("--device cpu", "--parts 'llm build'", "--limit 0.1", status=1)
        self.assertRegex(said, r"llm +\d+ s  over its limit of 0.1 s")
        self.assertRegex(said, r"build +\d+ s  skipped")

    def test_a_part_that_fails_is_named_and_run_again(self):
        for attempt in range(2):
            said = self.day("--device cpu", "--part image", "--image-options --nonsense", status=1)
            self.assertRegex(said, r"image +\d+ s  failed \(2\): .*unknown option --nonsense", attempt)

    def test_an_unknown_part_is_a_wrong_usage(self):
        self.assertIn("no part is called imagee", self.day("--part imagee", status=2))


class Benchmarks(Machine):
    def test_images_are_made_where_there_are_none(self):
        source = (SOURCE / "bench/idx_images.py").read_text(encoding="utf-8").replace("20000", "50")
        self.write("bench/idx_images.py", source)
        self.bash(f"python3 {self.folder}/bench/idx_images.py --random {self.folder}/random")
        self.bash(f"python3 {self.folder}/bench/idx_images.py --first {self.folder}/random {self.folder}/first")
        for name, size in (("images-idx3", 16 + 50 * 784), ("labels-idx1", 8 + 50)):
            random, first = (gzip.decompress((self.folder / f"{folder}/train-{name}-ubyte.gz").read_bytes())
                             for folder in ("random", "first"))
            self.assertEqual(len(random), size)
            self.assertEqual(random, first)

    def test_what_fails_while_it_is_measured_ends_the_benchmark(self):
        script = (". scripts/lib.sh; . scripts/peers.sh; measured() { false; echo numbers; }; "
                  "value=$(measured); echo \"went on with $value\"")
        self.assertNotIn("went on", self.bash(script, status=1))


if __name__ == "__main__":
    unittest.main()
