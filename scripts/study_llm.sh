#!/usr/bin/env bash
# The study of dataset types: how the kind of text changes the time of a step. Gets model and texts, prepares the shards
# that are missing, runs both views (equal rows and equal tokens a step) and makes one report of them.
#
# usage: scripts/study_llm.sh [--quick] [--ranks N]
#   --quick    TinyStories-656K and few steps: minutes on two CPU ranks. Its positions are raised to 4096, so that it
#              takes the long prompts: what it learns of them means nothing, the time it takes does
#   --ranks N  ranks of the job: by default one for each GPU, without GPUs two
#
# Results go to results/study_llm (quick: results/study_llm_quick), the report to report/ in it. Start it again after a
# stop: it goes on where it was. $MODEL names another model's folder (its shards and results go to folders that end in
# its name), $TOKENS the input tokens a step of view b (at most nine tenths of the smallest set), $MICRO_TOKENS what a
# rank computes at once. $MULTICARD_LAUNCH starts the ranks in place of mpirun, for example "srun --mpi=pmix".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=() ranks=""
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --ranks) ranks=${2:?--ranks needs a number}; shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
if [ -z "$ranks" ]; then
  ranks=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU') || ranks=2
fi

cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
read -ra launch <<<"${MULTICARD_LAUNCH:-mpirun -n $ranks}"
decks=inputs/llm/study name=study_llm tokens=${TOKENS:-32768} micro_tokens=${MICRO_TOKENS:-16384}
model=${MODEL:-}
if [ ${#quick[@]} -gt 0 ]; then
  name=study_llm_quick tokens=${TOKENS:-8192} micro_tokens=${MICRO_TOKENS:-8192}
  model=${model:-data/$name/model}
fi
[ -z "${MODEL:-}" ] || name=${name}_$(basename "$MODEL")
shards=data/$name results=results/$name

# name:type:file of each dataset type
types=(alpaca:alpaca:alpaca.json chat:chat:chat.jsonl question-answer:question-answer:question_answer_train.jsonl
  long-prompts:prompt-completion:long_prompts.jsonl text:text:text.jsonl)

# prepare NAME TYPE FILE: makes the shards of one type unless they are there.
prepare() {
  if compgen -G "$shards/$1-*.h5" >/dev/null; then
    say "      reusing $shards/$1-*.h5"
  else
    multicard prepare text --type "$2" --in "data/text/$3" --tokenizer "$model" -o "$shards/$1"
  fi
}

# measure NAME OVERRIDE...: prints rows, tokens and the longest row of a type, as the program counts them.
measure() {
  local line train="data.train=\"$shards/$1-*.h5\""
  shift
  line=$(multicard run "$decks/../lora.yaml" "model.path=$model" "$train" data.test=null evaluate.at_start=false \
    run.resume=never "run.output=$results/none" run.device=cpu "$@" --dry-run 2>&1 | grep '^data ') ||
    die "multicard run --dry-run did not say how long the rows of $train are"
  sed -E 's/,([0-9])/\1/g; s/^data +([0-9]+) rows .* at most ([0-9]+) tokens\), ([0-9]+) tokens.*/\1 \3 \2/' <<<"$line"
}

# statistics: a line for each type, padded and packed: name, padded or packed, max_length, rows, tokens, longest row.
# Packs hold what the longest sequence takes, and at least 512 tokens.
statistics() {
  local type numbers length
  for type in "${types[@]%%:*}"; do
    numbers=$(measure "$type" data.packing=false data.max_length=null)
    echo "$type padded null $numbers"
    length=${numbers##* }
    length=$((length > 512 ? length : 512))
    numbers=$(measure "$type" data.packing=true "data.max_length=$length")
    echo "$type packed $length $numbers"
  done
}

# equal_rows STATISTICS: the cases of view a, in the language of decks.
equal_rows() {
  awk -v shards="$shards" -v at_once="$micro_tokens" '$2 == "padded" {
    micro = int(at_once / $6); name = $1; gsub("-prompts", " prompts", name)
    printf "%s{name: %s, data.train: \"%s/%s-*.h5\", run.micro_batch: %d}", comma, name, shards, $1,
           micro < 1 ? 1 : micro; comma = ", " }' "$1"
}

# equal_tokens STATISTICS: the cases of view b. Of the amounts around $tokens that no set is too small for, the one is
# taken with which whole rows come nearest to equal tokens; more than 2 % beside it is an error. What every case comes
# to goes to standard error.
equal_tokens() {
  awk -v shards="$shards" -v at_once="$micro_tokens" -v wanted="$tokens" -v ranks="$ranks" '
    { name[NR] = $1; how[NR] = $2; most[NR] = $3; rows[NR] = $4; mean[NR] = $5 / $4; longest[NR] = $6
      if (NR == 1 || $5 < smallest) smallest = $5 }
    function batch(i, target) { return int(target / mean[i] + 0.5) }
    function worst(target,  i, b, off, largest) {
      for (i = 1; i <= NR; i++) {
        b = batch(i, target)
        if (b < ranks || b > rows[i]) return 1
        off = b * mean[i] / target - 1
        if (off < 0) off = -off
        if (off > largest) largest = off
      }
      return largest + 0
    }
    END {
      limit = 0.9 * smallest
      if (wanted > limit) wanted = limit
      best = 1
      for (step = -400; step <= 400; step++) {
        target = wanted * (1 + 0.001 * step)
        if (target > limit) break
        off = worst(target)
        if (off < best - 1e-9) { best = off; chosen = target }
      }
      if (best > 0.02) {
        printf "no number of tokens near %d suits all types within 2 %%: the best is %.1f %% off. " \
               "Use fewer ranks or another $TOKENS.\n", wanted, 100 * best >"/dev/stderr"
        exit 3
      }
      printf "      about %d tokens a step, at most %.1f %% off\n", chosen, 100 * best >"/dev/stderr"
      for (i = 1; i <= NR; i++) {
        micro = int(at_once / longest[i])
        label = name[i]
        gsub("-prompts", " prompts", label)
        printf "      %-16s %s: %4d rows of %.1f tokens = %.0f\n", name[i], how[i], batch(i, chosen), mean[i],
               batch(i, chosen) * mean[i] >"/dev/stderr"
        printf "%s{name: %s %s, data.train: \"%s/%s-*.h5\", data.packing: %s, data.max_length: %s, " \
               "run.global_batch: %d, run.micro_batch: %d}", comma, label, how[i], shards, name[i],
               how[i] == "packed" ? "true" : "false", most[i], batch(i, chosen), micro < 1 ? 1 : micro
        comma = ", "
      }
    }' "$1"
}

# sweep DECK FOLDER CASES: one view.
sweep() {
  "${launch[@]}" multicard sweep "$decks/$1.yaml" "${quick[@]}" "model.path=$model" "run.output=$results/$2" \
    "sweep.cases=[$3]"
}

# tinystories FOLDER: the small model of the tests, with more positions.
tinystories() {
  mkdir -p "$1"
  cp tests/data/models/tinystories-656K/* "$1"
  sed -i 's/"max_position_embeddings": 512/"max_position_embeddings": 4096/' "$1/config.json"
}

step 1 5 "Getting the model and the texts"
if [ ${#quick[@]} -gt 0 ] && [ -z "${MODEL:-}" ]; then tinystories "$model"; fi
[ -n "$model" ] || model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
"$root/scripts/get_text.sh" data/text
step 2 5 "Preparing shards for $model"
mkdir -p "$shards" "$results"
for type in "${types[@]}"; do
  IFS=: read -r set kind file <<<"$type"
  prepare "$set" "$kind" "$file"
done
scratch=$(mktemp -d "$results/.study.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
statistics >"$scratch/statistics"
cases=$(equal_rows "$scratch/statistics")
step 3 5 "${launch[*]} multicard sweep $decks/dataset_types.yaml ${quick[*]}"
sweep dataset_types rows "$cases"
cases=$(equal_tokens "$scratch/statistics") || exit
step 4 5 "${launch[*]} multicard sweep $decks/dataset_types_tokens.yaml ${quick[*]}"
sweep dataset_types_tokens tokens "$cases"
step 5 5 "Making tables, plots and the report"
multicard-post "$results/rows/results.h5" "$results/tokens/results.h5" -o "$results/report"
say ""
say "Done after ${SECONDS} s. Report: $root/$results/report/report.html"
