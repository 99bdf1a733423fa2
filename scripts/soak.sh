#!/usr/bin/env bash
# Kills, signals and pauses ranks and mpirun at random moments of runs, sweeps and prepare, on images and LoRA, and
# starts each again until it is done: what it leaves must equal, bit for bit, what is left without a disturbance. Prints
# what was disturbed how often; ends with 1 if anything differed. docs/reliability.md has the figures.
#
# usage: scripts/soak.sh [MINUTES] [--seed N] [--only NAME] [--disturbances N]
#   MINUTES           10 unless given
#   --seed N          repeats the choices of an earlier run; their moments depend on the machine
#   --only NAME       one of 'image run', 'LoRA run', 'sweep', 'prepare images', 'prepare text'
#   --disturbances N  ends after that many, if time is left
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=10
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  [0-9]*) minutes=$1; shift ;;
esac
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
export MULTICARD_SOURCE=$root MULTICARD_BIN
MULTICARD_BIN=$(dirname "$(command -v multicard)")
export OMPI_MCA_mpi_yield_when_idle=1
exec python3 "$root/tests/soak/soak.py" "$minutes" "$@"
