"""The decks that results files hold, as dictionaries: the part of YAML that multicard writes (block and flow maps and
lists, plain and quoted texts). Values stay texts as they are written; `~` and `null` are None."""


def parse(text):
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    value, rest = _block(lines, 0)
    if rest:
        raise ValueError("not understood: " + rest[0])
    return value


def flat(deck, prefix=""):
    """Values by deck path; a list is one value, and so is an empty map."""
    out = {}
    for key, value in deck.items():
        if isinstance(value, dict) and value:
            out.update(flat(value, prefix + key + "."))
        else:
            out[prefix + key] = value
    return out


def _indent(line):
    return len(line) - len(line.lstrip(" "))


def _block(lines, indent):
    """The value whose lines begin at `indent`, and the lines after it."""
    if not lines:
        return None, lines
    return (_list if lines[0].lstrip().startswith("- ") else _map)(lines, indent)


def _map(lines, indent):
    out = {}
    while lines and _indent(lines[0]) == indent and not lines[0].lstrip().startswith("- "):
        key, rest = _key(lines[0].strip())
        lines = lines[1:]
        if rest:
            out[key] = _flow(rest)
        elif lines and (_indent(lines[0]) > indent or _is_item(lines[0], indent)):
            out[key], lines = _block(lines, _indent(lines[0]))
        else:
            out[key] = None
    return out, lines


def _is_item(line, indent):
    return _indent(line) == indent and line.lstrip().startswith("- ")


def _list(lines, indent):
    out = []
    while lines and _is_item(lines[0], indent):
        content = lines[0].strip()[2:]
        lines = lines[1:]
        if content[0] in "{[\"'" or not _has_key(content):
            out.append(_flow(content))
            continue
        inner = indent + 2
        own = [" " * inner + content]
        while lines and _indent(lines[0]) >= inner:
            own.append(lines[0])
            lines = lines[1:]
        value, rest = _map(own, inner)
        if rest:
            raise ValueError("not understood: " + rest[0])
        out.append(value)
    return out, lines


def _has_key(text):
    return ": " in text or text.endswith(":")


def _key(text):
    if text[0] in "\"'":
        end = text.index(text[0], 1)
        return text[1:end], text[end + 1:].lstrip()[1:].strip()
    key, _, rest = text.partition(":")
    return key.strip(), rest.strip()


def _flow(text):
    value, rest = _flow_value(text.strip())
    if rest.strip():
        return text.strip()  # a plain text with signs that only mean something in lists
    return value


def _flow_value(text):
    if text[:1] == "[":
        return _flow_items(text[1:], "]", lambda rest: _flow_value(rest.lstrip()), list)
    if text[:1] == "{":
        return _flow_items(text[1:], "}", _flow_pair, dict)
    if text[:1] in "\"'" and text:
        end = text.index(text[0], 1)
        while text[end - 1] == "\\":
            end = text.index(text[0], end + 1)
        return text[1:end].replace('\\"', '"'), text[end + 1:]
    end = min((at for at in (text.find(sign) for sign in ",]}") if at >= 0), default=len(text))
    word = text[:end].strip()
    return None if word in ("~", "null") else word, text[end:]


def _flow_pair(text):
    text = text.lstrip()
    if text[0] in "\"'":
        end = text.index(text[0], 1)
        key, text = text[1:end], text[end + 1:].lstrip()[1:]
    else:
        key, _, text = text.partition(":")
    value, rest = _flow_value(text.lstrip())
    return (key.strip(), value), rest


def _flow_items(text, end, read, kind):
    items = []
    while True:
        text = text.lstrip()
        if text[:1] == end:
            return kind(items), text[1:]
        item, text = read(text)
        items.append(item)
        text = text.lstrip()
        if text[:1] == ",":
            text = text[1:]
