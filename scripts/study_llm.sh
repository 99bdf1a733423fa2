#!/usr/bin/env bash
# The study of dataset types: how the kind of text changes the time of a step. Gets model and texts, prepares the shards
# that are missing, runs both views (equal rows and equal tokens per step) and makes one report of them.
#
# usage: scripts/study_llm.sh [--quick | --smoke] [--ranks N]
#   --quick    TinyStories-656K and few steps: minutes on two CPU ranks. Its positions are raised to 4096, so that it
#              takes the long prompts: what it learns of them means nothing, the time it takes does
#   --smoke    the same with the first two types: less than a minute, to see that everything works
#   --ranks N  ranks of the job: by default one for each GPU, without GPUs two
#
# Without GPUs the study is smaller: 4 rows and some 3500 tokens a step, few steps, view b on all ranks only.
# Results go to results/study_llm (quick: results/study_llm_quick, smoke: results/study_llm_smoke), the report to
# report/ in it. Start it again after a stop: it resumes where it was (smoke: it starts over). $MODEL names another
# model's folder (its shards and results go to folders that end in its name), $TOKENS the input tokens a step of view b
# (at most nine tenths of the smallest set), $MICRO_TOKENS what a rank computes at once, $REPEATS how often every
# variant runs (3). $MULTICARD_LAUNCH starts the ranks in place of mpirun, for example "srun --mpi=pmix";
# $MULTICARD_BUILD names a build folder other than build/release. Where a model has no chat template, conversations are
# written in the template alpaca, as instructions are.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scale=() suffix="" ranks=""
while [ $# -gt 0 ]; do
  case $1 in
    --quick | --smoke) set_scale "$1" ;;
    --ranks) needs_value "$1" $#; ranks=$2; shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
gpus=$(num_gpus)
ranks=$(rank_count "$ranks") || exit

cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
read -ra launch <<<"${MULTICARD_LAUNCH:-mpirun -n $ranks}"
decks=inputs/llm/study name=study_llm tokens=${TOKENS:-32768} micro_tokens=${MICRO_TOKENS:-16384}
model=${MODEL:-}
# What the sweeps of this machine have in place of the decks' values; steps and skipped steps of view b as its deck has
# them, or as these say.
of_rows=() of_tokens=() steps=20 skip_steps=5
# name:type:file of each dataset type
types=(alpaca:alpaca:alpaca.json chat:chat:chat.jsonl question-answer:question-answer:question_answer_train.jsonl
  long-prompts:prompt-completion:long_prompts.jsonl text:text:text.jsonl)
if [ -n "$suffix" ]; then
  name=study_llm$suffix tokens=${TOKENS:-5000} micro_tokens=${MICRO_TOKENS:-8192} steps=5 skip_steps=1
  model=${model:-data/$name/model}
  if [ "$suffix" = _smoke ]; then
    types=("${types[@]:0:2}") steps=4
    of_rows=(run.resume=never repeat=1) of_tokens=("${of_rows[@]}")
  fi
elif [ "$gpus" -eq 0 ]; then
  tokens=${TOKENS:-3500} micro_tokens=${MICRO_TOKENS:-2048} steps=3 skip_steps=1
  of_rows=(run.global_batch=$((ranks > 4 ? ranks : 4)) limits.steps=3 limits.skip_steps=1)
  of_tokens=("sweep.ranks=[$ranks]" "limits.steps=$steps" "limits.skip_steps=$skip_steps")
fi
if [ -n "${REPEATS:-}" ]; then of_rows+=("repeat=$REPEATS") of_tokens+=("repeat=$REPEATS"); fi
[ -z "${MODEL:-}" ] || name=${name}_$(basename "$MODEL")
shards=data/$name results=results/$name

# prepare NAME TYPE FILE: makes the shards of one type unless they are there.
prepare() {
  if compgen -G "$shards/$1-*.h5" >/dev/null; then
    say "      reusing $shards/$1-*.h5"
  else
    local template=()
    if [ "$2" = chat ] && ! has_chat_template; then template=(--template alpaca); fi
    multicard prepare text --type "$2" "${template[@]}" --in "data/text/$3" --tokenizer "$model" -o "$shards/$1"
  fi
}

# has_chat_template: whether the model's folder has one.
has_chat_template() {
  [ -e "$model/chat_template.jinja" ] ||
    grep -qs '"chat_template"' "$model/tokenizer_config.json" "$model/chat_template.json"
}

# measure NAME OVERRIDE...: prints rows, tokens and the longest row of a type, and the tokens of a counted step.
measure() {
  local text train="data.train=\"$shards/$1-*.h5\""
  shift
  text=$(multicard run "$decks/../lora.yaml" "model.path=$model" "$train" data.test=null evaluate.at_start=false \
    evaluate.prompts=null data.drop_last=true run.resume=never "run.output=$results/none" run.device=cpu \
    "run.steps=$steps" "profile.skip_steps=$skip_steps" schedule.warmup_steps=0 run.micro_batch=1 \
    "$@" --dry-run 2>&1) ||
    die "multicard run --dry-run did not say how long the rows of $train are: $text"
  numbers_of <<<"$text" | grep . || die "multicard run --dry-run names no rows and tokens of $train: $text"
}

# numbers_of: rows, tokens, the longest row and the tokens of a counted step, from the words of a dry run.
numbers_of() {
  sed -nE -e 's/,([0-9])/\1/g' \
    -e 's/^data +([0-9]+) rows .* at most ([0-9]+) tokens\), ([0-9]+) tokens.*/\1 \3 \2/;t keep' \
    -e 's/^tokens +([0-9.]+) per step.*/\1/;T' -e 'H;x;s/\n/ /g;p;q' -e ':keep' -e 'h'
}

# calculate EXPRESSION [DIGITS]: a number, rounded to DIGITS digits after the point.
calculate() {
  awk "BEGIN { printf \"%.${2:-0}f\", $1 }"
}

# holds EXPRESSION
holds() {
  awk "BEGIN { exit !($1) }"
}

# statistics: a line for each type: name, rows, tokens, longest row.
statistics() {
  local type numbers
  for type in "${types[@]%%:*}"; do
    numbers=$(measure "$type" data.packing=false data.max_length=null run.global_batch="$ranks")
    echo "$type ${numbers% *}"
  done
}

# equal_rows STATISTICS: the cases of view a, in the language of decks.
equal_rows() {
  awk -v shards="$shards" -v at_once="$micro_tokens" '{
    micro = int(at_once / $4); name = $1; gsub("-prompts", " prompts", name)
    printf "%s{name: %s, data.train: \"%s/%s-*.h5\", run.micro_batch: %d}", comma, name, shards, $1,
           micro < 1 ? 1 : micro; comma = ", " }' "$1"
}

# target STATISTICS: the tokens a step of view b: those of the type with the longest rows, whose steps are the coarsest,
# in as many rows as come nearest to $tokens and to what the smallest set allows.
target() {
  local name rows
  read -r name rows < <(awk -v wanted="$tokens" -v ranks="$ranks" '
    { mean = $3 / $2
      if (mean > coarsest) { coarsest = mean; name = $1 }
      if (NR == 1 || $3 < smallest) smallest = $3 }
    END {
      if (wanted > 0.9 * smallest) wanted = 0.9 * smallest
      rows = int(wanted / coarsest + 0.5)
      print name, rows < ranks ? ranks : rows }' "$1")
  measure "$name" data.packing=false data.max_length=null "run.global_batch=$rows" | cut -d ' ' -f 4
}

# attempt NAME TARGET PACKING ROWS LENGTH SEED: what the counted steps have with these, in $got; the best attempt stays
# in $found, its distance in $best. Succeeds within 1.5 %.
attempt() {
  local numbers longest off
  numbers=$(measure "$1" "data.packing=$3" "data.max_length=$5" "run.global_batch=$4" "run.seed=$6") || exit
  longest=$(cut -d ' ' -f 3 <<<"$numbers") got=${numbers##* }
  off=$(calculate "($got > $2 ? $got / $2 : $2 / $got) - 1" 6)
  if holds "$off < $best"; then best=$off found="$4 $5 $6 $got $longest"; fi
  holds "$best <= 0.015"
}

# settle_padded NAME TARGET ROWS: rows, and a seed that draws them, with which counted steps have TARGET tokens each on
# average. Prints rows, length, seed, tokens and the longest row.
settle_padded() {
  local best=1 found="" got seed nearest
  for ((seed = 1; seed <= 12; seed++)); do
    if attempt "$1" "$2" false "$3" null "$seed"; then break; fi
    nearest=$(calculate "$3 * $2 / $got")
    if [ "$nearest" -ge "$ranks" ] && [ "$nearest" -ne "$3" ]; then
      if attempt "$1" "$2" false "$nearest" null "$seed"; then break; fi
    fi
  done
  echo "$found"
}

# settle_packed NAME TARGET ROWS LEAST: the same with packs of at least LEAST tokens. As sequences fill packs in jumps,
# the length is found by bisection; where that is not enough, other seeds and fewer rows are tried.
settle_packed() {
  local best=1 found="" got=0 seed rows low high length
  for ((rows = $3; rows >= ranks && rows > $3 - 4; rows--)); do
    length=$4 low=$4 high=$(calculate "2 * $2 / $rows")
    if attempt "$1" "$2" true "$rows" "$length" 1; then break; fi
    while [ "$((high - low))" -gt 8 ]; do
      length=$(((low + high) / 2))
      if attempt "$1" "$2" true "$rows" "$length" 1; then break 2; fi
      if holds "$got < $2"; then low=$length; else high=$length; fi
    done
    if [ "${found%% *}" = "$rows" ]; then length=$(cut -d ' ' -f 2 <<<"$found"); fi
    for ((seed = 2; seed <= 9; seed++)); do
      if attempt "$1" "$2" true "$rows" "$length" "$seed"; then break 2; fi
    done
  done
  echo "$found"
}

# equal_tokens STATISTICS TARGET: the cases of view b. More than 2 % off the target is an error. What every case has
# goes to standard error.
equal_tokens() {
  local name rows all longest how packing least mean count length seed got widest comma="" label micro
  say "      $2 tokens per step"
  while read -r name rows all longest; do
    for how in padded packed; do
      packing=false
      if [ "$how" = padded ]; then
        count=$(calculate "$2 * $rows / $all")
        count=$(settle_padded "$name" "$2" $((count < ranks ? ranks : count)))
      else
        packing=true least=$((longest > 512 ? longest : 512))
        mean=$(measure "$name" data.packing=true "data.max_length=$least" "run.global_batch=$ranks" |
          awk '{ print $2 / $1 }')
        count=$(calculate "int($2 / $mean)")  # packs can become longer, but hardly shorter
        count=$(settle_packed "$name" "$2" $((count < ranks ? ranks : count)) "$least")
      fi
      read -r count length seed got widest <<<"$count"
      if ! holds "${got:-0} > 0.98 * $2 && ${got:-0} < 1.02 * $2"; then
        say "no rows of $name, $how, have $2 tokens per step: the nearest have ${got:-none}. Use another \$TOKENS."
        return 3
      fi
      micro=$((micro_tokens / widest))
      label=${name/-prompts/ prompts}
      say "$(printf '      %-16s %s: %4d rows, longest %4d, seed %2d: %s tokens' "$name" "$how" "$count" "$widest" \
        "$seed" "$got")"
      printf '%s{name: %s %s, data.train: "%s/%s-*.h5", ' "$comma" "$label" "$how" "$shards" "$name"
      printf 'data.packing: %s, data.max_length: %s, ' "$packing" "$length"
      printf 'run.global_batch: %d, run.micro_batch: %d, run.seed: %d}' "$count" $((micro < 1 ? 1 : micro)) "$seed"
      comma=", "
    done
  done <"$1"
}

# sweep DECK FOLDER CASES OVERRIDE...: one view.
sweep() {
  "${launch[@]}" multicard sweep "$decks/$1.yaml" "${scale[@]}" "model.path=$model" "run.output=$results/$2" \
    "sweep.cases=[$3]" "${@:4}"
}

# tinystories FOLDER: the small model of the tests, with more positions.
tinystories() {
  mkdir -p "$1"
  cp tests/data/models/tinystories-656K/* "$1"
  sed -i 's/"max_position_embeddings": 512/"max_position_embeddings": 4096/' "$1/config.json"
}

step 1 5 "Getting the model and the texts"
if [ -n "$suffix" ] && [ -z "${MODEL:-}" ]; then tinystories "$model"; fi
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
step 3 5 "${launch[*]} multicard sweep $decks/dataset_types.yaml ${scale[*]}"
sweep dataset_types rows "$cases" "${of_rows[@]}"
amount=$(target "$scratch/statistics") || exit
cases=$(equal_tokens "$scratch/statistics" "$amount") || exit
step 4 5 "${launch[*]} multicard sweep $decks/dataset_types_tokens.yaml ${scale[*]}"
sweep dataset_types_tokens tokens "$cases" "${of_tokens[@]}"
step 5 5 "Making tables, plots and the report"
multicard-post "$results/rows/results.h5" "$results/tokens/results.h5" -o "$results/report"
say ""
say "Done after ${SECONDS} s. Report: $root/$results/report/report.html"
