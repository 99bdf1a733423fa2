"""The rules on the lengths of lines, files and functions."""
import re

from source_tree import SOURCE_FOLDERS, without_comments_and_strings

# Tables that scripts/make_regex_tables.py writes may be longer than sources otherwise.
GENERATED = {"modules/text/unicode/UnicodeClassTable.cpp", "modules/text/unicode/UnicodeScriptTable.cpp"}


def check_length(tree, columns=120, source_limit=300, limit=400, notable=250):
    code = {".cpp", ".hpp", ".cu", ".py", ".sh", ".sbatch", ".cmake"}
    for path in tree.files:
        if path.suffix not in code and path.name != "CMakeLists.txt":
            continue
        lines = tree.lines(path)
        for number, line in enumerate(lines, 1):
            if len(line) > columns and path.suffix not in (".cpp", ".hpp", ".cu"):  # clang-format sees to those
                yield f"{path}:{number}: {len(line)} columns, more than {columns}"
        is_source = path.parts[0] in SOURCE_FOLDERS and str(path) not in GENERATED
        most = source_limit if is_source else limit
        if len(lines) > most:
            yield f"{path}:1: {len(lines)} lines, more than {most}: split it"
        elif len(lines) > notable:
            print(f"note: {path} has {len(lines)} lines")


def function_lengths(lines):
    """(first line, number of lines) of each function with a body, which stands in namespaces and classes only. The
    brace of an initialiser follows a name without a space between, or a =, as clang-format lays it out."""
    declares_scope = re.compile(r"\b(namespace|class|struct|union|enum)\b(\s+alignas\(.*\))?[^;=()]*$|\bextern\s*$")
    head, first, depth, is_function = "", 0, 0, False
    for number, line in enumerate(without_comments_and_strings(lines), 1):
        if re.match(r"\s*#", line):
            continue
        for part in re.split(r"([{};])", line):
            if depth:
                depth += (part == "{") - (part == "}")
                if not depth and is_function:
                    yield first, number - first + 1
                    head = ""
            elif part == "{" and not declares_scope.search(head):
                depth, is_function = 1, "(" in head and not re.search(r"[\w>=]$|=\s$", head)
            elif part in ("{", "}", ";"):
                head = ""
            else:
                first = first if head.strip() else number
                head += part
        head += " "


def check_functions(tree, limit=50):
    for path in tree.cpp(*SOURCE_FOLDERS):
        for first, length in function_lengths(tree.lines(path)):
            if length > limit:
                yield f"{path}:{first}: a function of {length} lines, more than {limit}: split it"
