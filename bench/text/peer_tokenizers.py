#!/usr/bin/env python3
"""MB/s of text that Hugging Face's tokenizers library encodes, median of five.

usage: peer_tokenizers.py TOKENIZER_JSON TEXT
"""
import statistics
import sys
import time

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8", newline="") as stream:
    text = stream.read()
megabytes = len(text.encode()) / 1e6


def rate(texts):
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        for part in texts:
            tokenizer.encode(part, add_special_tokens=False)
        seconds.append(time.perf_counter() - begin)
    return megabytes / statistics.median(seconds)


print(f"{'  tokenizers library':40} encode {rate([text]):.1f} MB/s as one text, "
      f"{rate(text.splitlines(keepends=True)):.1f} MB/s line by line")
