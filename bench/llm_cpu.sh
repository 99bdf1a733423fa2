#!/usr/bin/env bash
# multicard against transformers + PEFT, bitsandbytes, torchao and TRL on CPU: every tuning method (adapters of rank 16,
# alpha 32, on all linear layers) on SmolLM2-135M-Instruct, ranks of 1 thread, 2 rows of 512 tokens of real text a rank
# and step; of preference methods 2 pairs of such rows.
#
# usage: bench/llm_cpu.sh [--methods "full lora qlora qat lora-qat dpo lora-dpo qlora-dpo"] [--ranks "1 2"]
#                         [--precisions "bf16"] [--masked "50"] [--steps 8] [--warmup 2] [--repeats 3] [--length 512]
#                         [--batch 2] [--check] [-o FOLDER]
#   --masked   percent of every row's labels that are -100: the first ones, as those of a prompt; pairs have prompts
#   --check    tries this script itself with TinyStories-656K and a few short rows; its rates mean nothing
# Every repeat runs multicard, the plain peer and the tuned peer one after the other, so that a change of the machine's
# speed meets all three. The peer is tuned by its environment: glibc keeps freed memory, and on CPUs of other makers MKL
# is made to take its Intel path, by a preloaded library. All three must begin with the same loss.
# Prints one table; FOLDER (results/bench_llm_cpu) keeps every single run as JSON. Tokens are input tokens; ratios are
# medians of those of each repeat; exchange is the share of a step that waits for collectives, and with them for the
# other rank; peak is the resident memory of the largest rank, loading included. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=bench/llm_peer.sh
. "$root/bench/llm_peer.sh"

methods="full lora qlora qat lora-qat dpo lora-dpo qlora-dpo" group_size=64
ranks="1 2" precisions=bf16 masked='' steps='' warmup='' repeats='' length='' batch=2 check=no device=cpu
folder=$root/results/bench_llm_cpu
read_options methods ranks precisions masked steps warmup repeats length batch check? -- "$@"
if [ "$check" = yes ]; then
  : "${masked:=50}" "${steps:=2}" "${warmup:=1}" "${repeats:=1}" "${length:=256}"
else
  : "${masked:=50}" "${steps:=8}" "${warmup:=2}" "${repeats:=3}" "${length:=512}"
fi
micro_batch=$batch
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
records=$folder/runs.jsonl
: >"$records"

# Sets `python` and `model`.
install() {
  install_llm_peer
  case $methods in *q* | *dpo*) "$root/scripts/setup_peers.sh" --methods; use_method_peers ;; esac
  if [ "$check" = yes ]; then
    model=$root/tests/data/models/tinystories-656K
  else
    model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
  fi
}

# Blocks of every size stay in the heap and freed memory is not given back, or each step faults its pages in again.
tuned=(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000)

prefer_fast_mkl() {
  if grep -q GenuineIntel /proc/cpuinfo; then return; fi
  have cc || die "cc, which builds what makes MKL take its Intel path on this CPU, is not there"
  echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' | cc -x c -shared -fPIC -o "$folder/intel_path.so" -
  tuned+=("LD_PRELOAD=$folder/intel_path.so")
}

# Rows of exactly $length tokens for the longest run, $folder/rows-MASKED.jsonl, and shards of them: solved questions in
# a fixed random order, end to end.
make_rows() {
  local most=1 count
  for count in $ranks; do if [ "$count" -gt "$most" ]; then most=$count; fi; done
  with_peers "$python" - "$root/inputs/text/gsm8k_train.jsonl" "$model/tokenizer.json" "$folder" "$length" \
    $(((warmup + steps) * most * batch)) "$masked" <<'PYTHON'
import json
import random
import sys

import tokenizers

source, tokenizer, folder, length, num_rows, masked = sys.argv[1:]
length, num_rows = int(length), int(num_rows)
tokenizer = tokenizers.Tokenizer.from_file(tokenizer)
with open(source, encoding="utf-8") as file:
    texts = ["{question}\n{answer}\n\n".format(**json.loads(line)) for line in file]
stream = []
while len(stream) < num_rows * length:
    for text in random.Random(1).sample(texts, min(len(texts), 500)):
        stream += tokenizer.encode(text, add_special_tokens=False).ids
rows = [stream[begin:begin + length] for begin in range(0, num_rows * length, length)]
for percent in masked.split():
    first = length * int(percent) // 100
    with open(f"{folder}/rows-{percent}.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            print(json.dumps({"input_ids": row, "labels": [-100] * first + row[first:]}), file=file)
PYTHON
  for count in $masked; do make_token_shards "rows-$count"; done
}

# $folder/pairs.jsonl and shards of pairs that are longer than $length, cut to it: a question of GSM8K and two answers
# that are several solved questions each.
make_pairs() {
  local most=1 count
  for count in $ranks; do if [ "$count" -gt "$most" ]; then most=$count; fi; done
  rm -rf "$folder/data/pairs"-*.h5
  mkdir -p "$folder/data"
  "$python" - "$root/inputs/text/gsm8k_train.jsonl" "$folder/records.json" "$length" \
    $(((warmup + steps) * most * batch)) <<'PYTHON'
import json
import random
import sys

source, path, length, num_pairs = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    texts = [json.loads(line) for line in file]
draw = random.Random(1)


def answer():
    words = []
    while len(words) < int(length):  # a token is at most a word here, and mostly less
        words += "{question}\n{answer}".format(**draw.choice(texts)).split()
    return " ".join(words)


records = [{"instruction": draw.choice(texts)["question"], "input": "", "output": "", "chosen": answer(),
            "rejected": answer()} for _ in range(int(num_pairs))]
with open(path, "w", encoding="utf-8") as file:
    json.dump(records, file)
PYTHON
  multicard prepare text --type preference --tokenizer "$model" --in "$folder/records.json" --max-length "$length" \
    -o "$folder/data/pairs" >"$folder/prepare.log" 2>&1 ||
    die "the pairs cannot be prepared: $(tail -n 1 "$folder/prepare.log")"
  with_peers "$python" "$root/bench/pairs_of_shards.py" "$folder/data"/pairs-*.h5 >"$folder/pairs.jsonl"
}

# The rows of a method: pairs, or those with that many labels masked.
rows_of() {  # METHOD MASKED
  case $1 in *dpo) echo pairs ;; *) echo "rows-$2" ;; esac
}

run_multicard() {  # METHOD RANKS PRECISION MASKED
  local measured
  measured=$(tune_by_multicard "$(rows_of "$1" "$4")" "$2" "$3" data.packing=false \
    "$(method_in_deck "$1" "$group_size")")
  note "$records" "$measured" program=multicard "method=$1" "ranks=$2" "precision=$3" "masked=$4"
}

run_peer() {  # PROGRAM METHOD RANKS PRECISION MASKED
  local measured
  measured=$(tune_by_peer "$(rows_of "$2" "$5")" "$3" "$4" --method "$2" --group-size "$group_size" \
    --scratch "$folder/trl")
  note "$records" "$measured" "program=$1" "method=$2" "ranks=$3" "precision=$4" "masked=$5"
}

# Every program once, one after the other.
run_all() {  # METHOD RANKS PRECISION MASKED
  run_multicard "$@"
  tuning=()
  run_peer plain "$@"
  tuning=("${tuned[@]}")
  run_peer tuned "$@"
}

print_table() {
  "$python" - "$records" "$(basename "$model"), rows of $length tokens, $batch a rank; medians of $repeats repeats" \
    "${tuned[*]}" <<'PYTHON'
import json
import statistics
import sys

records, title, tuned = sys.argv[1:]
TOLERANCE = {"fp32": 1e-4, "bf16": 1e-2}  # of the loss before any update
OF_ROUNDED = {"fp32": 2e-2, "bf16": 4e-2}  # of the same where values are rounded to few codes
groups = {}
with open(records, encoding="utf-8") as file:
    for run in map(json.loads, file):
        cell = groups.setdefault((run["method"], run["ranks"], run["precision"], run["masked"]), {})
        cell.setdefault(run["program"], []).append(run)


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def ratio(own, others, key):
    """The median over the repeats."""
    return statistics.median(run[key] / other[key] for run, other in zip(own, others))


print(f"{title}; tuned: {tuned}")
print(f"{'method':9} {'ranks':>5} {'type':4} {'masked':>6} {'program':9} {'tokens/s':>9} {'range':>15} "
      f"{'multicard over it':>17} {'peak MB':>8} {'multicard over it':>17} {'exchange':>8} {'loss':>7}")
differing = []
for (method, ranks, precision, masked), programs in groups.items():
    tolerance = max(TOLERANCE[precision], OF_ROUNDED[precision] if "q" in method else 0)
    share = "pairs" if method.endswith("dpo") else f"{masked}%"
    own = programs["multicard"]
    for program, runs in programs.items():
        rates = [run["tokens_per_s"] for run in runs]
        exchange = f"{median(runs, 'exchange_share'):8.1%}" if program == "multicard" and ranks > 1 else f"{'-':>8}"
        print(f"{method:9} {ranks:5} {precision:4} {share:>6} {program:9} {statistics.median(rates):9.1f} "
              f"{min(rates):7.1f}-{max(rates):7.1f} {ratio(own, runs, 'tokens_per_s'):17.2f} "
              f"{median(runs, 'peak_rank_bytes') / 1e6:8.0f} {ratio(own, runs, 'peak_rank_bytes'):17.2f} {exchange} "
              f"{runs[0]['first_loss']:7.4f}")
        if any(abs(run["first_loss"] / own[0]["first_loss"] - 1) > tolerance for run in runs):
            differing.append(f"{method}, {ranks} ranks, {precision}, {share}: {program}")
if differing:
    sys.exit("another loss at the start than multicard's, so not the same work: " + "; ".join(differing))
PYTHON
}

install
prefer_fast_mkl
make_rows
case $methods in *dpo*) make_pairs ;; esac
warn_unless_idle
for method in $methods; do
  for count in $ranks; do
    for precision in $precisions; do
      for percent in $masked; do
        for repeat in $(seq "$repeats"); do
          say "$method, $count ranks, $precision, $(rows_of "$method" "$percent"), repeat $repeat of $repeats" \
            "(${SECONDS} s since start)"
          run_all "$method" "$count" "$precision" "$percent"
        done
        case $method in *dpo) break ;; esac  # pairs have prompts of their own
      done
    done
  done
done
print_table | tee "$folder/table.txt"
