#!/usr/bin/env bash
# The study of tuning methods: full, LoRA, QLoRA, QAT and DPO on the same preference pairs. Gets the model, prepares the
# shards that are missing, runs the sweep and makes the report, with counts of a step at 8B and what was measured.
#
# usage: scripts/study_methods.sh [--quick | --smoke] [--ranks N] [--no-counts] [-o FOLDER] [KEY=VALUE ...]
#   --quick      128 tokens a sequence and few steps: minutes on two CPU ranks. Without it and without GPUs: hours
#   --smoke      a few steps of the first two methods, without counts: less than a minute, to see that everything works.
#                Where SmolLM2 has not been fetched yet, TinyStories-656K takes its place
#   --ranks N    ranks of the job: by default one for each GPU, without GPUs two
#   --no-counts  leaves the fake GPU out, on which the steps at 8B are counted; so does a machine that cannot build it
#   -o FOLDER    where results go, the shards to data/ and the report to report/ in it: results/study_methods by
#                default, quick: results/study_methods_quick, smoke: results/study_methods_smoke
#   KEY=VALUE    overrides of the deck, inputs/llm/study/methods.yaml
#
# Start it again after a stop: it resumes where it was, and repeats nothing that is finished (smoke: all of it). $MODEL
# names the folder of another model than SmolLM2, to be used with a FOLDER of its own. $MULTICARD_LAUNCH starts the
# ranks in place of mpirun, for example "srun --mpi=pmix"; $MULTICARD_BUILD names a build folder other than
# build/release.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scale=() suffix="" ranks="" counts=yes results="" overrides=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick | --smoke) set_scale "$1" ;;
    --ranks) needs_value "$1" $#; ranks=$2; shift ;;
    --no-counts) counts=no ;;
    -o) needs_value "$1" $#; results=$(realpath -m -- "$2"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    [!-]*=*) overrides+=("$1") ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
ranks=$(rank_count "$ranks") || exit
model=${MODEL:+$(realpath -m -- "$MODEL")}

cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
read -ra launch <<<"${MULTICARD_LAUNCH:-mpirun -n $ranks}"
own=()
if [ "$suffix" = _smoke ]; then
  counts=no model=${model:-$(smoke_model)}
  [ -n "$results" ] || own=(run.resume=never)
fi
results=${results:-$root/results/study_methods$suffix}
shards=$results/data
[ "$suffix" != _smoke ] || shards=$results/data_$(basename "$model")

step 1 4 "Getting the model"
[ -n "$model" ] || model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
[ -e "$model/config.json" ] || die "$model is not a model folder (there is no config.json). Set MODEL to one."
step 2 4 "Preparing preference pairs for $model"
if compgen -G "$shards/pairs-train-*.h5" >/dev/null && compgen -G "$shards/pairs-test-*.h5" >/dev/null; then
  say "      reusing $shards/pairs-*.h5"
else
  mkdir -p "$shards"
  multicard prepare text --type preference --tokenizer "$model" --split 0.1 -o "$shards/pairs" \
    --in inputs/text/instruction-data-with-preference.json
fi
step 3 4 "${launch[*]} multicard sweep inputs/llm/study/methods.yaml ${scale[*]} ${overrides[*]}"
"${launch[@]}" multicard sweep inputs/llm/study/methods.yaml "${scale[@]}" "model.path=$model" \
  "data.train=$shards/pairs-train*.h5" "data.test=$shards/pairs-test*.h5" "run.output=$results" \
  "${own[@]}" "${overrides[@]}"
step 4 4 "Making tables, plots and the report"
multicard-post "$results/results.h5" -o "$results/report"
if [ "$counts" = yes ]; then  # again, with them
  bench/method_counts.sh "$results/results.h5" -o "$results/report" --methods \
    "full;lora;qlora;qat;lora-qat;dpo;lora-dpo;qlora-dpo" ||
    say "WARNING: the report has no counts at 8B: they could not be made (why is said above)"
fi
say ""
say "Done after ${SECONDS} s. Report: $results/report/report.html"
