# shellcheck shell=bash disable=SC2034  # the scripts that source this use the variables
# What the scripts of this folder share. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${MULTICARD_CACHE:-$HOME/.cache/multicard}
program=$(basename "$0")

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "$program" "$*" >&2; exit 3; }

# step N OF TEXT: one numbered line with the time since the script began.
step() { say "[$1/$2] $3  (${SECONDS} s since start)"; }

have() { command -v "$1" >/dev/null 2>&1; }

# Prints the comment block at the head of a script as its help.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"; }

# needs_value OPTION COUNT: ends the script unless a value follows the option among its COUNT arguments.
needs_value() {
  [ "$2" -ge 2 ] || { say "$program: $1 needs a value (see --help)"; exit 2; }
}

# set_scale OPTION: takes the option --quick or --smoke of a study, only one of them. Sets `scale` to what sweeps are
# given, and `suffix` to the end of its folders.
set_scale() {
  [ -z "${suffix:-}" ] || [ "$suffix" = "_${1#--}" ] ||
    { say "$program: --quick and --smoke exclude each other (see --help)"; exit 2; }
  scale=("$1") suffix=_${1#--}
}

# Prints the model of smoke tests: SmolLM2 where get_model.sh has made it, else TinyStories-656K of the tests.
smoke_model() {
  local model=$cache/models/smollm2-135m-instruct
  [ -e "$model/config.json" ] || model=$root/tests/data/models/tinystories-656K
  echo "$model"
}

# read_options NAME... -- ARGUMENT...: an argument --NAME VALUE (A_B is --A-B) sets the variable NAME, -o FOLDER the
# variable folder to its whole path. --NAME alone sets it to yes where the NAME given here ends in a question mark.
# --help prints the help.
read_options() {
  local -a names=()
  while [ "$1" != -- ]; do
    names+=("$1")
    shift
  done
  shift
  while [ $# -gt 0 ]; do
    local name=${1#--}
    name=${name//-/_}
    if [ "$1" = -h ] || [ "$1" = --help ]; then
      usage "$0"
      exit 0
    elif [[ " ${names[*]} " == *" $name? "* ]]; then
      printf -v "$name" yes
    elif [ "$1" = -o ] || [[ $1 == --* && " ${names[*]} " == *" $name "* ]]; then
      needs_value "$1" $#
      if [ "$1" = -o ]; then folder=$(realpath -m "$2"); else printf -v "$name" %s "$2"; fi
      shift
    else
      say "$program: unknown option $1 (see --help)"
      exit 2
    fi
    shift
  done
}

# The versions of LibTorch that scripts/setup.sh can fetch, oldest first.
libtorch_versions() {
  local file
  for file in "$root"/scripts/libtorch/*[0-9].txt; do basename "$file" .txt; done | sort -V
}

# libtorch_version [CHOICE]: prints the version of CHOICE (2.14 is the newest 2.14.x), else of MULTICARD_LIBTORCH, else
# the one that this source tree was set up with, else the default.
libtorch_version() {
  local choice=${1:-${MULTICARD_LIBTORCH:-}} version
  if [ -z "$choice" ] && [ -s "$root/build/libtorch-version" ]; then choice=$(<"$root/build/libtorch-version"); fi
  if [ -z "$choice" ]; then choice=$(<"$root/scripts/libtorch/default"); fi
  version=$(libtorch_versions | grep -E "^${choice//./\\.}(\.[0-9]+)?\$" | tail -1) ||
    { say "$program: no LibTorch $choice: there are $(libtorch_versions | paste -sd' ')"; exit 2; }
  echo "$version"
}

remember_libtorch() {
  mkdir -p "$root/build"
  echo "$1" >"$root/build/libtorch-version"
}

# Prints the folder of LibTorch: TORCH_ROOT, else the one that scripts/setup.sh fetches.
libtorch_folder() {
  local version
  if [ -n "${TORCH_ROOT:-}" ]; then echo "$TORCH_ROOT"; return; fi
  version=$(libtorch_version '') || exit
  echo "$cache/libtorch-$version/torch"
}

# version_of_libtorch FOLDER: prints its version.
version_of_libtorch() {
  awk '/define TORCH_VERSION_(MAJOR|MINOR|PATCH) / {v = v sep $3; sep = "."} END {print v}' \
    "$1/include/torch/headeronly/version.h"
}

# For what measures time.
warn_unless_idle() {
  local load
  read -r load _ </proc/loadavg
  if [ "${load%.*}" != 0 ]; then say "WARNING: the machine is not idle (load $load); the ratios will scatter"; fi
}

# train_for_bench NAME RANKS OVERRIDE...: trains MobileNetV2 on $folder/data/train*.h5 for $warmup + $steps steps of
# $batch images a rank, at $size, $layout and $precision, on the CPU, and leaves $folder/NAME/results.h5.
# shellcheck disable=SC2154  # the script that sources this sets them
train_for_bench() {
  local name=$1 ranks=$2
  shift 2
  rm -rf "${folder:?}/$name"
  mpirun -n "$ranks" multicard run "$root/inputs/image/fashion_mnist.yaml" "data.train=$folder/data/train*.h5" \
    data.test=null evaluate.every_epochs=0 "data.image_size=$size" "data.layout=$layout" "precision=$precision" \
    run.device=cpu "run.global_batch=$((ranks * batch))" "run.steps=$((warmup + steps))" run.keep_checkpoints=0 \
    run.resume=never "profile.skip_steps=$warmup" "run.output=$folder/$name" "$@" >"$folder/$name.log" 2>&1 ||
    die "$name failed: $(head -n 1 "$folder/$name.log")"
}

# Prints how many GPUs programs started here see: those of nvidia-smi, as far as CUDA_VISIBLE_DEVICES leaves them (CUDA
# stops at the first that there is not). Of slices (MIG) CUDA shows a process one.
num_gpus() {
  local listed there=0 number=0 one
  listed=$(nvidia-smi -L 2>/dev/null) || listed=''
  case $listed in
    *MIG-*) there=1 ;;
    GPU*) there=$(grep -c '^GPU ' <<<"$listed") ;;
  esac
  if [ -z "${CUDA_VISIBLE_DEVICES+set}" ]; then echo "$there"; return; fi
  for one in ${CUDA_VISIBLE_DEVICES//,/ }; do
    case $one in
      -1 | NoDevFiles) break ;;
      *[!0-9]*) ;;  # a uuid
      *) if [ "$one" -ge "$there" ]; then break; fi ;;
    esac
    if [ "$number" = "$there" ]; then break; fi
    number=$((number + 1))
  done
  echo "$number"
}

# rank_count [NUMBER]: prints the number of ranks of a job: NUMBER, or one a GPU; two on the CPU.
rank_count() {
  local number=${1:-}
  case $number in
    '')
      number=$(num_gpus)
      [ "$number" -gt 0 ] || number=2 ;;
    *[!0-9]* | 0*) say "$program: --ranks must be a number of at least 1, not $number"; exit 2 ;;
  esac
  echo "$number"
}

# Prints how many ranks to try things with: one a GPU, two at most; two on the CPU.
ranks_to_try() {
  local gpus
  gpus=$(num_gpus)
  if [ "$gpus" = 1 ]; then echo 1; else echo 2; fi
}

# Processors that this shell may use, whatever the threads of a rank: nproc answers OMP_NUM_THREADS where that is set.
processors() {
  env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc
}

# Compile jobs that cores and memory allow (one heavy file needs about 2 GB).
build_jobs() {
  local cores memory_gb by_memory
  cores=$(processors)
  memory_gb=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  by_memory=$((memory_gb / 2))
  [ "$by_memory" -ge 1 ] || by_memory=1
  if [ "$cores" -lt "$by_memory" ]; then echo "$cores"; else echo "$by_memory"; fi
}

# find_pip FOLDER: sets `pip` to the words that run pip; where no Python has it, it is put into FOLDER.
find_pip() {
  local python
  for python in ${MULTICARD_PYTHON:-} python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then pip=("$python" -m pip); return; fi
  done
  if python3 -m venv "$1/venv" >/dev/null 2>&1; then pip=("$1/venv/bin/python" -m pip); return; fi
  die "No pip was found for python3. Install python3-pip or python3-venv, or set MULTICARD_PYTHON to a Python with pip."
}

# with_ticker FOLDER COMMAND...: runs the command and says every ten seconds how much it has put into the folder.
with_ticker() {
  local folder=$1 ticker status=0
  shift
  (
    while sleep 10 >/dev/null 2>&1 9>&-; do  # it may outlive the command: it keeps no pipe open, and no lock
      say "      ... $(du -sm "$folder" 2>/dev/null | cut -f1) MB so far, ${SECONDS} s since start"
    done
  ) &
  ticker=$!
  "$@" || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  return "$status"
}

# Builds the programs and the fake GPU on which they count; ends with 77 where it cannot be built.
build_fake_gpu() {
  "$root/scripts/build.sh" release --target multicard multicard-post tests/fake_gpu/all
  if [ ! -e "$root/build/release/fake_gpu/libcudart.so.13" ]; then
    say "$program: there is no fake GPU here (ctest -L fake-gpu says why)"
    exit 77
  fi
}

# prepare_instructions MODEL PREFIX: the shipped instructions as shards PREFIX-*.h5 for a model folder, unless they are
# there.
prepare_instructions() {
  compgen -G "$2-*.h5" >/dev/null ||
    multicard prepare text --type alpaca --tokenizer "$1" --in "$root/inputs/text/instruction-data.json" -o "$2"
}

# value_of_run RESULTS COLUMN: of the only run of a results file, by the name that --csv gives the column.
value_of_run() {
  multicard-post "$1" --csv |
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i; next } { print $column }'
}
