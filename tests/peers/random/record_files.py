"""Records of all types that have peers, and templates made of parts."""

from chat_reference import PHRASES, TEMPLATES, conversation

from random_text import random_text

HEADS = [["<|im_start|>", "\n"], ["<|", "|>\n"], ["### ", ":\n"], ["[", "] "], ["", ": "]]
ENDS = ["<|im_end|>", "</s>", "<|end|>", "\n", "", "<|endoftext|>"]
ROLES = {"user": "human", "assistant": "gpt", "system": "system"}
NAMED = ["chatml", "phi4", "qwen2", "qwen2.5", "smollm2"]  # with special tokens of the tokenizer
ALTERNATE = "(message['role'] == 'user') != (loop.index0 % 2 == 0)"


def text(draw):
    kind = draw.random()
    if kind < 0.6:
        return draw.choice(PHRASES)
    return draw.choice(PHRASES) + draw.choice(PHRASES) if kind < 0.8 else random_text(draw, PHRASES)


def draw_template(draw):
    """The name of a file of tests/peers/templates, or the parts of a template."""
    if draw.random() < 0.5:
        return draw.choice(TEMPLATES).stem
    return {"bos": draw.random() < 0.4, "head": draw.choice(HEADS), "end": draw.choice(ENDS),
            "after": draw.choice(["\n", "", "\n\n", " "]),
            "trim": draw.random() < 0.4, "generation": draw.random() < 0.3, "alternates": draw.random() < 0.2,
            "default": draw.choice([None, None, "You are helpful.", ""]), "eos": draw.random() < 0.2,
            "prompt": draw.choice(["", "", "<think>\n", " "]), "cuts": draw.random() < 0.15}


def quoted(value):
    return "'" + value.replace("\\", "\\\\").replace("\n", "\\n").replace("'", "\\'") + "'"


def written(*expressions):
    return "{{- " + " + ".join(expressions) + " }}"


def if_block(condition, body, otherwise=None):
    return f"{{%- if {condition} %}}{body}" + (f"{{%- else %}}{otherwise}" if otherwise else "") + "{%- endif %}"


def source_of(parts):
    """The template in Jinja."""
    before, closing = parts.get("head", ["<|", "|>"])
    end, after = parts.get("end", "<|im_end|>"), parts.get("after", "")
    content = "message['content']" + (".split('</think>')[-1]" if parts.get("cuts") else "")
    said = written(content + (" | trim" if parts.get("trim") else ""), quoted(end))
    if parts.get("generation"):
        said = if_block("message['role'] == 'assistant'", f"{{%- generation %}}{said}{{%- endgeneration %}}", said)
    lines = ["{{- bos_token }}"] if parts.get("bos") else []
    if parts.get("default") is not None:
        system = quoted(before + "system" + closing + parts["default"] + end + after)
        lines.append(if_block("messages[0]['role'] != 'system'", written(system)))
    lines.append("{%- for message in messages %}")
    if parts.get("alternates"):
        lines.append(if_block(ALTERNATE, written("raise_exception('Roles must alternate')")))
    role = written(quoted(before), "message['role']", quoted(closing))
    lines += [role, said, written(quoted(after)), "{%- endfor %}"]
    if parts.get("eos"):
        lines.append(if_block("messages[-1]['role'] == 'assistant'", written("eos_token")))
    prompt = before + "assistant" + closing + parts.get("prompt", "")
    return "\n".join(lines + [if_block("add_generation_prompt", written(quoted(prompt)))])


def draw_prompt(draw):
    """Messages up to a user's."""
    messages = [{"role": "system", "content": text(draw)}] if draw.random() < 0.3 else []
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        messages += [{"role": "user", "content": text(draw)}, {"role": "assistant", "content": text(draw)}]
    return messages + [{"role": "user", "content": text(draw)}]


def answer(draw):
    return {"role": "assistant", "content": text(draw)}


def shared_gpt(record):
    """The same with the names of ShareGPT."""
    return {"conversations": [{"from": ROLES.get(message["role"], message["role"]), "value": message["content"]}
                              for message in record["messages"]]}


def draw_chat(draw):
    record = conversation(draw)
    is_plain = all(set(message) == {"role", "content"} for message in record["messages"]) and "tools" not in record
    return shared_gpt(record) if is_plain and draw.random() < 0.3 else record


def draw_instruction(draw):
    record = {"instruction": text(draw), "output": text(draw)}
    if draw.random() < 0.5:
        record["input"] = draw.choice(["", text(draw)])
    if draw.random() < 0.2:
        record["system"] = text(draw)
    if draw.random() < 0.1:
        record["history"] = [[text(draw), text(draw)]]
    return record


def draw_completion(draw):
    if draw.random() < 0.3:
        return {"prompt": text(draw), "completion": text(draw)}
    return {"prompt": draw_prompt(draw), "completion": [answer(draw)]}


def draw_preference(draw):
    prompt, chosen, rejected = draw_prompt(draw), [answer(draw)], [answer(draw)]
    kind = draw.random()
    if kind < 0.3:
        return {"chosen": prompt + chosen, "rejected": prompt + rejected}
    if kind < 0.8:
        return {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    pair = {"chosen": text(draw), "rejected": text(draw)}
    return {**pair, "prompt": text(draw)} if kind < 0.9 else {key: "Q: x A: " + value for key, value in pair.items()}


RECORDS = {"chat": draw_chat, "alpaca": draw_instruction, "prompt-completion": draw_completion,
           "preference": draw_preference,
           "question-answer": lambda draw: {"question": text(draw), "answer": text(draw)},
           "text": lambda draw: {"text": text(draw)}}


def draw_record(draw):
    """A case."""
    kind = draw.choice([*RECORDS, "chat", "preference", "prompt-completion"])
    case = {"type": kind, "record": RECORDS[kind](draw), "source": draw_template(draw),
            "loss": draw.choice(["completion", "completion", "completion", "all"])}
    if draw.random() < 0.1:
        case["record"][draw.choice(["id", "score", "weird", "images"])] = draw.choice(["x", 1, [], None])
    if draw.random() < 0.15:
        case["template"] = case["source"] = draw.choice(NAMED)
    if any(isinstance(case["record"].get(key), str) for key in ("completion", "chosen")):
        case["template"] = "plain"
    return case
