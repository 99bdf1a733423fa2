#!/usr/bin/env bash
# Stops what slurm_up.sh started, by its own pid files.     usage: slurm_down.sh FOLDER
set -uo pipefail

folder=$(realpath -m "${1:?usage: slurm_down.sh FOLDER}")
export SLURM_CONF=$folder/slurm.conf

# Prints the process of a pid file while it lives (a zombie does not).
living() {
  local process state
  process=$(cat "$1" 2>/dev/null) && state=$(awk '{print $3}' "/proc/$process/stat" 2>/dev/null) && [ "$state" != Z ] &&
    echo "$process"
}

stop() {
  local file process attempt any
  for file in "$@"; do
    if process=$(living "$file"); then kill "$process" 2>/dev/null; fi
  done
  for attempt in $(seq 100); do
    any=no
    for file in "$@"; do if living "$file" >/dev/null; then any=yes; fi; done
    if [ "$any" = no ]; then return 0; fi
    sleep 0.1
  done
  echo "slurm_down.sh: still running after $attempt tries, killed: $*" >&2
  for file in "$@"; do
    if process=$(living "$file"); then kill -KILL "$process"; fi
  done
}

if [ -e "$SLURM_CONF" ] && living "$folder/run/slurmctld.pid" >/dev/null; then
  scancel --full --user=root 2>/dev/null
  for _ in $(seq 50); do
    [ -n "$(squeue -h 2>/dev/null)" ] || break
    sleep 0.2
  done
fi
stop "$folder"/run/slurmd.*.pid
stop "$folder/run/slurmctld.pid"
stop "$folder/run/munged.pid"
if [ -e "$folder/run/interface" ]; then ip link delete multicard-slurm0; fi
exit 0
