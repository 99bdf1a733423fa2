"""Scores of an evaluation, from the counts of eval.h5 and the shards that it is of."""

import glob
import math

import h5py
import numpy as np

from intervals import of_share
from recompute import plain


def shards(pattern):
    return [h5py.File(path) for path in sorted(glob.glob(str(pattern)))]


def labels_of(pattern):
    return np.concatenate([shard["labels"][:] for shard in shards(pattern)])


def text_counts(pattern):
    """Sequences, tokens and targets of shards of text."""
    files = shards(pattern)
    return (sum(len(file["offsets"]) - 1 for file in files), sum(len(file["tokens"]) for file in files),
            sum(int(file["loss_mask"][:].sum()) for file in files))


class EvaluationChecks:
    """Mixed into test cases with Checks and TableChecks."""

    def check_image_evaluation(self, path, printed, pattern):
        """`printed` is what eval --json says, `pattern` the test shards."""
        report = self.report(path, folder=path.parent / "eval_report")
        (found,) = report.summary["evaluations"]
        with h5py.File(path) as file:
            run = file["runs/main"]
            scores = {key: float(run.attrs[key]) for key in ("loss", "accuracy", "top5")}
            names = [plain(name) for name in run["evaluation/classes/name"][:]]
            matrix = np.zeros((len(names), len(names)), int)
            pairs = run["evaluation/confusion"]
            matrix[pairs["actual"][:], pairs["predicted"][:]] = pairs["count"][:]
        labels = labels_of(pattern)
        self.assertEqual(matrix.sum(axis=1).tolist(), np.bincount(labels, minlength=len(names)).tolist())
        right = of_share(int(matrix.trace()), len(labels))
        self.assertEqual(printed["samples"], len(labels))
        for key, expected in (("accuracy", right.value), ("loss", scores["loss"]), ("top5", scores["top5"])):
            self.assert_same(printed[key], expected, key)
            value = found[key]["value"] if key == "accuracy" else found[key]
            self.assert_same(value, expected, key)
        self.assert_same(scores["accuracy"], right.value, "accuracy")
        self.assert_same(found["accuracy"]["interval_95"][0], right.low, "accuracy, low")
        self.assert_same(found["accuracy"]["interval_95"][1], right.high, "accuracy, high")
        self.check_classes(report, found, names, matrix)
        self.check_confusion(report, found, names, matrix)

    def check_classes(self, report, found, names, matrix):
        (_, rows), = report.tables("classes")
        for number, (name, one, row) in enumerate(zip(names, found["classes"], rows, strict=True)):
            hits, samples, taken = matrix[number, number], matrix[number].sum(), matrix[:, number].sum()
            precision, recall = (hits / count if count else math.nan for count in (taken, samples))
            f1 = 2 * hits / (samples + taken) if samples + taken else math.nan
            self.assertEqual((one["name"], one["samples"], one["correct"], one["predicted"]),
                             (name, samples, hits, taken))
            self.assert_same(one["precision"], precision, name)
            self.assert_same(one["recall"], recall, name)
            self.assert_same(one["f1"], f1, name)
            interval = of_share(int(hits), int(samples))
            self.check_row("classes", row, {
                "samples": [samples], "right": [hits], "taken for it": [taken], "precision": [precision],
                "recall": [recall, interval.low, interval.high], "F1": [f1]})

    def check_confusion(self, report, found, names, matrix):
        (figure,) = found["figures"]
        shown = {(row[0], row[1]): row[2] for row in figure["rows"] if row[2]}
        self.assertEqual(shown, {(names[i], names[j]): matrix[i, j] for i, j in zip(*matrix.nonzero())})
        wrong = matrix - np.diag(matrix.diagonal())
        most = sorted(((count, i, j) for (i, j), count in np.ndenumerate(wrong) if count), reverse=True)
        expected = {"count": most[0][0], "samples": matrix[self.class_in(figure, names)].sum()} if most else {}
        self.assertEqual(figure["numbers"], expected)
        self.assert_printed(figure["title"], names, expected.values(), "confusion")
        (_, rows), = report.tables("confusions")
        self.assertEqual(len(rows), min(len(most), 20))
        for row in rows:
            values = dict(row)
            i, j = names.index(values["is"][0]), names.index(values["taken for"][0])
            self.check_row("confusions", row, {"samples": [wrong[i, j]],
                                               "share of the class": [wrong[i, j] / matrix[i].sum()]})

    @staticmethod
    def class_in(figure, names):
        return next(i for i, name in enumerate(names) if figure["title"].startswith(name + " "))

    def check_text_evaluation(self, path, printed, pattern):
        report = self.report(path, folder=path.parent / "eval_report")
        (found,) = report.summary["evaluations"]
        sequences, tokens, targets = text_counts(pattern)
        for one in (printed, found):
            self.assertEqual((one["sequences"], one["tokens"], one["targets"]), (sequences, tokens, targets))
            self.assert_same(one["perplexity"], math.exp(one["loss"]), "perplexity")
        self.assert_same(found["loss"], printed["loss"], "loss")
        for value in (printed["loss"], printed["perplexity"]):
            self.assertIn(f"{value:.4g}", report.page)
