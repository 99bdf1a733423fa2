#!/usr/bin/env bash
# Whether training has become slower or faster from one build to another, on 2 CPU ranks of 1 thread: LoRA and full
# tuning of SmolLM2-135M on packed rows of text, and MobileNetV2 on images of 100 px.
#
# usage: bench/two_builds.sh BEFORE [--length 512] [--steps 8] [--repeats 5] [-o FOLDER]
# BEFORE is the folder of the other build's programs (.../build/release/bin), which may be old: options are those of
# plain runs. Every repeat runs both builds one after the other, every second one the other way round. Prints the median
# rates and the ratio of this build to the other one of the same repeat, as median and range. Run it on an otherwise
# idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
esac
length=512 steps=8 repeats=5
folder=$root/results/bench_two_builds
[[ ${1:-} != -* && -x ${1:-}/multicard ]] ||
  die "no program (${1:-nothing}/multicard is none): name the folder of a build"
before=$1
shift
read_options length steps repeats -- "$@"
warmup=2
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
prepare_instructions "$model" "$folder/rows"
if ! compgen -G "$folder/images-*.h5" >/dev/null; then
  multicard prepare images --format synthetic --size 100 --classes 10 --limit 1024 -o "$folder/images"
fi
common=("run.device=cpu" "data.test=null" "evaluate={at_start: false, every_epochs: 0}" "run.epochs=null"
  "run.steps=$((warmup + steps))" "run.keep_checkpoints=0" "run.checkpoint_every=0" "run.resume=never"
  "profile.skip_steps=$warmup")
text=("$root/inputs/llm/lora.yaml" "model.path=$model" "model.dtype=bf16" "precision=bf16"
  "data.train=$folder/rows-*.h5" "data.packing=true" "data.max_length=$length" "run.global_batch=2" "run.micro_batch=1")

# measure BUILD WHAT, as a line "REPEAT BUILD WHAT RATE".
measure() {
  local program=multicard name=$1-$2
  local -a words
  if [ "$1" = before ]; then program=$before/multicard; fi
  case $2 in
    lora) words=("${text[@]}" "method={name: lora, rank: 16, alpha: 32, targets: all-linear}") ;;
    full) words=("${text[@]}" "method={name: full}") ;;
    images) words=("$root/inputs/image/fashion_mnist.yaml" "data.train=$folder/images-*.h5" "data.image_size=100"
      "run.global_batch=64") ;;
  esac
  rm -rf "${folder:?}/$name"
  mpirun -n 2 "$program" run "${words[@]}" "${common[@]}" "run.output=$folder/$name" >"$folder/$name.log" 2>&1 ||
    die "$name failed: $(head -n 1 "$folder/$name.log")"
  echo "$repeat $1 $2 $(value_of_run "$folder/$name/results.h5" rate_per_s)" >>"$folder/rates.txt"
}

tabulate() {
  local what
  printf '%-8s %10s %10s %8s %15s\n' what before after ratio range
  for what in lora full images; do
    awk -v what=$what '$3 == what { rate[$2, $1] = $4; repeats[$1] }
      END { for (i in repeats) print rate["after", i] / rate["before", i], rate["before", i], rate["after", i] }' \
      "$folder/rates.txt" | sort -n |
      awk -v what=$what '{ ratio[NR] = $1; before[NR] = $2; after[NR] = $3 }
        function middle(of, i, j, held) {
          for (i = 2; i <= NR; i++) for (j = i; j > 1 && of[j] < of[j - 1]; j--) {
            held = of[j]; of[j] = of[j - 1]; of[j - 1] = held }
          return of[int((NR + 1) / 2)]
        }
        END { printf "%-8s %10.1f %10.1f %8.3f %7.3f-%7.3f\n", what, middle(before), middle(after), middle(ratio),
                ratio[1], ratio[NR] }'
  done
}

warn_unless_idle
: >"$folder/rates.txt"
for repeat in $(seq "$repeats"); do
  say "repeat $repeat of $repeats  (${SECONDS} s since start)"
  if [ $((repeat % 2)) = 1 ]; then builds=(before after); else builds=(after before); fi
  for what in lora full images; do
    for build in "${builds[@]}"; do measure "$build" $what; done
  done
done
echo "2 ranks of 1 thread; medians of $repeats repeats of $steps steps"
tabulate | tee "$folder/table.txt"
