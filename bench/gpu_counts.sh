#!/usr/bin/env bash
# Launches, waits, copies and memory of a step of every deck of inputs/, counted on the fake GPU: no GPU is needed.
#
# usage: bench/gpu_counts.sh [NAME ...] [-o FILE]     NAME is how a deck's name begins, e.g. image/ (default: all)
# Prints a Markdown table, as in docs/performance.md, and writes it to FILE too. Builds what it needs first; without the
# headers of CUDA, cuDNN and NCCL or LibTorch's GPU libraries it ends with 77. About 3 minutes.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

names=() file=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage "$0"; exit 0 ;;
    -o) [ $# -ge 2 ] || { say "$program: -o needs a file"; exit 2; }; file=$2; shift ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done
build_fake_gpu
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
python3 "$root/tests/fake_gpu/counts.py" "${names[@]}" | tee ${file:+"$file"}
