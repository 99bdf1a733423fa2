#!/usr/bin/env bash
# Makes the text sets of the study of dataset types from those in inputs/text: instructions as they are, conversations
# (2 to 6 instructions joined as turns), questions with solved examples before them (long prompts) and plain texts
# (answers joined). The same files every time.
#
# usage: scripts/get_text.sh [FOLDER]
#   FOLDER is where they go, data/text without it.
# Makes alpaca.json, question_answer_{train,test}.jsonl, preference.json (copies), chat.jsonl, long_prompts.jsonl and
# text.jsonl. Prepare them with: multicard prepare text --type ... --in FOLDER/FILE (docs/data.md).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
esac

[ -z "${1:-}" ] || mkdir -p "$1"
output=${1:+$(realpath -- "$1")}
output=${output:-$root/data/text}
have python3 || die "python3 is missing"
mkdir -p "$output"
scratch=$(mktemp -d "$output/.get_text.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

cp "$root/inputs/text/instruction-data.json" "$scratch/alpaca.json"
cp "$root/inputs/text/instruction-data-with-preference.json" "$scratch/preference.json"
cp "$root/inputs/text/gsm8k_train.jsonl" "$scratch/question_answer_train.jsonl"
cp "$root/inputs/text/gsm8k_test.jsonl" "$scratch/question_answer_test.jsonl"
python3 "$root/scripts/make_text.py" "$root/inputs/text" "$scratch"

for file in "$scratch"/*; do
  chmod 644 "$file"
  mv -f "$file" "$output/"
done
say "made in $output: $(cd "$output" && echo ./*.json ./*.jsonl)"
