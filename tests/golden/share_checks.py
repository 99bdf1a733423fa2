"""What a share's allocation says, from the tables of its results file."""

import re

import h5py

from intervals import Estimate
from recompute import plain
from statement_checks import named


def read_allocation(path):
    """Its tables: lists of dictionaries by name."""
    with h5py.File(path) as file:
        out = {}
        for name, columns in file.get("allocation", {}).items():
            values = {key: [plain(value) for value in column[:]] for key, column in columns.items()}
            count = len(next(iter(values.values()))) if values else 0
            out[name] = [{key: column[i] for key, column in values.items()} for i in range(count)]
        return out


def ranks_of(interval):
    """Those of a list as "0, 2-3", or consecutive ones where none is stored."""
    text = interval.get("rank_list")
    if not text:
        return set(range(interval["first_rank"], interval["first_rank"] + interval["ranks"]))
    return {rank for first, last in re.findall(r"(\d+)(?:-(\d+))?", text)
            for rank in range(int(first), int(last or first) + 1)}


def num_ranks(intervals):
    return max(max(ranks_of(one)) for one in intervals) + 1


def share_numbers(allocation):
    intervals = allocation["intervals"]
    seconds = max(one["end_s"] for one in intervals)
    out = {"tasks": len({one["task"] for one in intervals}), "seconds": seconds}
    other = next((one for one in allocation.get("baselines", [])
                  if one["policy"] == "sequential" and one["predicted_s"] > 0), None)
    if other:
        out.update(named("predicted", Estimate(other["predicted_s"], other["low_s"], other["high_s"])))
        if other["low_s"] > seconds:  # a loss is never claimed: the prediction is of steps alone
            out["ratio"] = other["predicted_s"] / seconds
    return out


class ShareChecks:
    """Mixed into test cases with Checks and TableChecks; `allocation` is what read_allocation() found."""

    allocation = None

    def check_share(self, report):
        (share,) = report.summary["share"]
        expected = share_numbers(self.allocation)
        for statement in (share, report.summary["headline"]):
            self.check_numbers(statement, expected, ())
        self.assertEqual("Sharing paid" in share["text"], "ratio" in expected, share["text"])
        self.check_allocation_tables(report, expected["seconds"])

    def check_allocation_tables(self, report, seconds):
        for _, rows in report.tables("allocation"):
            self.assertEqual(len(rows), len(self.allocation["intervals"]))
            for row, one in zip(rows, self.allocation["intervals"]):
                predicted, measured = one["predicted_step_s"], one["measured_step_s"]
                known = predicted > 0 and measured > 0
                self.assertEqual(dict(row)["task"][0], one["task"])
                self.check_row("allocation", row, {
                    "from, s": [one["start_s"]], "to, s": [one["end_s"]],
                    "predicted step, ms": [predicted, 1000 * predicted],
                    "measured step, ms": [measured, 1000 * measured],
                    "error": [predicted / measured - 1 if known else float("nan")]})
        for _, rows in report.tables("policies"):
            for row, one in zip(rows, self.allocation["baselines"]):
                ends = [one["predicted_s"], one["low_s"], one["high_s"]]
                self.assertTrue(one["predicted_s"] <= 0 or one["low_s"] <= one["predicted_s"] <= one["high_s"])
                self.check_row("policies", row, {"seconds (limits)": ends,
                                                 "over what this took": [end / seconds for end in ends]})

    def check_allocation(self, _, figure, __):
        """The bar of each rank: its tasks, and gaps without a name."""
        for rank in range(num_ranks(self.allocation["intervals"])):
            expected, until = [], 0.0
            for one in self.allocation["intervals"]:
                if rank in ranks_of(one):
                    if one["start_s"] > until:
                        expected.append(("", one["start_s"] - until))
                    if one["end_s"] > max(one["start_s"], until):
                        expected.append((one["task"], one["end_s"] - max(one["start_s"], until)))
                    until = max(until, one["end_s"])
            rows = [(row[1], row[2]) for row in figure["rows"] if row[0] == f"rank {rank}"]
            self.assertEqual([task for task, _ in rows], [task for task, _ in expected], figure["id"])
            for (_, found), (_, value) in zip(rows, expected):
                self.assert_same(found, value, figure["id"])
        return []

    def allocation_numbers(self):
        tasks = [one["task"] for one in self.allocation["intervals"]]
        return {"tasks": len(set(tasks)), "moves": len(tasks) - len(set(tasks)),
                "ranks": num_ranks(self.allocation["intervals"])}
