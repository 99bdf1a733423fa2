#!/usr/bin/env bash
# Launches, copied and all-reduced bytes and memory of a step of each tuning method at the shape of Llama-3-8B, counted
# on the fake GPU and added to the report of a study of methods: no GPU is needed.
#
# usage: bench/method_counts.sh [RESULTS.h5 ...] [--methods "lora;qlora"] [--tokens 2048] [--no-checkpointing]
#                               [-o FOLDER]
#   RESULTS.h5   results of a sweep of methods; their report then has the counts as a table of its own
#   --methods    of tests/fake_gpu/method_counts.py, separated by semicolons (default: all)
# Writes FOLDER/counts.csv and, with results, FOLDER/report.html (default: results/method_counts). Builds what it needs
# first; without the headers of CUDA, cuDNN and NCCL or LibTorch's GPU libraries it ends with 77.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

folder=$root/results/method_counts results=() options=() methods=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage "$0"; exit 0 ;;
    -o) [ $# -ge 2 ] || { say "$program: -o needs a folder"; exit 2; }; folder=$2; shift ;;
    --methods)
      [ $# -ge 2 ] || { say "$program: --methods needs a list"; exit 2; }
      IFS=';' read -ra methods <<<"$2"; shift ;;
    --tokens) [ $# -ge 2 ] || { say "$program: --tokens needs a number"; exit 2; }; options+=("$1" "$2"); shift ;;
    --no-checkpointing) options+=("$1") ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) results+=("$1") ;;
  esac
  shift
done
build_fake_gpu
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
mkdir -p "$folder"
python3 "$root/tests/fake_gpu/method_counts.py" "${methods[@]}" "${options[@]}" | tee "$folder/counts.csv"
if [ ${#results[@]} -gt 0 ]; then
  multicard-post "${results[@]}" --counts "$folder/counts.csv" -o "$folder"
fi
