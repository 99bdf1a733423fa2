#!/usr/bin/env python3
"""Draws docs/figures/modules.svg: the modules and programs in layers, and the dependencies that CMake declares.

usage: scripts/draw_modules.py [--check] [--root FOLDER]

The declarations are those of multicard_add_module() in modules/*/CMakeLists.txt and of target_link_libraries() of the
programs. An arrow leads down to what a module depends on; those to what one of its dependencies depends on are left
out (transitive reduction). Dashed: PRIVATE. Ends with 1 where dependencies form a circle or one is listed later in
CMakeLists.txt, and with --check, which writes nothing, where the stored picture is another.
"""
import argparse
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/style"))
sys.dont_write_bytecode = True
from check_style import Modules  # noqa: E402
from source_tree import Tree  # noqa: E402

PICTURE = pathlib.Path("docs/figures/modules.svg")
PROGRAMS = {"app": "multicard", "postproc": "multicard-post"}
WIDTH, HEIGHT, GAP, ROW, MARGIN = 116, 32, 26, 84, 14
PASSAGE = 10  # the width of an arrow that passes a layer


def declared(root):
    """The nodes, bottom-up, and their dependencies: node -> {other: is it public}."""
    tree = Tree(root)
    modules = Modules(tree)
    edges = {name: {other: other in modules.public[name] for other in modules.public[name] | modules.private[name]}
             for name in modules.order}
    for folder, program in PROGRAMS.items():
        text = re.sub("#.*", "", "\n".join(tree.lines(pathlib.Path(folder, "CMakeLists.txt"))))
        calls = re.findall(r"target_link_libraries\(([^)]*)\)", text)
        linked = set(re.findall(r"multicard::(\w+)", " ".join(calls)))
        edges[program] = {other: False for other in linked if other in modules.order}
    return edges


def with_torch(root, edges):
    """The modules that use LibTorch, themselves or through others."""
    own = {name for name in edges if name not in PROGRAMS.values()
           and "multicard_torch" in (root / "modules" / name / "CMakeLists.txt").read_text(encoding="utf-8")}
    return own | {name for name in edges if own & reachable(edges, name)}


def check_order(edges):
    """Ends the program where an arrow would point up."""
    place = {name: i for i, name in enumerate(edges)}
    for name, others in edges.items():
        for other in others:
            if other not in place:
                sys.exit(f"{name} depends on {other}, which is no module of CMakeLists.txt")
            if name in reachable(edges, other):
                sys.exit(f"{name} and {other} depend on each other")
            if place[other] >= place[name]:
                sys.exit(f"{name} depends on {other}, which stands after it in CMakeLists.txt")


def reachable(edges, name):
    seen, waiting = set(), [name]
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def reduced(edges):
    """Without what is reached through another dependency."""
    return {name: {other: is_public for other, is_public in others.items()
                   if not any(other in reachable(edges, between) for between in others)}
            for name, others in edges.items()}


def layers_of(edges):
    """node -> layer, 0 at the bottom. A node stands as high as it can where that makes its arrows shorter in all."""
    layer = {}
    for name, others in edges.items():
        layer[name] = 1 + max((layer[other] for other in others), default=-1)
    users = {name: [user for user in edges if name in edges[user]] for name in edges}
    top = max(layer.values())
    for name in reversed(edges):
        if not users[name] or len(users[name]) > len(edges[name]) > 0:
            layer[name] = min((layer[user] - 1 for user in users[name]), default=top)
    return layer


def with_passages(edges, layer):
    """The rows of nodes, from the top, and the steps between neighbouring rows; (name, other, layer) is a passage."""
    rows = [[name for name in edges if layer[name] == k] for k in range(max(layer.values()), -1, -1)]
    steps = []
    for name, others in edges.items():
        for other in sorted(others):
            chain = [name] + [(name, other, k) for k in range(layer[name] - 1, layer[other], -1)] + [other]
            for passage in chain[1:-1]:
                rows[len(rows) - 1 - passage[2]].append(passage)
            steps += zip(chain, chain[1:])
    return rows, steps


def crossings(rows, steps):
    place = {node: (k, i) for k, row in enumerate(rows) for i, node in enumerate(row)}
    pairs = itertools.combinations([(*place[a], place[b][1]) for a, b in steps], 2)
    return sum(1 for (row, a, b), (other, c, d) in pairs if row == other and (a - c) * (b - d) < 0)


def neighbours(steps):
    """node -> the nodes that a step leads to or comes from."""
    near = {}
    for a, b in steps:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near


def ordered(rows, steps):
    """The order of each row with few crossings: rows are sorted by the middles of their neighbours, down and up, then
    nodes change places while that helps."""
    near, best = neighbours(steps), None
    for turn in range(24):
        now = [row[turn % len(row):] + row[:turn % len(row)] for row in rows]
        for sweep in range(6):
            for k in (range(len(now)) if sweep % 2 else range(len(now) - 1, -1, -1)):
                place = {node: i / max(1, len(row) - 1) for row in now for i, node in enumerate(row)}
                now[k] = sorted(now[k], key=lambda node: sum(place[o] for o in near[node]) / len(near[node]))
        now = with_swaps(now, steps)
        found = crossings(now, steps)
        if best is None or found < best[0]:
            best = found, now
    return best[1]


def with_swaps(rows, steps):
    rows = [list(row) for row in rows]
    count, changed = crossings(rows, steps), True
    while changed:
        changed = False
        for row in rows:
            for i, k in itertools.combinations(range(len(row)), 2):
                row[i], row[k] = row[k], row[i]
                now = crossings(rows, steps)
                if now < count:
                    count, changed = now, True
                else:
                    row[i], row[k] = row[k], row[i]
    return rows


def width_of(node):
    return WIDTH if isinstance(node, str) else PASSAGE


def placed(rows, steps):
    """node -> x of its middle: near the mean of its neighbours, as far as the row leaves room."""
    near, rows = neighbours(steps), [list(zip(row, offsets(row))) for row in rows]
    x = {node: offset - row[-1][1] / 2 for row in rows for node, offset in row}
    for sweep in range(60):
        for row in (rows if sweep % 2 else reversed(rows)):
            wanted = [middle(node, near[node], x) - offset for node, offset in row]
            left, right = list(itertools.accumulate(wanted, max)), list(itertools.accumulate(wanted[::-1], min))[::-1]
            for (node, offset), a, b in zip(row, left, right):
                x[node] = (a + b) / 2 + offset
    first = min(x[node] - width_of(node) / 2 for node in x)
    return {node: round(at - first + MARGIN) for node, at in x.items()}


def middle(node, others, x):
    """The mean of the neighbours; passages weigh more for each other, so that long arrows are straight."""
    weights = [1 if isinstance(node, str) or isinstance(other, str) else 6 for other in others]
    return sum(x[other] * weight for other, weight in zip(others, weights)) / sum(weights)


def offsets(row):
    """Of the middles from that of the first, where nodes stand as near as they may."""
    spaces = [(width_of(a) + width_of(b)) / 2 + GAP for a, b in zip(row, row[1:])]
    return list(itertools.accumulate(spaces, initial=0))


def ports(nodes, others, x):
    """(node, other) -> where along the node its arrows begin or end, in the order of the others."""
    found = {}
    for node in nodes:
        row = sorted(others.get(node, ()), key=lambda other: x[other])
        for i, other in enumerate(row):
            shift = (i - (len(row) - 1) / 2) * min(22, (WIDTH - 24) / len(row)) if isinstance(node, str) else 0
            found[node, other] = round(x[node] + shift)
    return found


def arrows(edges, rows, steps, x):
    """SVG paths from the bottom of a node through its passages to the top of another."""
    top = {node: MARGIN + k * ROW for k, row in enumerate(rows) for node in row}
    below, above = {}, {}
    for a, b in steps:
        below.setdefault(a, []).append(b)
        above.setdefault(b, []).append(a)
    begin, end = ports(x, below, x), ports(x, above, x)
    for name, others in edges.items():
        for other, is_public in sorted(others.items()):
            chain = [name] + [node for node in x if isinstance(node, tuple) and node[:2] == (name, other)] + [other]
            chain.sort(key=lambda node: top[node])
            at = begin[name, chain[1]]
            path = f"M{at},{top[name] + HEIGHT}"
            for a, b in zip(chain, chain[1:]):
                y, to, to_x = top[a] + HEIGHT, top[b] - (5 if b == other else 0), end[b, a]
                path += f" C{at},{(y + to) // 2} {to_x},{(y + to) // 2} {to_x},{to}"
                path += "" if b == other else f" V{top[b] + HEIGHT}"
                at = to_x
            dashes = "" if is_public else ' stroke-dasharray="5 4"'
            yield f'<path d="{path}"{dashes} marker-end="url(#tip)"/>'


def boxes(edges, rows, x, torch):
    for k, row in enumerate(rows):
        for node in row:
            if not isinstance(node, str):
                continue
            fill = "#f6d9a8" if node in PROGRAMS.values() else "#cfe0f5" if node in torch else "#d8ead3"
            y = MARGIN + k * ROW
            yield (f'<rect x="{x[node] - WIDTH // 2}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" '
                   'stroke="#6b7580"/>')
            yield f'<text x="{x[node]}" y="{y + 21}">{node}</text>'


def picture(root):
    """Boxes are light with dark letters and lines grey, so that it can be read on white and on black."""
    edges = declared(root)
    check_order(edges)
    torch, edges = with_torch(root, edges), reduced(edges)
    rows, steps = with_passages(edges, layers_of(edges))
    rows = ordered(rows, steps)
    x = placed(rows, steps)
    width = max(x[node] + width_of(node) // 2 for node in x) + MARGIN
    height = 2 * MARGIN + (len(rows) - 1) * ROW + HEIGHT
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>The modules of multicard and what they depend on</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#7d8792"/></marker></defs>',
        '<g fill="none" stroke="#7d8792" stroke-width="1.5">', *arrows(edges, rows, steps, x), "</g>",
        '<g font-family="sans-serif" font-size="14" text-anchor="middle" fill="#1f2328">',
        *boxes(edges, rows, x, torch), "</g>", "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if the picture is another")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="folder of the source tree")
    options = parser.parse_args()
    path, text = options.root / PICTURE, picture(options.root)
    if options.check:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{PICTURE} is not what CMake declares. Run scripts/draw_modules.py")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
