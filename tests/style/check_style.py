#!/usr/bin/env python3
"""Checks the source tree against the rules of CONTRIBUTING.md that a compiler does not check.

usage: check_style.py [RULE ...] [--root FOLDER]

RULE is one of modules, third-party, conditionals, format, shell, words, length, functions, names (default: all).
Prints violations as FILE:LINE: MESSAGE and ends with 1 if there is one; a rule whose tool is not installed says so and
ends with 77.
"""
import argparse
import pathlib
import re
import shutil
import sys

from names import check_names
from lengths import check_functions, check_length
from source_tree import Tree, run_tool, without_comments_and_strings
from words import HOME_MADE, HOME_MADE_NAMES, QUAINT, QUAINT_PARTS

SKIPPED = 77
CLANG_FORMAT_MAJOR = "14"  # other versions lay the same settings out differently

STARTS_THREAD = re.compile(r"std::(?:j?thread|async)\s*(?:\w+\s*)?[({]")
# header pattern -> modules whose own files may include it. A header that does is private to its module.
THIRD_PARTY = {
    r"mpi\.h$": {"comm"},
    r"hdf5(_hl)?\.h$|H5\w+\.h$": {"io"},
    r"yaml-cpp/": {"config"},
    r"spdlog/": {"base"},
    r"openssl/": {"io"},
    r"zlib\.h$": {"prepare"},
    r"(pcre2|utf8proc)\.h$": {"text"},
    r"libqhull_r/": {"scheduling"},
    r"Eigen/": {"scheduling"},
    r"(simdjson|libdeflate)\.h$": {"profile"},
    r"(png|jpeglib|turbojpeg)\.h$": {"prepare"},
}
GPU_HEADER = re.compile(r"^(cuda|nccl|cupti|nvml|nvtx|cudnn|cublas)|^(ATen|c10)/cuda/")
TORCH_HEADER = re.compile(r"^(ATen|c10|torch)/")
FIRST_TORCH_MODULE = "device"
PRIVATE_BRIDGES = {"comm/Native.hpp": {"comm", "io", "dist"}}  # shown to these modules, in .cpp files only
POSTPROC_MODULES = {"base", "cli", "findings", "io", "profile", "results", "scheduling"}
# The keys that the program was built with, torch-free; ending on signals without half-written files.
POSTPROC_MAIN_HEADERS = {"tasks/options/SettingKeys.hpp", "comm/AbortOnSignal.hpp", "comm/Signals.hpp"}
FOLDERS = {  # root of ordered folders, and how includes name it -> folder -> the others that its files may include
    ("postproc", "postproc"): {
        "reduce": set(),
        "draw": set(),
        "study": {"reduce"},
        "figures": {"reduce", "draw", "study"},
        "page": {"reduce", "draw", "study", "figures"},
        "trace": {"reduce", "page"},
    },
    ("modules/text", "text"): {
        "unicode": set(),
        "regex": {"unicode"},
        "jinja": {"unicode"},
        "tokenizer": {"unicode", "regex"},
        "prompts": {"unicode", "jinja", "tokenizer"},
    },
    ("modules/data", "data"): {
        "shards": set(),
        "loading": {"shards"},
    },
    ("modules/prepare", "prepare"): {
        "files": set(),
        "images": {"files"},
        "records": {"files"},
        "sets": {"files", "images", "records"},
    },
    ("modules/nn", "nn"): {
        "options": set(),
        "layers": set(),
        "losses": {"options"},
        "vision": {"layers"},
        "language": {"layers", "losses"},
    },
    ("modules/tasks", "tasks"): {
        "options": set(),
        "interface": {"options"},
        "images": {"options", "interface"},
        "language": {"options", "interface"},
        "setup": {"options", "interface", "images", "language"},
    },
    ("modules/profile", "profile"): {
        "trace": set(),
    },
    ("modules/scheduling", "scheduling"): {
        "rates": set(),
        "model": {"rates"},
        "solve": {"rates", "model"},
        "policy": {"rates", "model", "solve"},
        "replay": {"rates", "model", "solve", "policy"},
        "plan": {"rates", "model", "solve", "policy", "replay"},
    },
}


class Modules:
    """The module table: the order in CMakeLists.txt and what each module's CMakeLists.txt says it depends on."""

    def __init__(self, tree):
        text = "\n".join(tree.lines(pathlib.Path("CMakeLists.txt")))
        listed = re.search(r"foreach\(module IN ITEMS\s+([^)]*)\)", text)
        self.order = listed[1].split() if listed else []
        self.public, self.private = {}, {}
        for module in self.order:
            lines = [re.sub("#.*", "", line) for line in tree.lines(pathlib.Path("modules", module, "CMakeLists.txt"))]
            self.public[module], self.private[module] = self._dependencies("\n".join(lines))

    @staticmethod
    def _dependencies(text):
        call = re.search(r"multicard_add_module\(([^)]*)\)", text)
        public, private, into = set(), set(), None
        for word in (call[1].split() if call else []):
            if word in ("SOURCES", "PUBLIC", "PRIVATE"):
                into = {"PUBLIC": public, "PRIVATE": private}.get(word)
            elif into is not None and word.startswith("multicard::"):
                into.add(word.partition("::")[2])
        return public, private

    def reach(self, modules):
        """These modules and all that come with them publicly."""
        seen, waiting = set(), list(modules)
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += self.public.get(module, ())
        return seen


def own_module(path):
    return path.parts[1] if path.parts[0] == "modules" else path.parts[0]


def included_module(modules, name):
    first = name.split("/")[0]
    return first if "/" in name and first in modules.order else None


def check_modules(tree):
    modules = Modules(tree)
    if not modules.order:
        yield "CMakeLists.txt:1: no module table (foreach(module IN ITEMS ...)) found"
    for path in tree.cpp("modules", "app", "postproc"):
        own = own_module(path)
        if path.parts[0] == "modules" and own not in modules.order:
            yield f"{path}:1: folder modules/{own} is not in the module table of CMakeLists.txt"
            continue
        for number, quote, name in tree.includes(path):
            other = included_module(modules, name)
            if quote != '"' or other is None or other == own:
                continue
            where = f"{path}:{number}: {name}"
            is_mains = path.as_posix() == "postproc/main.cpp" and name in POSTPROC_MAIN_HEADERS
            if path.parts[0] == "postproc" and other not in POSTPROC_MODULES and not is_mains:
                yield f"{where}: postproc may use only {', '.join(sorted(POSTPROC_MODULES))}"
            elif path.parts[0] == "modules":
                yield from check_module_include(modules, where, own, other, path.suffix == ".hpp")
    yield from check_folders(tree)


def check_folders(tree):
    """The files at the top of postproc wire the folders and may include all of them."""
    for (root, include), allowed_of in FOLDERS.items():
        depth = len(pathlib.Path(root).parts)
        for path in tree.cpp(root):
            if len(path.parts) == depth + 1:
                continue
            own = path.parts[depth]
            if own not in allowed_of:
                yield f"{path}:1: folder {root}/{own} is not one of {', '.join(allowed_of)}"
                continue
            for number, _, name in tree.includes(path):
                parts = name.split("/")
                if parts[0] == include and parts[1] not in allowed_of[own] | {own}:
                    allowed = ", ".join(sorted(allowed_of[own])) or "none of the others"
                    yield f"{path}:{number}: {name}: {root}/{own} may include {allowed}"


def check_module_include(modules, where, own, other, in_header):
    if modules.order.index(other) > modules.order.index(own):
        yield f"{where}: module {other} stands after {own} in the module table"
        return
    public = modules.reach(modules.public[own])
    if other not in public | modules.reach(modules.private[own]):
        yield f"{where}: modules/{own}/CMakeLists.txt does not declare multicard::{other}"
    elif in_header and other not in public:
        yield f"{where}: a header shows {other}, which modules/{own}/CMakeLists.txt declares PRIVATE"


def is_gpu_backend(tree, path):
    """A source that only builds with CUDA compile: NAME.cu, NAME_cuda.cpp, or a .cpp with a twin NAME_disabled.cpp."""
    if path.suffix == ".cu":
        return True
    twin = path.with_name(f"{path.stem}_disabled.cpp")
    return path.suffix == ".cpp" and (path.stem.endswith("_cuda") or twin in tree.files)


def gpu_headers(tree, module):
    """Headers of a module that show GPU headers, themselves or through another; backends alone may include them."""
    shown, before = set(), None
    while shown != before:
        before = set(shown)
        for path in tree.cpp("modules"):
            names = {name for _, _, name in tree.includes(path)}
            if path.suffix == ".hpp" and own_module(path) == module and (
                    names & shown or any(GPU_HEADER.match(name) for name in names)):
                shown.add(str(path.relative_to("modules")))
    return shown


def check_gpu(tree):
    shown = {name: module for module in Modules(tree).order for name in gpu_headers(tree, module)}
    for path in tree.cpp("modules", "app", "postproc"):
        inside = is_gpu_backend(tree, path) or str(path.relative_to(path.parts[0])) in shown
        for number, _, name in tree.includes(path):
            if GPU_HEADER.match(name) and not inside:
                yield f"{path}:{number}: {name}: only GPU backends (NAME_cuda.cpp, or a twin NAME_disabled.cpp) may"
            elif name in shown and (not inside or own_module(path) != shown[name]):
                yield f"{path}:{number}: {name}: shows GPU headers, for the GPU backends of {shown[name]} only"


def check_third_party(tree):
    modules = Modules(tree)
    private = {}  # headers that show a third-party header -> their module
    for path in tree.cpp("modules", "app", "postproc"):
        own = own_module(path)
        for number, _, name in tree.includes(path):
            where = f"{path}:{number}: {name}"
            for pattern, allowed in THIRD_PARTY.items():
                if re.match(pattern, name):
                    if own not in allowed:
                        yield f"{where}: only {', '.join(sorted(allowed))} may include this"
                    elif path.suffix == ".hpp":
                        private[str(path.relative_to("modules"))] = own
            if name == "torch/torch.h":
                yield f"{where}: costs 16 s a file; include the narrow headers (ATen/ops/..., ATen/core/Tensor.h)"
            elif TORCH_HEADER.match(name) and not may_use_torch(modules, path, own):
                yield f"{where}: torch begins with module {FIRST_TORCH_MODULE}"
    for path in tree.cpp("modules", "app", "postproc"):
        for number, _, name in tree.includes(path):
            yield from check_private(path, f"{path}:{number}: {name}", name, private)
    yield from check_gpu(tree)
    yield from check_threads(tree)


def check_threads(tree):
    """A thread that cannot be started must be an error of the program's own."""
    for path in tree.cpp("modules", "app", "postproc"):
        for number, line in enumerate(without_comments_and_strings(tree.lines(path)), 1):
            if STARTS_THREAD.search(line) and path.parent / path.stem != pathlib.Path("modules/base/Thread"):
                yield f"{path}:{number}: start threads with start_thread or start_async (base/Thread.hpp)"


def may_use_torch(modules, path, own):
    if path.parts[0] == "app":
        return True
    return own in modules.order and modules.order.index(own) >= modules.order.index(FIRST_TORCH_MODULE)


def check_private(path, where, name, private):
    own = own_module(path)
    if name in PRIVATE_BRIDGES:
        if own not in PRIVATE_BRIDGES[name]:
            yield f"{where}: only {', '.join(sorted(PRIVATE_BRIDGES[name]))} may include this"
        elif path.suffix == ".hpp":
            yield f"{where}: only .cpp files may include this"
    elif name in private and private[name] != own:
        yield f"{where}: shows a third-party library and is private to {private[name]}"


def check_conditionals(tree):
    declares_scope = re.compile(r'\b(namespace|class|struct|union|enum)\b[^;=()]*$|\bextern\s*$')
    for path in tree.cpp("modules", "app", "postproc", "tests"):
        scopes, before = [], ""
        for number, line in enumerate(without_comments_and_strings(tree.lines(path)), 1):
            if re.match(r"\s*#", line):
                if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line) and "function" in scopes:
                    yield f"{path}:{number}: #if inside a function: make it two .cpp files that CMake chooses from"
                continue
            for character in line:
                if character == "{":
                    scopes.append("scope" if declares_scope.search(before) else "function")
                    before = ""
                elif character == "}":
                    scopes = scopes[:-1]
                    before = ""
                else:
                    before = "" if character == ";" else before + character
            before += " "


def check_format(tree):
    if not shutil.which("clang-format"):
        print("SKIPPED: clang-format is not installed")
        return SKIPPED
    version = re.search(r"version (\d+)", run_tool(["clang-format", "--version"], tree.root).stdout)
    if not version or version[1] != CLANG_FORMAT_MAJOR:
        print(f"SKIPPED: clang-format is not version {CLANG_FORMAT_MAJOR}")
        return SKIPPED
    files = [str(path) for path in tree.cpp("modules", "app", "postproc", "tests", "bench")]
    result = run_tool(["clang-format", "--dry-run", *files], tree.root)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "clang-format-violations" in line})
    return [f"{name}:1: clang-format would change this file" for name in wrong]


def shell_scripts(tree):
    for path in tree.files:
        first = tree.lines(path)[0] if tree.lines(path) else ""
        if path.suffix in (".sh", ".sbatch") or re.match(r"#!.*\b(ba)?sh$", first):
            yield str(path)


def check_shell(tree):
    scripts = list(shell_scripts(tree))
    wrong = []
    for script in scripts:
        syntax = run_tool(["bash", "-n", script], tree.root)
        if syntax.returncode:
            wrong.append(f"{script}:1: {syntax.stderr.strip()}")
    if wrong or not scripts:
        return wrong
    if not shutil.which("shellcheck"):
        print("SKIPPED: shellcheck is not installed")
        return SKIPPED
    return run_tool(["shellcheck", "-x", "-f", "gcc", *scripts], tree.root).stdout.splitlines()


def check_words(tree):
    home = re.compile(r"(?<![\w.$}~-])/(?:root|home|work|Users)/[\w.]+")
    unfinished = re.compile(r"\b(TODO|FIXME|XXX)\b")
    any_home_made, any_name = any_of(HOME_MADE), any_of(HOME_MADE_NAMES)
    for path in tree.files:
        is_data = path.parts[:2] in (("tests", "data"), ("inputs", "text")) and path.suffix not in (".md", ".sh", ".py")
        is_foreign = path.name == "LICENSE" or is_data
        if path.parts[:2] == ("tests", "style") or is_foreign:
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if home.search(line) and path.parts[:2] != ("tests", "unit"):
                yield f"{path}:{number}: absolute path of one machine: {home.search(line)[0]}"
            quaint = QUAINT.search(line) or (path.name != "CHANGELOG.md" and QUAINT_PARTS.search(line))
            if quaint:
                yield f"{path}:{number}: {quaint[0]}: say it in plain technical English"
            if unfinished.search(line):
                yield f"{path}:{number}: {unfinished.search(line)[0]}: finish it or document the limit"
            if path.suffix in (".cpp", ".hpp", ".cu", ".cmake") or path.name == "CMakeLists.txt":
                yield from check_identifiers(f"{path}:{number}", line, HOME_MADE, any_home_made)
    for path in tree.cpp("modules", "app", "postproc", "tests", "bench"):
        for number, line in enumerate(without_comments_and_strings(tree.lines(path)), 1):
            yield from check_identifiers(f"{path}:{number}", line, HOME_MADE_NAMES, any_name)


def any_of(terms):
    return re.compile("|".join(rf"\b(?:{word})\b" for word in terms))


def check_identifiers(where, line, terms, any_term):
    """`any_term`: any_of(terms). Nearly every line has none, and one search finds that out."""
    if not any_term.search(line):
        return
    for word, term in terms.items():
        if found := re.search(rf"\b(?:{word})\b", line):
            yield f"{where}: {found[0]}: the field says {term}"


RULES = {"modules": check_modules, "third-party": check_third_party, "conditionals": check_conditionals,
         "format": check_format, "shell": check_shell, "words": check_words, "length": check_length,
         "functions": check_functions, "names": check_names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="what to check (default: all)")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2], help="folder of the source tree")
    options = parser.parse_args()
    unknown = set(options.rules) - set(RULES)
    if unknown:
        parser.error(f"unknown rule {', '.join(sorted(unknown))}; there are {', '.join(RULES)}")
    tree = Tree(options.root)
    if not tree.files:
        sys.exit(f"no files under {options.root}")
    status = 0
    for rule in options.rules or RULES:
        found = RULES[rule](tree)
        if found == SKIPPED:
            status = status or SKIPPED
            continue
        found = list(found)
        for line in found:
            print(line)
        print(f"{rule}: {len(found)} violations")
        status = 1 if found else status
    sys.exit(status)


if __name__ == "__main__":
    main()
