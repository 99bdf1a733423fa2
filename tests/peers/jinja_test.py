#!/usr/bin/env python3
"""The template engine compared with jinja2 with the settings of transformers: the same text, or an error on both sides.

usage: jinja_test.py Engine   MULTICARD_PEER_TEMPLATE names the program peer_template
"""

import copy
import datetime
import itertools
import json
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from transformers.utils import chat_template_utils

PROGRAM = os.environ["MULTICARD_PEER_TEMPLATE"]

VARIABLES = {
    "none_value": None, "yes": True, "no": False, "one": 1, "three": 3, "minus": -7, "big": 123456789, "half": 0.5,
    "large": 1e20, "small": 1e-7, "empty": "", "text": "Hello wOrld", "spaced": "  a b\t c\n",
    "quotes": "it's \"x\" \\", "wide": "naïve Ünïcödé 中文 😀 ß", "lines": "one\ntwo\r\n\nfour",
    "number_text": " 42 ", "list": [3, 1, 2],
    "nothing": [], "mixed": [1, "a", None, True, 2.5, [1], {"k": "v"}], "words": ["b", "A", "c", "a"],
    "dict": {"b": 1, "a": 2, "items_": 3}, "hollow": {},
    "messages": [{"role": "user", "content": "Hi", "n": 2}, {"role": "assistant", "content": "Yo", "n": 1},
                 {"role": "user", "content": "Bye",
                  "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}],
    "nested": {"a": {"b": {"c": [1, {"d": "e"}]}}, "items": "member"},
}

VALUES = ["none_value", "yes", "no", "one", "three", "minus", "half", "large", "empty", "text", "spaced", "wide",
          "list", "nothing", "mixed", "words", "dict", "hollow", "messages", "missing", "(1, 'x')", "()", "range(4)",
          "'<b>'", "number_text", "quotes"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
FILTERS = ["abs", "capitalize", "default('d')", "default('d', true)", "d", "first", "last", "length", "count", "list",
           "list | length", "lower", "upper", "title", "trim", "trim('H')", "string", "int", "int(7)", "float",
           "float(1.5)", "round", "round(1)", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=True)",
           "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "join", "join('-')", "join(', ') | upper",
           "map('upper') | list", "map('string') | join('+')", "select | list", "reject | list",
           "select('string') | list", "reject('none') | list", "select('in', ['a', 1]) | list", "sort",
           "sort(reverse=true)", "sort(case_sensitive=true)", "unique | list", "reverse | list", "reverse", "min",
           "max", "sum", "items | list", "dictsort", "dictsort(by='value')", "dictsort(false, 'key', true)", "safe",
           "replace('a', 'b')", "replace('l', 'L', 1)", "indent", "indent(2, true)", "indent('> ', first=True)",
           "indent(width=3, blank=true)", "escape", "map(attribute='role') | list",
           "selectattr('role', 'equalto', 'user') | list", "rejectattr('role', '==', 'user') | list | length",
           "selectattr('n') | list | length", "selectattr('tool_calls', 'defined') | map(attribute='content') | list",
           "nosuchfilter", "format", "trim(chars='H o')", "sum(attribute='n')",
           "batch(2) | list", "batch(2, 'x') | list",
           "batch(0) | list", "batch(-2, 1) | list", "slice(2) | list", "slice(4, 'x') | list", "slice(0) | list",
           "slice(-1) | list", "groupby('role')", "groupby('n') | map(attribute='grouper') | list",
           "groupby('tool_calls', default='') | map(attribute='list') | map('length') | list", "groupby('a.b')"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer", "float",
         "boolean", "true", "false", "odd", "even", "divisibleby 3", "divisibleby(2)", "equalto 3", "eq 'Hello wOrld'",
         "ne 1", "in [1, 3, 'a']", "in 'Hello wOrld'", "lt 2", "gt 2", "le 3", "ge 3", "sameas true", "sameas none",
         "upper", "lower", "callable", "not defined", "not string"]
METHODS = ["strip()", "lstrip()", "rstrip()", "strip('Hd ')", "lstrip('He')", "rstrip('d')", "split()", "split(' ')",
           "split('l')", "split('l', 1)", "split(none, 1)", "rsplit('l', 1)", "rsplit(None, 1)", "split('')",
           "split('\\n')", "upper()", "lower()", "title()", "capitalize()", "replace('l', 'L')", "replace('l', 'L', 1)",
           "replace('', '.')", "startswith('He')", "startswith(('x', 'H'))", "endswith('d')", "endswith(('d', 'e'))",
           "find('o')", "rfind('o')", "count('l')", "index('o')", "index('zz')", "join(['a', 'b'])", "join([1])",
           "splitlines()", "isalpha()", "isdigit()", "isspace()", "isupper()", "islower()", "partition(' ')",
           "rpartition('o')", "removeprefix('He')", "removesuffix('ld')", "format(1)", "get('a')", "get('z')",
           "get('z', 5)", "items() | list", "keys() | list", "values() | list", "items()|length", "append(1)",
           "pop()", "update({})", "copy()", "count(1)", "index(1)", "nosuch()", "a", "items", "b | default(9)"]
SUBSCRIPTS = ["[0]", "[-1]", "[9]", "['a']", "['role']", "[1:]", "[:-1]", "[::-1]", "[1:3]", "[-2:]", "[:1]", "[::2]",
              "[5:1:-2]", "[:]", "[none:2]", "[-100:100]", "[0].role", "[0]['content']", ".0", "['items']",
              "[none_value]", "[true]", "[1:2:0]"]

TEMPLATES = (Path(__file__).parent / "jinja_cases.txt").read_text().strip("\n").split("\n---\n")


def generated():
    """Small expressions of every kind, by the rules above and a seed."""
    for left, operator, right in itertools.product(VALUES, OPERATORS, VALUES):
        yield f"{{{{ {left} {operator} {right} }}}}"
    for value, name in itertools.product(VALUES, FILTERS):
        yield f"{{{{ {value} | {name} }}}}"
    for value, test in itertools.product(VALUES, TESTS):
        yield f"{{{{ {value} is {test} }}}}"
    for value, method in itertools.product(VALUES, METHODS):
        yield f"{{{{ {value}.{method} }}}}"
    for value, subscript in itertools.product(VALUES, SUBSCRIPTS):
        yield f"{{{{ {value}{subscript} }}}}"
    draw = random.Random(5)
    spaces = ["", " ", "\n", "  ", "\n  ", " \n", "\n\n", "x", "x\n", " y"]
    for _ in range(600):  # white space around tags of every kind
        parts = []
        for _ in range(draw.randint(1, 5)):
            tag = draw.choice(["{%@if yes@%}", "{{@one@}}", "{#@c@#}", "{%@for i in list@%}", "{%@set q = 1@%}"])
            opening, closing = draw.choice(["", "-", "+"]), draw.choice(["", "-", "+"])
            if tag.startswith("{{"):
                opening, closing = opening.replace("+", ""), closing.replace("+", "")
            head, middle, tail = tag.split("@")
            parts.append(draw.choice(spaces) + head + opening + " " + middle + " " + closing + tail)
            if "if" in middle or "for" in middle:
                parts.append(draw.choice(spaces) + "{%" + draw.choice(["", "-"]) + f" end{middle.split()[0]} " +
                             draw.choice(["", "-", "+"]) + "%}")
        yield "".join(parts) + draw.choice(spaces)


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


def rendered_by_jinja(template):
    """The text and the generation ranges, or an error."""
    try:
        compiled = chat_template_utils._compile_jinja_template.__wrapped__(template)
        with mock.patch.object(chat_template_utils, "datetime", FixedDate):
            return compiled.render(**copy.deepcopy(VARIABLES))  # some filters change what they get
    except Exception as error:  # whatever jinja2 and Python raise
        return error


class Engine(unittest.TestCase):
    def test_renders_as_jinja2(self):
        templates = TEMPLATES + list(generated())
        requests = "".join(json.dumps({"template": text, "variables": VARIABLES}) + "\n" for text in templates)
        done = subprocess.run([PROGRAM, "render"], input=requests, capture_output=True, text=True, timeout=300,
                              check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(templates))
        counts, wrong = {"text": 0, "error": 0, "unsupported": 0}, []
        for template, answer in zip(templates, answers):
            expected = rendered_by_jinja(template)
            if isinstance(expected, Exception):
                counts["error"] += 1
                if "error" not in answer:
                    wrong.append((template, repr(expected)[:80], answer["text"]))
            elif "error" in answer:
                # What has no stable text, or is deliberately left out, must say so.
                if any(words in answer["error"] for words in ("is printed", "not supported", "too large")):
                    counts["unsupported"] += 1
                else:
                    wrong.append((template, expected, answer["error"]))
            else:
                counts["text"] += 1
                if answer["text"] != expected:
                    wrong.append((template, expected, answer["text"]))
        print(f"{len(templates)} templates: {counts}")
        for case in wrong[:60]:
            print("DIFFERS", *map(repr, case))
        self.assertEqual(len(wrong), 0)
        self.assertGreater(counts["text"], 8000)
        self.assertLess(counts["unsupported"], 0.02 * len(templates))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:], verbosity=1)
