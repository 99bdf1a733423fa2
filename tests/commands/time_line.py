"""What tests of time lines share: the text of one, and the rules for its arrows."""

import collections
import gzip
import json
from pathlib import Path


def read(path):
    """The header and the events."""
    trace = json.loads(gzip.decompress(Path(path).read_bytes()))
    return trace["multicard_trace"], trace["traceEvents"]


def boxes_of(events):
    return [event for event in events if event["ph"] == "X"]


def ranks_of(box, num_ranks):
    """Those that a collective joins: all, or its group's, which is "0-1", "1, 3" or "0, 2, ..., 6"."""
    text = box["args"].get("ranks")
    if text is None:
        return list(range(num_ranks))
    if "-" in text:
        first, last = map(int, text.split("-"))
        return list(range(first, last + 1))
    numbers = [int(word) for word in text.split(", ") if word != "..."]
    return list(range(numbers[0], numbers[-1] + 1, numbers[1] - numbers[0]))


def check_arrows(test, header, events):
    """Every collective is on all ranks of its group, and one arrow leads between neighbours there. The number of
    collectives by the ranks that they join."""
    keys, collectives, at = {}, collections.defaultdict(dict), {}
    for box in boxes_of(events):
        if "sequence" in box.get("args", {}):
            ranks = ranks_of(box, header["ranks"])
            key = (box["name"], box["args"]["sequence"], tuple(ranks))
            collectives[key][box["pid"] // 10 - 1] = box
            at[box["pid"], box["tid"], box["ts"]] = key
    pairs = set()
    for key, ends in collectives.items():
        test.assertEqual(sorted(ends), list(key[2]), key)
        pairs |= {(key, *pair) for pair in zip(key[2], key[2][1:])}
    arrows = collections.defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            test.assertNotIn(event["ph"], arrows[event["name"], event["id"]])
            arrows[event["name"], event["id"]][event["ph"]] = event
    for arrow in arrows.values():
        start, finish = (at[arrow[end]["pid"], arrow[end]["tid"], arrow[end]["ts"]] for end in "sf")
        test.assertEqual(start, finish)
        test.assertLessEqual(arrow["s"]["ts"], arrow["f"]["ts"])
        keys[start, *sorted(arrow[end]["pid"] // 10 - 1 for end in "sf")] = arrow
    test.assertEqual(set(keys), pairs)
    test.assertEqual(len(arrows), len(pairs))
    return collections.Counter(key[2] for key in collectives)
