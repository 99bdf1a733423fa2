#!/usr/bin/env bash
# What a step of each way to split Llama-3-8B sends, counted on the fake GPU, from how many tokens on a GPU computes
# longer than that, and what of it stays exposed on links of two rates: a Markdown table, as in docs/sharding.md.
#
# usage: bench/sharding_links.sh [NAME ...] [OPTION ...] [-o FILE]
#   NAME      a way to split, e.g. "LoRA, full"; tests/fake_gpu/link_counts.py --help has all (default: all) and
#   OPTION    its options: --shape, --counted-ranks, --ranks, --tokens, --links
# Prints the table and writes it to FILE too. Builds what it needs first; without the headers of CUDA, cuDNN and NCCL or
# LibTorch's GPU libraries it ends with 77. About half a minute.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

words=() file=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage "$0"; exit 0 ;;
    -o) [ $# -ge 2 ] || { say "$program: -o needs a file"; exit 2; }; file=$2; shift ;;
    *) words+=("$1") ;;
  esac
  shift
done
build_fake_gpu
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
python3 "$root/tests/fake_gpu/link_counts.py" "${words[@]}" | tee ${file:+"$file"}
