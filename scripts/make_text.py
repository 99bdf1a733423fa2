#!/usr/bin/env python3
"""Makes conversations, long prompts and plain texts from the instructions and the solved questions of a folder.

usage: make_text.py INPUTS OUTPUT     (called by get_text.sh)

Deterministic: what goes together follows from the order of the inputs alone.
"""
import json
import pathlib
import sys

FEWEST_TURNS, MOST_TURNS = 2, 6
EXAMPLES = 8  # solved questions in front of one
ANSWERS = 8   # answers in a plain text


def write_lines(path, records):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def question_of(row):
    return row["instruction"] + ("\n" + row["input"] if row["input"] else "")


def conversations(rows):
    """Instructions joined as the turns of a conversation: 2, 3, 4, 5, 6, 2, ... of them, in order; what is left over
    joins the last one."""
    taken, turns = 0, FEWEST_TURNS
    while taken < len(rows):
        end = taken + turns
        if len(rows) - end < FEWEST_TURNS:
            end = len(rows)
        messages = []
        for row in rows[taken:end]:
            messages.append({"role": "user", "content": question_of(row)})
            messages.append({"role": "assistant", "content": row["output"]})
        yield {"messages": messages}
        taken = end
        turns = turns + 1 if turns < MOST_TURNS else FEWEST_TURNS


def long_prompts(questions):
    """Every ninth question, the eight before it with their answers in its prompt."""
    for last in range(EXAMPLES, len(questions), EXAMPLES + 1):
        solved = questions[last - EXAMPLES:last]
        asked = questions[last]
        prompt = "".join(f"Question: {row['question']}\nAnswer: {row['answer']}\n\n" for row in solved)
        yield {"prompt": prompt + f"Question: {asked['question']}\nAnswer:", "completion": " " + asked["answer"]}


def plain_texts(answers):
    """Eight answers at a time, a paragraph each."""
    for first in range(0, len(answers), ANSWERS):
        yield {"text": "\n\n".join(answers[first:first + ANSWERS])}


def main():
    inputs, output = map(pathlib.Path, sys.argv[1:3])
    rows = json.loads((inputs / "instruction-data.json").read_text(encoding="utf-8"))
    with open(inputs / "gsm8k_train.jsonl", encoding="utf-8") as file:
        questions = [json.loads(line) for line in file]
    write_lines(output / "chat.jsonl", conversations(rows))
    write_lines(output / "long_prompts.jsonl", long_prompts(questions))
    answers = [row["output"] for row in rows] + [row["answer"] for row in questions]
    write_lines(output / "text.jsonl", plain_texts(answers))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
