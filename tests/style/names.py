"""Types of one name in two headers: the linker would take one for the other where their templates are instantiated."""

import re

TYPE = re.compile(r"^(?:class|struct|enum class)\s+(\w+)\b(?!::)[^;()]*\{", re.M)
# The kernels' templates for one kind of processor, in namespaces of their own.
APART = {"Sum", "Words"}


def check_names(tree):
    first = {}
    for path in tree.cpp("modules", "app"):
        if path.suffix != ".hpp":
            continue
        for name in TYPE.findall("\n".join(tree.lines(path))):
            if name in APART:
                continue
            if first.setdefault(name, path) != path:
                yield f"{path}:1: the type {name} stands in {first[name]} too"
