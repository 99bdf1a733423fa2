#!/usr/bin/env python3
"""Plants one violation of each kind in a small tree and expects check_style.py to name exactly that line."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).with_name("check_style.py")
CLEAN = {
    "CMakeLists.txt": "foreach(module IN ITEMS base comm io device nn)\nendforeach()\n",
    "modules/base/CMakeLists.txt": "multicard_add_module(base SOURCES Error.cpp)\n",
    "modules/comm/CMakeLists.txt": "multicard_add_module(comm PUBLIC multicard::base PRIVATE multicard_mpi)\n",
    "modules/io/CMakeLists.txt": "multicard_add_module(io SOURCES File.cpp PRIVATE multicard::comm)\n",
    "modules/device/CMakeLists.txt": "multicard_add_module(device SOURCES Gpu_cuda.cpp PUBLIC multicard::base)\n",
    "modules/nn/CMakeLists.txt": "multicard_add_module(nn SOURCES Net.cpp PUBLIC multicard::device)\n",
    "modules/comm/Native.hpp": "#include <mpi.h>\n",
    "modules/comm/Impl.hpp": "#include <mpi.h>\n",
    "modules/io/File.cpp": '#include <hdf5.h>\n#include "comm/Native.hpp"\n',
    "modules/device/Gpu_cuda.cpp": "#include <cuda_runtime_api.h>\n",
    "modules/device/Gpu_disabled.cpp": "int gpu() { return 0; }\n",
    "modules/nn/Net.cpp": '#include <ATen/core/Tensor.h>\n#include "base/Error.hpp"\n'
                          "#if defined(__AVX512F__)\nnamespace a {\n#if defined(B)\nint b();\n#endif\n}\n#endif\n",
}


def violations(rule, changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, str(CHECKER), rule, "--root", folder]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line for line in run.stdout.splitlines() if not line.startswith((rule + ":", "note:"))]
        assert run.returncode == (1 if lines else 0), run
        return lines


class CheckStyle(unittest.TestCase):
    def finds(self, rule, name, text, line, message):
        found = violations(rule, {name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{name}:{line}:"), found)
        self.assertIn(message, found[0])

    def test_a_clean_tree_has_no_violations(self):
        for rule in ("modules", "third-party", "conditionals", "words", "length", "functions", "shell"):
            self.assertEqual(violations(rule, {}), [])

    def test_threads_are_started_in_one_place(self):
        text = "void f() {\n  std::thread worker([] {});\n}\n"
        self.finds("third-party", "modules/nn/Net.cpp", text, 2, "start_thread")
        self.assertEqual(violations("third-party", {"modules/base/Thread.cpp": "std::thread worker([] {});\n"}), [])

    def test_quaint_words_are_named(self):
        self.finds("words", "docs/a.md", "Fine.\nMend it.\n", 2, "plain technical English")
        for line in ("It starts anew.", "It goes on from the newest checkpoint.", "It continues from a checkpoint.",
                     "with drawn weights", "It goes on.", "The state travels to rank 1."):
            self.finds("words", "docs/a.md", f"Fine.\n{line}\n", 2, "plain technical English")
        fine = "It continues from step 3. Weights are drawn.\n"
        self.assertEqual(violations("words", {"docs/a.md": fine}), [])

    def test_quaint_words_are_found_in_names_too(self):
        for line in ("The file beside it.", "int rows_beside(int a);", "TEST(Row, NobodyReadsIt) {", "kBehindAll",
                     "set(BESIDE_OTHERS 1)", "A rank tells the others.", "// on so many ranks", "Somebody has it."):
            for name in ("docs/a.md", "tests/unit/nn/Net.test.cpp", "inputs/a.yaml"):
                self.finds("words", name, f"Fine.\n{line}\n", 2, "plain technical English")
        fine = ("Besides, statistics lag behind weights.\nfile.tellp();\nstd::string hotels;\n"
                "There are so many files that it takes a minute.\n")
        self.assertEqual(violations("words", {"docs/a.md": fine, "inputs/text/a.jsonl": "She tells a story.\n",
                                              "CHANGELOG.md": "- The file beside it.\n"}), [])

    def test_home_made_identifiers_are_named(self):
        for word, term in (("start_sum(flat)", "all_reduce"), ("Wire wire = Wire::same;", "CommDtype"),
                           ("double patience_s = 5;", "timeout"), ("Meeting meeting_;", "AsyncBarrier"),
                           ("find_speaker(a);", "ModelSource"), ("Ledger ledger_;", "CommStats"),
                           ('#include "dist/NodeSum.hpp"', "AllReduce"), ("const SetMix& mix();", "DatasetMixture"),
                           ("check_same_run(a, b);", "Resume")):
            self.finds("words", "modules/nn/Other.cpp", f"\n{word}\n", 2, "the field says")
            self.finds("words", "modules/nn/Other.cpp", f"\n{word}\n", 2, term)
            self.finds("words", "cmake/Other.cmake", f"\n{word}\n", 2, "the field says")
        fine = "int wire_type = 3;\nbool is_lawful = wired();\nint patience = 2;\nvoid sum_rows();\n"
        self.assertEqual(violations("words", {"modules/nn/Other.cpp": fine, "docs/a.md": "A Survey of Laws.\n"}), [])

    def test_home_made_names_may_be_words_of_a_comment(self):
        for code, term in (("StrategyParts with_;", "parts_"), ("int f(const Options& how);", "options")):
            self.finds("words", "modules/nn/Other.cpp", f"\n{code}\n", 2, term)
        fine = 'int a = 0;  // how it begins\nconst char* b = "how it ends";\n'
        self.assertEqual(violations("words", {"modules/nn/Other.cpp": fine}), [])

    def test_a_module_may_not_include_one_after_it(self):
        self.finds("modules", "modules/base/Error.cpp", '\n#include "nn/Net.hpp"\n', 2, "stands after")

    def test_a_module_must_declare_what_it_includes(self):
        self.finds("modules", "modules/nn/Other.cpp", '#include "io/File.hpp"\n', 1, "does not declare")

    def test_a_private_dependency_stays_out_of_headers(self):
        self.finds("modules", "modules/io/File.hpp", '#include "comm/Mpi.hpp"\n', 1, "PRIVATE")

    def test_a_dependency_does_not_hand_on_its_private_ones(self):
        found = violations("modules", {"modules/nn/CMakeLists.txt": "multicard_add_module(nn PUBLIC multicard::io)\n",
                                       "modules/nn/Net.cpp": '#include "comm/Mpi.hpp"\n'})
        self.assertEqual(len(found), 1, found)

    def test_postproc_uses_three_modules_only(self):
        self.finds("modules", "postproc/Page.cpp", '#include "comm/Mpi.hpp"\n', 1, "postproc")

    def test_folders_of_postproc_have_an_order(self):
        for name, included, message in (("study/Study.cpp", "page/Html.hpp", "study may include reduce"),
                                        ("draw/Svg.hpp", "reduce/Reduce.hpp", "none of the others"),
                                        ("reduce/Reduce.cpp", "Wiring.hpp", "none of the others")):
            self.finds("modules", f"postproc/{name}", f'\n#include "postproc/{included}"\n', 2, message)
        self.finds("modules", "postproc/more/More.cpp", "\n", 1, "not one of")
        clean = {"postproc/main.cpp": '#include "postproc/page/Report.hpp"\n',
                 "postproc/figures/Lines.cpp": '#include "postproc/figures/Lines.hpp"\n'
                                               '#include "postproc/draw/Canvas.hpp"\n'}
        self.assertEqual(violations("modules", clean), [])

    def test_mpi_stays_in_comm(self):
        self.finds("third-party", "modules/nn/Other.cpp", "#include <mpi.h>\n", 1, "only comm")

    def test_a_header_that_shows_mpi_is_private(self):
        self.finds("third-party", "modules/io/Other.cpp", '#include "comm/Impl.hpp"\n', 1, "private to comm")

    def test_the_bridge_to_mpi_stays_out_of_headers(self):
        self.finds("third-party", "modules/io/Other.hpp", '#include "comm/Native.hpp"\n', 1, "only .cpp")

    def test_torch_begins_with_device(self):
        self.finds("third-party", "modules/comm/Other.cpp", "#include <ATen/ops/add.h>\n", 1, "begins with module")

    def test_the_whole_torch_header_is_refused(self):
        self.finds("third-party", "modules/nn/Other.cpp", "#include <torch/torch.h>\n", 1, "16 s")

    def test_gpu_headers_need_a_twin(self):
        self.finds("third-party", "modules/device/Other.cpp", "#include <nccl.h>\n", 1, "twin")

    def test_headers_that_show_gpu_headers_are_for_backends(self):
        changes = {"modules/device/Inner.hpp": "#include <nccl.h>\n",
                   "modules/device/Outer.hpp": '#include "device/Inner.hpp"\n',
                   "modules/device/Fine_cuda.cpp": '#include "device/Outer.hpp"\n',
                   "modules/device/Wrong.cpp": '#include "device/Outer.hpp"\n'}
        found = violations("third-party", changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("modules/device/Wrong.cpp:1:"), found)

    def test_conditionals_stay_out_of_functions(self):
        text = "namespace a {\nclass B {\n  int c() {\n#ifdef D\n    return 1;\n#endif\n    return 0;\n  }\n};\n}\n"
        self.finds("conditionals", "modules/nn/Other.cpp", text, 4, "inside a function")

    def test_absolute_paths_of_a_machine_are_found(self):
        self.finds("words", "docs/page.md", "one\nsee /ho" + "me/someone/multicard\n", 2, "absolute path")

    def test_long_files_are_found(self):
        self.finds("length", "modules/nn/Other.cpp", "\n" * 301, 1, "301 lines")
        self.finds("length", "tests/unit/nn/Other.test.cpp", "\n" * 401, 1, "401 lines")
        self.assertEqual(violations("length", {"tests/unit/nn/Other.test.cpp": "\n" * 400,
                                               "modules/text/unicode/UnicodeClassTable.cpp": "\n" * 301}), [])

    def test_long_lines_are_found(self):
        for name in ("cmake/Other.cmake", "modules/nn/CMakeLists.txt", "scripts/other.py", "slurm/other.sbatch"):
            self.finds("length", name, "\n#" + "a" * 120 + "\n", 2, "121 columns")

    def test_cuda_sources_are_checked_like_cpp(self):
        self.finds("functions", "modules/nn/Other.cu", "void f() {\n" + "  g();\n" * 50 + "}\n", 1, "52 lines")
        self.finds("modules", "modules/base/Error.cu", '\n#include "nn/Net.hpp"\n', 2, "stands after")

    def test_types_of_one_name_are_found(self):
        one, two = "struct Step {\n};\n", "class Other;\nstruct Step final : Base {\n};\n"
        self.assertEqual(len(violations("names", {"modules/nn/A.hpp": one, "modules/data/B.hpp": two})), 1)
        inner = "struct Step::Impl {\n};\n"
        self.assertEqual(violations("names", {"modules/nn/A.hpp": one, "modules/nn/B.hpp": inner}), [])

    def test_long_functions_are_found(self):
        before = "namespace a {\n\nconst std::map<int, int> kAll{{f(1), 2},\n" + "{3, 4},\n" * 60 + "};\n\n"
        function = "B::B(int c)\n    : d_{c}, e_(2) {\n  if (c) {\n  }\n" + "  f();\n" * 45
        self.assertEqual(violations("functions", {"modules/nn/Other.cpp": before + function + "}\n}\n"}), [])
        self.finds("functions", "modules/nn/Other.cpp", before + function + "\n}\n}\n", 66, "51 lines")

    def test_wrong_shell_syntax_is_found(self):
        self.assertTrue(violations("shell", {"scripts/x.sh": "#!/bin/bash\nif true; then\n"}))


if __name__ == "__main__":
    unittest.main()
