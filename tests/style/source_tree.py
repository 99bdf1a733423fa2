"""The files of a source tree and what stands in them."""
import pathlib
import re
import subprocess

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_FOLDERS = ("modules", "app", "postproc")


def run_tool(command, root):
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


class Tree:
    """The files of the project: what git tracks or would track, or everything outside build/ where there is no git."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = sorted(path for path in self._names() if (self.root / path).is_file())
        self._texts = {}

    def _names(self):
        git = ["git", "-c", f"safe.directory={self.root}", "-C", str(self.root)]
        listed = run_tool([*git, "ls-files", "-co", "--exclude-standard", "-z"], self.root)
        if listed.returncode == 0:
            return {pathlib.Path(name) for name in listed.stdout.split("\0") if name}
        found = (path.relative_to(self.root) for path in self.root.rglob("*"))
        return {path for path in found if path.parts[0] not in (".git", "build", "data", "results", "models")}

    def lines(self, path):
        if path not in self._texts:
            try:
                self._texts[path] = (self.root / path).read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                self._texts[path] = []
        return self._texts[path]

    def cpp(self, *folders):
        return [path for path in self.files if path.suffix in (".cpp", ".hpp", ".cu") and path.parts[0] in folders]

    def includes(self, path):
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]


def without_comments_and_strings(lines):
    """The same lines with comments, strings and character constants blanked; raw strings are taken as far as )"."""
    text = "\n".join(lines)
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    return pattern.sub(lambda match: "\n" * match[0].count("\n") or " ", text).splitlines()
