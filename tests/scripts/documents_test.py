#!/usr/bin/env python3
"""Facts in documents and batch scripts that nothing else would notice to be wrong. Standard library only.

usage: documents_test.py [unittest arguments]   MULTICARD_SOURCE is the tree, MULTICARD_BIN the folder of the programs.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = pathlib.Path(os.environ["MULTICARD_BIN"], "multicard")
DOCUMENTS = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]
KEYS_BY_NAME = ("administrators.md", "bridges.md", "from_nsight_torchrun.md", "from_torchtune_axolotl_trl.md",
                "tutorial.md")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
COMMAND = re.compile(r"^(?:`|(?:mpirun|srun) .*)?multicard ([a-z]+)", re.M)


class Documents(unittest.TestCase):
    def test_name_commands_that_exist(self):
        shown = subprocess.run([PROGRAM, "help"], capture_output=True, text=True, check=True).stdout
        commands = set(re.findall(r"^  ([a-z]+) ", shown, re.M)) | {"help"}
        self.assertIn("prepare", commands)
        for document in DOCUMENTS:
            code = "\n".join(CODE.findall(document.read_text(encoding="utf-8")))
            self.assertLessEqual(set(COMMAND.findall(code)), commands, document)

    def test_name_keys_that_exist(self):
        help_keys = [PROGRAM, "help", "keys", "--markdown"]
        shown = subprocess.run(help_keys, capture_output=True, text=True, check=True).stdout
        sections = dict(re.findall(r"<!-- keys of (\w+) -->\n(.*?)<!-- end", shown, re.S))
        keys = {f"{name}.{key}" for name, table in sections.items()
                for key in re.findall(r"^\| `([\w.]+)`", table, re.M)}
        self.assertIn("method.rank", keys)
        parents = {key.rpartition(".")[0] for key in keys}
        written = re.compile(rf"`(({'|'.join(set(sections) - {'top'})})\.[a-z_.]+)(?=[`:=])")
        for name in KEYS_BY_NAME:
            lines = (SOURCE / "docs" / name).read_text(encoding="utf-8").splitlines()
            own = "\n".join(line.rsplit(" | ", 1)[-1] for line in lines)  # other tools have the other columns
            self.assertEqual({key for key, _ in written.findall(own)} - keys - parents, set(), name)

    def test_name_every_variable_that_the_programs_read_or_set(self):
        read = re.compile(r'(?:getenv|setenv|variable|is_set|was_set)\("([A-Z][A-Z0-9_]*)"')
        listed = re.compile(r'for \(const (?:char\*|auto&?)[^:]*: ?\{([^}]*)\}')
        sources = [path.read_text(encoding="utf-8") for folder in ("modules", "app", "postproc")
                   for path in (SOURCE / folder).rglob("*.cpp")]
        text = "\n".join(sources)
        lists = "".join(listed.findall(text))
        names = set(read.findall(text)) | set(re.findall(r'"([A-Z][A-Z0-9]*_[A-Z0-9_]+)"', lists))
        launch = (SOURCE / "modules/comm/Launch.cpp").read_text(encoding="utf-8")
        names |= set(re.findall(r'"((?:MV2|MVP|MPI|PMI|PMIX|PALS|SLURM|OMPI|MPIRUN)_[A-Z_]+)"', launch))
        self.assertGreater(len(names), 40)
        page = (SOURCE / "docs/administrators.md").read_text(encoding="utf-8")
        self.assertEqual({name for name in names if f"`{name}`" not in page}, set())

    def test_name_the_last_checkpoint_that_the_example_has(self):
        """20,000 images in batches of 64 are 313 steps."""
        for name in ("evaluate.md", "watching.md"):
            steps = set(re.findall(r"step_(\d{8})", (SOURCE / "docs" / name).read_text(encoding="utf-8")))
            self.assertLessEqual(steps, {"00000313"}, name)


class ModulePicture(unittest.TestCase):
    def draw(self, root, *options):
        command = [sys.executable, SOURCE / "scripts/draw_modules.py", "--root", root, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def draw_tree(self, **declarations):
        """Draws modules a, b and c, in this order, with these declarations. Returns the exit status and the message."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"": "foreach(module IN ITEMS a b c)\nendforeach()\n"}
            files |= {program: f"target_link_libraries({program} multicard::c)\n" for program in ("app", "postproc")}
            files |= {f"modules/{m}": f"multicard_add_module({m} {declarations.get(m, '')})\n" for m in "abc"}
            for name, text in files.items():
                (root / name).mkdir(parents=True, exist_ok=True)
                (root / name / "CMakeLists.txt").write_text(text, encoding="utf-8")
            drawn = self.draw(root)
            return drawn.returncode, drawn.stderr

    def test_shows_what_cmake_declares(self):
        drawn = self.draw(SOURCE, "--check")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)

    def test_has_no_arrow_that_points_up(self):
        text = (SOURCE / "docs/figures/modules.svg").read_text(encoding="utf-8")
        paths = re.findall(r'<path d="M\d+,(\d+)[^"]*,(\d+)"', text)
        self.assertGreater(len(paths), 20)
        for begin, end in paths:
            self.assertLess(int(begin), int(end))

    def test_refuses_circles_and_dependencies_on_later_modules(self):
        self.assertEqual(self.draw_tree(b="PUBLIC multicard::a", c="PRIVATE multicard::b"), (0, ""))
        code, message = self.draw_tree(a="PRIVATE multicard::c", b="PUBLIC multicard::a", c="PUBLIC multicard::b")
        self.assertEqual((code, message), (1, "a and c depend on each other\n"))
        code, message = self.draw_tree(a="PUBLIC multicard::b")
        self.assertEqual((code, message), (1, "a depends on b, which stands after it in CMakeLists.txt\n"))


class Scripts(unittest.TestCase):
    def test_use_all_processors_although_a_rank_has_one_thread(self):
        count = ["bash", "-c", '. "$0/scripts/lib.sh" && processors', str(SOURCE)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        shown = subprocess.run(count, env=environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(int(shown), len(os.sched_getaffinity(0)))


class BatchScripts(unittest.TestCase):
    def test_have_a_line_for_each_thing_that_sites_ask_for(self):
        scripts = sorted(SOURCE.glob("slurm/*.sbatch"))
        self.assertGreater(len(scripts), 3)
        for script in scripts:
            text = script.read_text(encoding="utf-8")
            for line in ("#SBATCH --mem=", "##SBATCH --account=", "##SBATCH --partition=", "#SBATCH --gpus-per-node="):
                self.assertIn("\n" + line, text, script)


if __name__ == "__main__":
    unittest.main()
