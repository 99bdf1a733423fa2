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

# Compile jobs that cores and memory allow (one heavy file needs about 2 GB).
build_jobs() {
  local cores memory_gb by_memory
  cores=$(nproc)
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
    while sleep 10; do
      say "      ... $(du -sm "$folder" 2>/dev/null | cut -f1) MB so far, ${SECONDS} s since start"
    done
  ) &
  ticker=$!
  "$@" || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  return "$status"
}
