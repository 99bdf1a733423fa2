#!/usr/bin/env python3
"""What stands at the end of the image sweeps: their reports against an independent computation.

usage: golden_image_test.py CLASS   runs one test class; needs h5py and numpy"""

from golden_case import GoldenCase, main

NARROW = {"model.width": 0.25, "model.classes": 4, "data.test": "null"}


class ImageCase(GoldenCase):
    def study(self, name, **changes):
        """A deck of inputs/image/study with a narrow network on small synthetic images."""
        train = changes.pop("train", None) or self.images()
        return self.sweep(f"inputs/image/study/{name}.yaml", name,
                          **{"data.train": train, **NARROW, **changes})


class Scaling(ImageCase):
    """Speedup and efficiency from one rank to two."""

    def check_scaling(self, report, studies, kind):
        (found,), (study,) = report.summary["studies"], studies
        self.assertEqual((found["scaling"], study.scaling), (kind, kind))
        self.assertEqual([cell.ranks for cell in study.cells], [1, 2])
        self.assertTrue(study.cells[1].efficiency.certain)
        (speedup,) = [statement for statement in found["answers"] if statement["id"] == "speedup"]
        self.assertIn(kind + " scaling", speedup["text"])
        self.assertLessEqual({"time", "speedup", "efficiency"}, {figure["id"] for figure in found["figures"]})

    def changes(self):
        return {"data.train": self.images(), "data.test": "null", "limits.steps": 14, "limits.skip_steps": 4}

    def test_strong(self):
        self.check_scaling(*self.sweep("inputs/image/tiny_scaling.yaml", "strong", **self.changes(),
                                       **{"run.global_batch": 16}), "strong")

    def test_weak(self):
        self.check_scaling(*self.sweep("inputs/image/tiny_scaling.yaml", "weak", **self.changes(),
                                       **{"run.batch_per_rank": 8, "repeat": 1}), "weak")

    def test_the_shipped_deck_of_a_full_network(self):
        self.check_scaling(*self.sweep("inputs/image/fashion_scaling.yaml", "fashion", **NARROW, **{
            "data.train": self.images(), "data.image_size": 32, "limits.steps": 8, "limits.skip_steps": 2,
            "repeat": 1}), "strong")


class Strategies(ImageCase):
    """The study's part a: strategies, image sizes and ranks; its time and efficiency against both."""

    def test_it(self):
        report, (study,) = self.study("scaling", **{"repeat": 2})
        self.assertEqual(study.axes, {"parallel.strategy": ["dp", "ddp"], "data.image_size": ["32", "48"]})
        figures = {figure["id"] for figure in report.summary["studies"][0]["figures"]}
        self.assertLessEqual({"time", "efficiency", "time-2", "time-image_size", "efficiency-image_size", "options",
                              "heat", "overview"}, figures)


class Sizes(ImageCase):
    """The study's part b: image sizes at FP64 on one and two ranks."""

    def test_it(self):
        report, (study,) = self.study("image_size", **{"limits.steps": 9, "limits.skip_steps": 2})
        self.assertEqual(study.axes, {"data.image_size": ["32", "48"]})
        figures = {figure["id"] for figure in report.summary["studies"][0]["figures"]}
        self.assertLessEqual({"time", "speedup", "efficiency", "time-image_size", "efficiency-image_size"}, figures)


class Precisions(ImageCase):
    """The study's part c: what cannot run here is a failed run with its reason, and no effect."""

    def test_it(self):
        report, (study,) = self.study("precision", **{"sweep.precision": "[fp64,fp32,tf32,fp16]"})
        failed = [run for run in study.runs if run.status == "failed"]
        self.assertEqual({run.attributes["precision"] for run in failed}, {"tf32"})
        tf32 = [one for one in report.summary["studies"][0]["options"] if one["value"] == "tf32"]
        self.assertEqual([one["ratio"]["value"] for one in tf32], [None])


class Inputs(ImageCase):
    """The study's part d: layout x pipeline x image size."""

    def test_it(self):
        _, (study,) = self.study("input", train=self.images("native", 64, 32), **{"repeat": 2})
        self.assertEqual(list(study.axes), ["data.layout", "data.pipeline", "data.image_size"])
        self.assertEqual(len(study.cells), 8)


class Exchange(ImageCase):
    """The study's part e: how gradients are exchanged."""

    def test_it(self):
        _, (study,) = self.study("exchange", **{"repeat": 2})
        self.assertEqual(study.axes["parallel.overlap"], ["true", "false"])
        self.assertEqual({key for key, _ in study.effects_of_options()},
                         {"parallel.bucket_mb", "parallel.overlap", "parallel.gradient_dtype"})


if __name__ == "__main__":
    main()
