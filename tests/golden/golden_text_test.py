#!/usr/bin/env python3
"""What stands at the end of the text sweeps: their reports against an independent computation.

usage: golden_text_test.py CLASS   runs one test class; needs h5py and numpy"""

import os
import subprocess

from golden_case import MODEL, SOURCE, GoldenCase, main

INSTRUCTIONS = "inputs/text/instruction-data.json"
QUESTIONS = "inputs/text/gsm8k_test.jsonl"


class DataSets(GoldenCase):
    """The study of dataset types, in equal rows and in equal tokens."""

    CHANGES = {"model.path": MODEL, "model.dtype": "fp32", "evaluate.prompts": "[]", "evaluate.at_start": "false"}

    def test_equal_rows(self):
        alpaca, _ = self.texts("alpaca", "alpaca", INSTRUCTIONS, "--max-length", 128)
        questions, _ = self.texts("questions", "question-answer", QUESTIONS, "--max-length", 256)
        cases = f"[{{name: alpaca, data.train: '{alpaca}', run.micro_batch: 4}}, " \
                f"{{name: question-answer, data.train: '{questions}', run.micro_batch: 2}}]"
        report, (study,) = self.sweep("inputs/llm/study/dataset_types.yaml", "rows", **self.CHANGES, **{
            "sweep.cases": cases, "run.global_batch": 4, "limits.steps": 5})
        self.check_sets(report, study, {"alpaca", "question-answer"})

    def test_equal_tokens(self):
        sets = {"alpaca": self.texts("alpaca", "alpaca", INSTRUCTIONS, "--max-length", 128)[0],
                "question-answer": self.texts("questions", "question-answer", QUESTIONS, "--max-length", 256)[0]}
        rows = {("alpaca", "padded"): 20, ("alpaca", "packed"): 9, ("question-answer", "padded"): 11,
                ("question-answer", "packed"): 9}
        cases = ", ".join(
            f"{{name: {name} {how}, data.train: '{sets[name]}', data.packing: {str(how == 'packed').lower()}, "
            f"data.max_length: {'256' if how == 'packed' else 'null'}, run.global_batch: {count}, run.micro_batch: 2, "
            "run.seed: 1}" for (name, how), count in rows.items())
        report, (study,) = self.sweep("inputs/llm/study/dataset_types_tokens.yaml", "tokens", **self.CHANGES, **{
            "sweep.cases": f"[{cases}]", "limits.steps": 5})
        self.check_sets(report, study, {f"{name} {how}" for name, how in rows})

    def check_sets(self, report, study, names):
        self.assertEqual(set(study.axes["case"]), names)
        found = report.summary["studies"][0]
        self.assertLessEqual({"data_sets-1", "data_sets-2"}, {statement["id"] for statement in found["answers"]})
        self.assertLessEqual({"data_sets-time", "data_sets-rate"}, {figure["id"] for figure in found["figures"]})
        self.assertEqual(len(report.tables("data_sets")), 1)


class Methods(GoldenCase):
    """scripts/study_methods.sh: time, memory and scores of every tuning method, on one rank and two."""

    def test_it(self):
        output = self.scratch / "methods"
        words = ["--quick", "--ranks", "2", "--no-counts", "-o", output, "limits.steps=8", "limits.skip_steps=2",
                 "model.dtype=fp32"]
        done = subprocess.run([SOURCE / "scripts/study_methods.sh", *words], env={**os.environ, "MODEL": MODEL},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        report, (study,) = self.compare([output / "results.h5"], 2)
        self.assertEqual(report.page.count("<table"), (output / "report/report.html").read_text().count("<table"))
        self.assertEqual(study.axes, {"case": ["full", "lora", "qlora", "qat", "lora-qat", "dpo", "lora-dpo",
                                               "qlora-dpo"]})
        found = report.summary["studies"][0]
        self.assertLessEqual({"methods-1", "methods-2", "methods-preference-1", "methods-preference-2"},
                             {statement["id"] for statement in found["answers"]})
        labels = {entry["label"]: entry["settings"] for entry in found["configurations"]}
        self.check_methods(found, study, labels, report)


if __name__ == "__main__":
    main()
