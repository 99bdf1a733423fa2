#!/usr/bin/env bash
# MB/s of text on one core: multicard's tokenizers against Hugging Face's tokenizers library, in turns in the same run.
#   bench/tokenizers.sh [BUILD_FOLDER] [TEXT]      BUILD_FOLDER holds the target benches (default build/release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/release}
text=${2:-}
peer=${MULTICARD_CACHE:-$HOME/.cache/multicard}/peer-text
if ! PYTHONPATH=$peer python3 -c 'import tokenizers' 2>/dev/null; then
  python3 -m pip install --quiet --target "$peer" tokenizers==0.23.3
fi
if [ -z "$text" ]; then
  text=$(mktemp)
  trap 'rm -f "$text"' EXIT
  for _ in 1 2 3 4 5 6 7 8 9 10; do cat docs/*.md README.md; done >"$text"
fi
for _ in 1 2 3; do
  for name in gpt2 smollm2; do
    "$build/bin/tokenizer_bench" "tests/data/tokenizers/$name" "$text" 5
    PYTHONPATH=$peer RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false \
      python3 bench/text/peer_tokenizers.py "tests/data/tokenizers/$name/tokenizer.json" "$text"
  done
done
