#!/usr/bin/env bash
# Seconds until all tasks of a share have ended, by policy: adaptive against one after another and the equal split.
#
# usage: bench/share_cpu.sh [--build FOLDER] [--ranks R] [--repeats N] [--arrive SECONDS ENTRY] \
#        [DECK [KEY=VALUE ...]]
# Runs DECK on R (2) ranks under the policies sequential, equal and adaptive, N (3) times in turn, each from scratch in
# a folder that is removed. Without DECK: an image training on synthetic images and LoRA on TinyStories-656K, whose
# lengths differ, so that ranks become free while the other task trains. With --arrive the file ENTRY, one entry of
# `tasks` with a path to its deck from the folder of ENTRY, arrives that many seconds after the launch. Prints one
# markdown table of medians, of seconds until the last task has ended; ratios are medians of those of each repeat. Run
# it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

build=$root/build/release ranks=2 repeats=3 arrive_s='' arrival=''
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --repeats) repeats=$2; shift 2 ;;
    --arrive) arrive_s=$2 arrival=$(realpath "$3"); shift 3 ;;
    -h | --help) usage "$0"; exit 0 ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) break ;;
  esac
done
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
cd "$root"  # decks name files from there
multicard=$build/bin/multicard
[ -x "$multicard" ] || die "$multicard is not built: cmake --build $build --target multicard"
folder=$(mktemp -d "${TMPDIR:-/tmp}/share_cpu.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# Both tasks of the default mix, and their data.
make_mix() {
  "$multicard" prepare images --format synthetic --size 64 --classes 10 --limit 2000 -o "$folder/images" >&2
  "$multicard" prepare text --type alpaca --tokenizer "$root/tests/data/models/tinystories-656K" \
    --in "$root/inputs/text/instruction-data.json" --max-length 256 -o "$folder/text" >&2
  cat >"$folder/share.yaml" <<DECK
tasks:
  - {name: vision, deck: $root/inputs/image/fashion_mnist.yaml, steps: 120,
     overrides: {data.train: "$folder/images*.h5", data.test: null, data.image_size: 64, model.width: 0.5,
                 evaluate.every_epochs: 0}}
  - {name: llm, deck: $root/inputs/llm/tinystories.yaml, steps: 250,
     overrides: {data.train: "$folder/text*.h5", data.test: null, evaluate.at_start: false,
                 evaluate.every_epochs: 0}}
policy: {interval_s: 2}
DECK
}

# Seconds of one run; the log is shown when it fails.
seconds_of() {
  local watched=() dropper=''
  rm -rf "$folder/out" "$folder/in"
  if [ -n "$arrival" ]; then
    mkdir "$folder/in"
    sed "s#deck: *\([^/ ]\)#deck: $(dirname "$arrival")/\1#" "$arrival" >"$folder/in/.entry"
    watched=("arrivals.folder=$folder/in" "arrivals.wait_s=$arrive_s")
    (sleep "$arrive_s" && mv "$folder/in/.entry" "$folder/in/arrival.yaml") &
    dropper=$!
  fi
  mpirun -n "$ranks" "$multicard" share "$deck" "policy.name=$1" "run.output=$folder/out" "${watched[@]}" \
    "${settings[@]}" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; die "the run under the policy $1 failed"; }
  [ -z "$dropper" ] || wait "$dropper"
  python3 -c 'import json, sys; print(max(one["end_s"] for one in json.load(open(sys.argv[1]))["intervals"]))' \
    "$folder/out/share.json"
}

if [ $# -gt 0 ]; then
  deck=$1
  shift
else
  make_mix
  deck=$folder/share.yaml
fi
settings=("$@")
for _ in $(seq "$repeats"); do
  for policy in sequential equal adaptive; do
    seconds=$(seconds_of "$policy")
    echo "$policy $seconds" | tee -a "$folder/seconds" >&2
  done
done
echo "$ranks ranks, $(nproc --all) processors,$(lscpu | sed -n 's/^Model name: */ /p'); $repeats repeats"
echo
awk '
  function median(list, n,   i, j, t) {
    for (i = 2; i <= n; ++i)
      for (j = i; j > 1 && list[j] < list[j - 1]; --j) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  { seconds[$1, ++count[$1]] = $2 }
  END {
    print "| policy | seconds | of adaptive |\n|---|---|---|"
    split("sequential equal adaptive", policies)
    for (p = 1; p <= 3; ++p) {
      n = count[policies[p]]
      for (i = 1; i <= n; ++i) { own[i] = seconds[policies[p], i]; ratio[i] = own[i] / seconds["adaptive", i] }
      printf "| %s | %.1f | %.2f |\n", policies[p], median(own, n), median(ratio, n)
    }
  }' "$folder/seconds"
