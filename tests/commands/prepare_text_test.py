"""multicard prepare text as a person runs it."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from command_test import CommandTest, launch, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
TOKENIZER = str(SOURCE / "tests/data/tokenizers/smollm2")
INSTRUCTIONS = str(SOURCE / "inputs/text/instruction-data.json")


class PrepareText(CommandTest):
    def prepare_text(self, ranks, *arguments, timeout=120):
        return run(ranks, "prepare", "text", *arguments, timeout=timeout)

    def test_instructions_become_two_sets_of_shards(self):
        result = self.expect(0, self.prepare_text(2, "--type", "alpaca", "--in", INSTRUCTIONS, "--tokenizer", TOKENIZER,
                                                  "-o", self.path("set"), "--shards", "2", "--split", "0.1",
                                                  "--max-length", "80"),
                             r"template smollm2 \(the chat template of ", "packed into rows of", "cut at --max-length",
                             "wrote 990 sequences", "wrote 110 sequences")
        self.assertEqual(result[1], "")
        self.assertEqual(sorted(os.listdir(self.scratch)),
                         ["deck.yaml"] + ["set-%s-0000%d-of-00002.h5" % (part, i)
                                          for part in ("test", "train") for i in (0, 1)])
        self.assertIn("multicard-tokens", self.attribute(self.path("set-test-00001-of-00002.h5"), "/format"))

    def test_two_ranks_write_what_one_writes(self):
        for ranks in (1, 2):
            self.expect(0, self.prepare_text(ranks, "--type", "alpaca", "--in", INSTRUCTIONS, "--tokenizer", TOKENIZER,
                                             "-o", self.path("ranks%d" % ranks)))
        one, two = ({name: self.text(self.path("ranks%d-00000-of-00001.h5" % ranks), name).split("\n", 1)[1]
                     for name in ("/tokens", "/loss_mask", "/offsets")} for ranks in (1, 2))
        self.assertEqual(one, two)

    def test_a_folder_without_a_known_chat_template_means_alpaca(self):
        gpt2 = str(SOURCE / "tests/data/tokenizers/gpt2")
        self.expect(0, self.prepare_text(1, "--type", "alpaca", "--in", INSTRUCTIONS, "--tokenizer", gpt2, "-o",
                                         self.path("set")), r"template alpaca \(.*gpt2 has no chat template\)")

    def test_conversations_need_a_chat_template(self):
        gpt2 = str(SOURCE / "tests/data/tokenizers/gpt2")
        lines = Path(self.path("lines.jsonl"))
        lines.write_text('{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}\n')
        chat = ("--type", "chat", "--in", str(lines), "--tokenizer", gpt2, "-o", self.path("set"))
        self.expect(2, self.prepare_text(1, *chat), "no chat template to render conversations with",
                    "--template chatml")

    def test_an_unknown_chat_template_is_rendered(self):
        model = Path(self.path("model"))
        model.mkdir()
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (model / name).write_bytes((Path(TOKENIZER) / name).read_bytes())
        (model / "chat_template.jinja").write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}")
        lines = Path(self.path("lines.jsonl"))
        lines.write_text('{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo", '
                         '"reasoning": "hm"}]}\n')
        self.expect(0, self.prepare_text(1, "--type", "chat", "--in", str(lines), "--tokenizer", str(model), "-o",
                                         self.path("set")),
                    r"template chat_template \(the chat template of ", "1 record has reasoning", "wrote 1 sequence")

    def test_a_bad_line_is_named(self):
        lines = Path(self.path("lines.jsonl"))
        lines.write_text('{"question": "1", "answer": "2"}\n\n{"question": "1"}\n')
        arguments = ("--type", "question-answer", "--in", str(lines), "--tokenizer", TOKENIZER, "-o", self.path("set"))
        self.expect(4, self.prepare_text(2, *arguments), r"line 3 of .*lines\.jsonl has no \"answer\"", "--skip-bad")
        self.expect(0, self.prepare_text(2, *arguments, "--skip-bad"), "1 unreadable record is left out",
                    "wrote 1 sequence,")

    def test_names_of_other_data_sets_are_mapped(self):
        one, other = Path(self.path("one.jsonl")), Path(self.path("other.jsonl"))
        one.write_text('{"instruction": "Say hi.", "output": "Hi!"}\n')
        other.write_text('{"prompt": "Say hi.", "reply": "Hi!"}\n')
        prepared = []
        for name, arguments in (("one", ()), ("other", ("--map", "output=reply"))):
            self.expect(0, self.prepare_text(1, "--type", "alpaca", "--in", str(Path(self.path(name + ".jsonl"))),
                                             "--tokenizer", TOKENIZER, "-o", self.path(name), *arguments))
            prepared.append(self.text(self.path(name + "-00000-of-00001.h5"), "/tokens").split("\n", 1)[1])
        self.assertEqual(*prepared)
        arguments = ("--type", "alpaca", "--in", str(one), "--tokenizer", TOKENIZER, "-o", self.path("set"), "--map")
        self.expect(2, self.prepare_text(2, *arguments, "input=contxt"),
                    "--map input=contxt names nothing that any record has")
        self.expect(2, self.prepare_text(1, *arguments, "input"), "is not NAME=THEIRS")

    def test_tables_are_read_as_their_rows_in_json(self):
        rows = [["Say hi,\nplease.", 'He said: "hi"'], ["Count.", "1\r\n2"], ["", "nothing"]]
        lines = "".join(json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in rows)
        Path(self.path("lines.jsonl")).write_text(lines)
        with open(self.path("table.csv"), "w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file).writerows([["question", "answer"], *rows])
        with gzip.open(self.path("table.tsv.gz"), "wt", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t").writerows([["answer", "question"], *(row[::-1] for row in rows)])
        tokens = set()
        for ranks, name in ((1, "lines.jsonl"), (2, "table.csv"), (2, "table.tsv.gz")):
            prefix = self.path("set-" + name.split(".")[1])
            self.expect(0, self.prepare_text(ranks, "--type", "question-answer", "--in", self.path(name),
                                             "--tokenizer", TOKENIZER, "-o", prefix), "wrote 3 sequences")
            tokens.add(self.text(prefix + "-00000-of-00001.h5", "/tokens").split("\n", 1)[1])
        self.assertEqual(len(tokens), 1)
        Path(self.path("bad.csv")).write_text('question,answer\n"a\nb",c\nd,e,f\n')
        self.expect(4, self.prepare_text(2, "--type", "question-answer", "--in", self.path("bad.csv"), "--tokenizer",
                                         TOKENIZER, "-o", self.path("bad")),
                    r"line 4 of .*bad\.csv has 3 fields, the header 2")

    def test_columnar_files_are_refused_with_the_way_to_convert_them(self):
        for name, begin in (("c.feather", b"ARROW1\0\0"), ("d.arrow", b"\xff\xff\xff\xff\x10\0")):
            Path(self.path(name)).write_bytes(begin + bytes(20))
            self.expect(4, self.prepare_text(1, "--type", "chat", "--in", self.path(name), "--tokenizer", TOKENIZER,
                                             "-o", self.path("set")),
                        rf"{re.escape(name)} is a file of Arrow", r"python3 -c 'import (pandas|pyarrow)")

    def test_utf16_is_named(self):
        for name, code, command in (("a.jsonl", "utf-16", "iconv -f UTF-16 -t"),
                                    ("b.jsonl", "utf-16-be", "iconv -f UTF-16BE -t"),
                                    ("c.jsonl.gz", "utf-16-le", r"zcat \S*c\.jsonl\.gz \| iconv -f UTF-16LE -t")):
            wide = '{"text": "a"}\n'.encode(code)
            Path(self.path(name)).write_bytes(gzip.compress(wide) if name.endswith(".gz") else wide)
            self.expect(4, self.prepare_text(1, "--type", "text", "--in", self.path(name), "--tokenizer", TOKENIZER,
                                             "-o", self.path("wide")), "is UTF-16 text", command)

    def test_damaged_json_is_quoted_in_printable_words(self):
        Path(self.path("raw.jsonl")).write_bytes(b'{"question": "\xff\xfe"}\n')
        result = self.expect(4, self.prepare_text(1, "--type", "question-answer", "--in", self.path("raw.jsonl"),
                                                     "--tokenizer", TOKENIZER, "-o", self.path("set")), r"\\xff")
        self.assertNotIn("json.exception", result[2])

    def test_identical_runs_write_identical_files(self):
        for name in ("one", "two"):
            self.expect(0, self.prepare_text(1, "--type", "alpaca", "--in", INSTRUCTIONS, "--tokenizer", TOKENIZER,
                                             "-o", self.path(name)))
            self.expect(0, run(1, "prepare", "images", "--format", "synthetic", "--limit", "20", "-o",
                               self.path("images-" + name)))
        for prefix in ("", "images-"):
            one, two = (Path(self.path(f"{prefix}{name}-00000-of-00001.h5")).read_bytes() for name in ("one", "two"))
            self.assertEqual(one, two)

    def test_the_time_of_the_whole_command_is_told(self):
        self.expect(0, self.prepare_text(2, "--type", "alpaca", "--in", INSTRUCTIONS, "--tokenizer", TOKENIZER, "-o",
                                         self.path("set")), r"took [0-9.]+ s for \d+ kB of records: .*B/s, .* tokens/s")

    def test_wrong_usage(self):
        arguments = ("--in", INSTRUCTIONS, "-o", self.path("set"))
        self.expect(2, self.prepare_text(1, "--type", "poems", *arguments), "no dataset type poems")
        self.expect(2, self.prepare_text(1, "--type", "alpaca", *arguments), "needs --tokenizer")
        self.expect(2, self.prepare_text(1, "--type", "alpaca", *arguments, "--tokenizer", TOKENIZER, "--template",
                                         "latin"), "latin")
        self.expect(4, self.prepare_text(2, "--type", "alpaca", *arguments, "--tokenizer", self.path("none")), "none")
        self.expect(4, self.prepare_text(1, "--type", "alpaca", "--in", self.path("none.json"), "-o", self.path("set"),
                                         "--tokenizer", TOKENIZER), "none.json")
        self.assertEqual(os.listdir(self.scratch), ["deck.yaml"])

    def test_labels_that_are_not_their_ids(self):
        lines = Path(self.path("ids.jsonl"))
        lines.write_text('{"input_ids": [1, 2, 3], "labels": [-100, 2, 4]}\n')
        self.expect(4, self.prepare_text(1, "--type", "tokens", "--in", str(lines), "-o", self.path("set")),
                    r"line 1 of .*ids\.jsonl")

    def test_a_terminated_prepare_leaves_nothing(self):
        os.mkdir(self.path("new"))
        lines = Path(self.path("many.jsonl"))
        record = json.dumps({"question": "many different words " * 40, "answer": "few"})
        lines.write_text((record + "\n") * 60000)
        process = launch(1, "prepare", "text", "--type", "question-answer", "--in", str(lines), "--tokenizer",
                         TOKENIZER, "-o", self.path("new/set"))
        self.addCleanup(process.kill)
        self.assertIn("template", process.stderr.readline())  # a second or more before it is done
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertEqual(os.listdir(self.path("new")), [])

    def test_the_sets_of_the_study(self):
        for folder in ("a", "b"):
            done = subprocess.run([str(SOURCE / "scripts/get_text.sh"), self.path(folder)], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(os.listdir(self.path("a")))
        self.assertEqual(names, ["alpaca.json", "chat.jsonl", "long_prompts.jsonl", "preference.json",
                                 "question_answer_test.jsonl", "question_answer_train.jsonl", "text.jsonl"])
        for name in names:
            self.assertEqual(Path(self.path("a"), name).read_bytes(), Path(self.path("b"), name).read_bytes())
        counts = {}
        for kind, name in (("chat", "chat"), ("prompt-completion", "long_prompts"), ("text", "text"),
                           ("preference", "preference")):
            file = next(str(path) for path in Path(self.path("a")).glob(name + ".*"))
            result = self.expect(0, self.prepare_text(2, "--type", kind, "--in", file, "--tokenizer", TOKENIZER, "-o",
                                                      self.path(name)))
            counts[name] = int(re.search(r"wrote ([\d,]+) (sequences|pairs)", result[2]).group(1).replace(",", ""))
        self.assertEqual(counts, {"chat": 275, "long_prompts": 830, "text": 1072, "preference": 1100})
        chats = Path(self.path("a/chat.jsonl")).read_text(encoding="utf-8").splitlines()
        turns = [len(json.loads(chat)["messages"]) // 2 for chat in chats]
        self.assertEqual((min(turns), max(turns), sum(turns)), (2, 6, 1100))


if __name__ == "__main__":
    unittest.main()
