#!/usr/bin/env bash
# The study of what circulates about sharing GPUs between an image and a language task: iteration time, memory
# utilisation and communication, measured on ranks of one node and of two (scripts/two_nodes.sh: root; without it their
# cells are left out). What is measured and how it is judged stands in inputs/study/claim/claim.yaml.
#
# usage: scripts/study_claim.sh [--quick] [-o FOLDER]
#   --quick    one link, 2 repeats: some 7 minutes on two idle cores, to see that everything works. Without it 5
#              repeats of everything: some 75 minutes
#   -o FOLDER  where cells go (claim.jsonl), the report to report/ in it: results/study_claim by default, quick:
#              results/study_claim_quick
#
# Start it again after a stop: finished cells are kept. Run it on an idle machine. $MODEL names the folder of a language
# model other than TinyStories-656K, $MULTICARD_BUILD a build folder other than build/release. The last lines are a
# table in Markdown.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=() suffix="" folder=""
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=(--quick) suffix=_quick ;;
    -o) needs_value "$1" $#; folder=$(realpath -m -- "$2"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
folder=${folder:-$root/results/study_claim$suffix}
model=$(realpath -m -- "${MODEL:-$root/tests/data/models/tinystories-656K}")

cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
have h5dump || die "h5dump is missing: install the package hdf5-tools"
python3 -c 'import yaml' 2>/dev/null || die "python3 has no module yaml: install the package python3-yaml"

[ -e "$model/config.json" ] || die "$model is not a model folder (there is no config.json). Set MODEL to one."
step 1 3 "Preparing images and texts"
shards=$folder/data
if ! compgen -G "$shards/images-train-*.h5" >/dev/null; then
  multicard prepare images --format synthetic --size 64 --classes 10 --limit 4000 --split 0.05 -o "$shards/images"
fi
if ! compgen -G "$shards/text-train-*.h5" >/dev/null; then
  multicard prepare text --type alpaca --tokenizer "$model" --in inputs/text/instruction-data.json --split 0.1 \
    --max-length 128 -o "$shards/text"
fi
step 2 3 "Measuring"
python3 "$root/scripts/study_claim.py" inputs/study/claim/claim.yaml "$folder" --images "$shards/images" \
  --texts "$shards/text" --model "$model" "${quick[@]}"
step 3 3 "Making the page"
multicard-post "$folder/claim.jsonl" -o "$folder/report"
cat "$folder/report/claim.md"
say ""
say "Done after ${SECONDS} s. Report: $folder/report/report.html"
