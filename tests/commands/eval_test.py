#!/usr/bin/env python3
"""multicard eval as a person runs it: scores, files, exit codes. Standard library only.

usage: eval_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run


class Eval(CommandTest):
    def train(self, *overrides):
        """A run of two ranks with 19 test images; returns its checkpoint."""
        self.prepare(test=19)
        self.expect(0, run(2, "run", self.deck, *overrides))
        return self.path("out/checkpoints/step_00000004")

    def evaluate(self, ranks, *arguments):
        """The scores, which must be all there is on standard output, and what was said."""
        code, out, err = run(ranks, "eval", *arguments, "--json")
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("\n"), 1, out)
        return json.loads(out), err

    def test_a_checkpoint_scores_as_its_run_did(self):
        checkpoint = self.train()
        scores, said = self.evaluate(2, checkpoint, "profile.enabled=true")
        self.assertEqual(said.count("profile.enabled and profile.trace have no effect"), 1)
        metrics = self.path("out/results.h5")
        for name in ("loss", "accuracy", "top5"):
            last = self.dataset(metrics, "/runs/main/metrics/eval_" + name)[-1]
            self.assertEqual(scores[name], float(last), name)
        self.assertEqual(list(scores), ["loss", "accuracy", "top5", "samples"])
        self.assertEqual(scores["samples"], 19)
        self.assertRegex(said, "checkpoint of step 4")
        self.assertRegex(said, r"class +samples +precision +recall +f1")

    def test_averaged_weights_are_preferred(self):
        checkpoint = self.train("run.ema_decay=0.5")
        averaged, said = self.evaluate(2, checkpoint)
        self.assertIn("moving average", said)
        last = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1]
        self.assertEqual(averaged["loss"], float(last))
        own, said = self.evaluate(2, checkpoint, "run.ema_decay=0")
        self.assertNotIn("moving average", said)
        self.assertNotEqual(own["loss"], averaged["loss"])

    def test_the_file_has_classes_and_confusion(self):
        scores, _ = self.evaluate(2, self.train(), "-o", self.path("scores.h5"))
        values = lambda path: [float(x) for x in self.dataset(self.path("scores.h5"), "/runs/main/evaluation/" + path)]
        actual, predicted, count = (values("confusion/" + name) for name in ("actual", "predicted", "count"))
        self.assertEqual(sum(count), 19)
        correct = sum(n for a, p, n in zip(actual, predicted, count) if a == p)
        self.assertEqual(correct / 19, scores["accuracy"])
        self.assertEqual(sum(values("classes/correct")), correct)
        self.assertEqual(sum(values("classes/samples")), 19)
        for label in range(4):
            samples = sum(n for a, n in zip(actual, count) if a == label)
            self.assertEqual(values("classes/samples")[label], samples)
        self.assertIn('"complete"', self.attribute(self.path("scores.h5"), "/runs/main/status"))
        self.assertIn("model.safetensors", self.attribute(self.path("scores.h5"), "/runs/main/weights"))

    def test_any_number_of_ranks_gives_the_same_scores(self):
        self.train()
        alone, said = self.evaluate(1, self.deck)
        self.assertRegex(said, "step_00000004.*checkpoint of step 4")
        together, _ = self.evaluate(3, self.deck)
        for name in ("accuracy", "top5", "samples"):
            self.assertEqual(alone[name], together[name])
        self.assertAlmostEqual(alone["loss"], together["loss"], delta=1e-5 * alone["loss"])
        self.assertTrue(os.path.exists(self.path("out/eval.h5")))

    def test_overrides_and_other_weights(self):
        weights = self.path("weights.safetensors")
        shutil.copy(os.path.join(self.train(), "model.safetensors"), weights)
        whole, said = self.evaluate(1, self.deck, "model.weights=" + weights)
        self.assertRegex(said, r"weights\.safetensors \(model\.weights\)")
        self.assertEqual(whole["samples"], 19)
        self.assertEqual(self.evaluate(1, self.deck, "evaluate.limit=5")[0]["samples"], 5)
        checkpoint = self.path("out/checkpoints/step_00000004")
        model = "model={name: mobilenet_v2, width: 0.25, weights: %s}"  # replaces the whole section
        for given in ("model.weights=" + weights, model % weights):
            self.assertIn("(model.weights)", self.evaluate(1, checkpoint, given)[1])
        self.assertIn("(checkpoint of step 4)", self.evaluate(1, self.deck, model % checkpoint)[1])
        shutil.rmtree(self.path("out"))
        again, _ = self.evaluate(1, self.deck, "model.weights=" + weights)
        self.assertEqual(again, whole)

    def test_a_moved_output_without_its_training_shards(self):
        self.train()
        before, _ = self.evaluate(1, self.deck)
        os.rename(self.path("out"), self.path("moved"))
        os.remove(self.path("train-00000-of-00001.h5"))
        scores, _ = self.evaluate(1, self.path("moved/checkpoints/step_00000004/"))
        self.assertEqual(scores, before)
        self.assertTrue(os.path.exists(self.path("moved/eval.h5")))
        self.assertFalse(os.path.exists(self.path("out")))
        self.expect(4, run(1, "eval", self.path("moved/checkpoints/step_00000004"), "data.normalize=null"),
                    r"train\*\.h5.*data\.normalize")

    def test_a_channel_that_never_changes_counts_with_deviation_1(self):
        self.prepare()
        os.remove(self.path("train-00000-of-00001.h5"))
        self.prepare_pixels(lambda i: 77)
        self.expect(0, run(1, "run", self.deck))
        checkpoint = self.path("out/checkpoints/step_00000004")
        with open(os.path.join(checkpoint, "trainer.json")) as file:
            extra = json.load(file)["extra"]
        self.assertAlmostEqual(extra["normalize.mean.0"], 77 / 255)
        self.assertEqual(extra["normalize.std.0"], 1)
        before, _ = self.evaluate(1, checkpoint)
        os.remove(self.path("train-00000-of-00001.h5"))
        self.assertEqual(self.evaluate(1, checkpoint)[0], before)
        self.assertEqual(self.evaluate(1, self.deck, "model.weights=" + checkpoint)[0], before)
        last = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1]
        self.assertEqual(before["loss"], float(last))

    def samples_in(self, name):
        return re.search(r"\(0\): (\d+)", self.attribute(self.path(name), "/runs/main/samples")).group(1)

    def test_a_part_of_the_test_set_has_a_file_of_its_own(self):
        self.train()
        self.evaluate(1, self.deck)
        whole = Path(self.path("out/eval.h5")).read_bytes()
        _, said = self.evaluate(2, self.deck, "evaluate.limit=5")
        self.assertRegex(said, r"results +.*out/eval_limit5\.h5\n")
        self.assertNotRegex(said, "(?m)^(kept|replaced) ")
        self.assertEqual(Path(self.path("out/eval.h5")).read_bytes(), whole)
        self.assertEqual((self.samples_in("out/eval.h5"), self.samples_in("out/eval_limit5.h5")), ("19", "5"))

    def test_the_same_evaluation_replaces_itself_and_says_so(self):
        checkpoint = self.train()
        _, said = self.evaluate(1, self.deck)
        self.assertNotRegex(said, "(?m)^(kept|replaced) ")
        for source, ranks in ((self.deck, 2), (os.path.relpath(checkpoint), 1)):
            _, said = self.evaluate(ranks, source)
            self.assertRegex(said, r"(?m)^replaced +the evaluation of 20\S+, loss [\d.]+$")
        self.assertEqual(sorted(path.name for path in Path(self.path("out")).glob("eval*")), ["eval.h5"])

    def test_another_evaluation_is_kept(self):
        checkpoint = self.train()
        self.evaluate(1, checkpoint)
        first = Path(self.path("out/eval.h5")).read_bytes()
        _, said = self.evaluate(2, checkpoint, "precision=fp64")
        kept = r"(?m)^kept +the evaluation of 20\S+, loss \S+ \(precision was fp32\) is now .*eval_1\.h5$"
        self.assertRegex(said, kept)
        self.assertEqual(Path(self.path("out/eval_1.h5")).read_bytes(), first)
        shutil.copy(self.path("test-00000-of-00001.h5"), self.path("other.h5"))
        _, said = self.evaluate(1, checkpoint, "precision=fp64", "data.test=" + self.path("other.h5"))
        self.assertRegex(said, r"\(data\.test was .*test\*\.h5\)")
        _, said = self.evaluate(1, checkpoint, "data.image_size=40")
        self.assertRegex(said, r"\(data\.test was .*other\.h5\)")
        weights = self.path("weights.safetensors")
        shutil.copy(os.path.join(checkpoint, "model.safetensors"), weights)
        _, said = self.evaluate(1, checkpoint, "data.image_size=40", "model.weights=" + weights)
        self.assertRegex(said, r"\(of .*step_00000004/model\.safetensors\) is now .*/eval_4\.h5")

    def test_a_file_that_is_no_evaluation_is_kept_and_what_is_named_is_replaced(self):
        checkpoint = self.train()
        Path(self.path("out/eval.h5")).write_text("notes")
        results = self.path("out/results.h5")
        for output in ((), ("-o", results)):
            self.expect(2, run(1, "eval", checkpoint, *output), "is there and not an evaluation")
        self.assertEqual(Path(self.path("out/eval.h5")).read_text(), "notes")
        scores = self.path("scores.h5")
        self.evaluate(1, checkpoint, "-o", scores)
        _, said = self.evaluate(1, checkpoint, "evaluate.limit=5", "-o", scores)
        self.assertRegex(said, r"(?m)^replaced +the evaluation of .* \(evaluate\.limit was not set\)$")
        self.assertEqual(self.samples_in("scores.h5"), "5")
        self.assertFalse(os.path.exists(self.path("scores_1.h5")))

    def test_what_cannot_be_evaluated(self):
        self.prepare()
        self.expect(4, run(2, "eval", self.deck), "out has no complete checkpoint")
        self.expect(2, run(2, "eval", self.deck, "data.test=null"), r"data\.test: there is nothing to evaluate on")
        self.expect(2, run(1, "eval", self.path("none.yaml")), "none.yaml")
        os.mkdir(self.path("empty"))
        self.expect(4, run(1, "eval", self.path("empty")), "empty is not a complete checkpoint")
        self.expect(0, run(1, "run", self.deck))
        self.expect(4, run(2, "eval", self.deck, "model.classes=7"), r"model\.safetensors")
        self.expect(2, run(1, "eval", self.deck, "evaluate.limt=7"), "Did you mean limit")
        self.expect(2, run(1, "eval", self.deck, "model.classes=3"), "the training shards have 4 classes")
        model = self.path("out/checkpoints/step_00000004/model.safetensors")
        os.truncate(model, os.path.getsize(model) - 1)
        self.expect(4, run(2, "eval", self.deck), r"model\.safetensors")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
