#!/usr/bin/env bash
# Submits one of the shipped batch scripts, unchanged, to a two-node Slurm started for it, and checks the outcome.
#
# usage: run_case.sh CASE      srun | mpirun | one_node | gpus | no_export | array | llm | sweep | share | installed |
#                                requeue_srun | requeue_mpirun | failure
# Reads MULTICARD_SOURCE and MULTICARD_BUILD, the source and build folders. Ends with 77 where Slurm cannot be tested.
set -euo pipefail

case_name=${1:?usage: run_case.sh CASE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_folder=${MULTICARD_SOURCE:-$(cd "$here/../.." && pwd)}
export MULTICARD_BUILD=${MULTICARD_BUILD:-$source_folder/build/release}

skip() { echo "SKIPPED: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "a Slurm cluster can be started by root only"
for needed in slurmctld slurmd sbatch munged unshare ip h5dump; do
  command -v "$needed" >/dev/null || skip "$needed is not installed (scripts/setup.sh --test installs it)"
done

scratch=$(mktemp -d /tmp/multicard-slurm.XXXXXX)
cleanup() {
  local status=$?
  if [ "$status" != 0 ] && [ "$status" != 77 ]; then
    tail -n 60 "$scratch"/*.out "$scratch/cluster/log/"*.log 2>/dev/null || true
  fi
  "$here/slurm_down.sh" "$scratch/cluster" || true
  rm -rf "$scratch"
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$here/slurm_up.sh" "$scratch/cluster" 2 2
export SLURM_CONF=$scratch/cluster/slurm.conf

# ---- what the jobs read ----------------------------------------------------------------------------------------------
cd "$scratch"
unset "${!SLURM_JOB@}" "${!OMPI_@}"
( . "$source_folder/scripts/env.sh"
  multicard prepare images --format synthetic --size 32 --classes 4 --limit 256 --shards 2 -o data/slurm/train )
export MULTICARD_ROOT=$source_folder MULTICARD_ENV_FILE=""
deck=$source_folder/inputs/tests/slurm.yaml
# Nodes without GPUs and with two cores; what sbatch is told on the command line replaces the lines of the script.
site=(--parsable --gpus-per-node=0 --cpus-per-task=1 --ntasks-per-node=2 --time=5)

# ---- watching jobs ---------------------------------------------------------------------------------------------------
# wait_for JOB SECONDS WHAT COMMAND...: polls until the command succeeds.
wait_for() {
  local job=$1 deadline=$((SECONDS + $2)) what=$3
  shift 3
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "job $job: $what has not come about: $(squeue -h -j "$job" -o '%T %r' 2>&1)"
    sleep 0.2
  done
}
field() { scontrol show job "$1" | grep -oE "(^| )$2=[^ ]+" | cut -d= -f2; }
ended() { case $(field "$1" JobState) in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;; *) return 1 ;; esac; }
log_has() { grep -q "$2" "$scratch"/*-"$1".out 2>/dev/null; }

expect_end() {  # JOB STATE EXIT
  wait_for "$1" 120 "its end" ended "$1"
  [ "$(field "$1" JobState) $(field "$1" ExitCode)" = "$2 $3" ] ||
    fail "job $1 ended as $(field "$1" JobState) with $(field "$1" ExitCode), not as $2 with $3"
}

expect_ranks() {  # FILE RUN RANKS
  [ -s "$1" ] || fail "$1 is missing"
  h5dump -a "/runs/$2/ranks" "$1" | grep "(0): $3\$" >/dev/null || fail "$1: run $2 has not run on $3 ranks"
}

expect_hosts() {  # FILE HOST...
  local file=$1 host
  shift
  for host in "$@"; do
    h5dump -a /provenance/hosts "$file" | grep "$host" >/dev/null || fail "$file does not name host $host"
  done
}

submit_run() { sbatch "${site[@]}" "$@"; }

# A run long enough to be stopped after its tenth step; it must continue by itself and finish.
requeue_case() {  # SCRIPT SCANCEL-OPTION
  local job
  job=$(submit_run "$source_folder/slurm/$1" "$deck" run.steps=400 run.log_every=1)
  wait_for "$job" 60 "step 10" log_has "$job" "step *1[0-9]"
  scancel ${2:+"$2"} --signal=USR1 "$job"
  wait_for "$job" 60 "exit 75" log_has "$job" "ended with 75"
  wait_for "$job" 90 "its second start" log_has "$job" "restart 1"
  expect_end "$job" COMPLETED 0:0
  expect_ranks results/slurm/results.h5 main 4
  steps=$(h5dump -H -d /runs/main/steps/step results/slurm/results.h5 | grep -o '( 4, 400 )' | head -1)
  [ -n "$steps" ] || fail "the results do not hold all 400 steps of both parts"
}

case $case_name in
  srun | mpirun)
    job=$(submit_run "$source_folder/slurm/image_multi_node_$case_name.sbatch" "$deck")
    expect_end "$job" COMPLETED 0:0
    expect_ranks results/slurm/results.h5 main 4
    if unshare --uts --mount true 2>/dev/null; then  # the nodes have names of their own
      expect_hosts results/slurm/results.h5 n1 n2
    fi
    ;;
  one_node)
    job=$(submit_run "$source_folder/slurm/image_one_node.sbatch" "$deck")
    expect_end "$job" COMPLETED 0:0
    expect_ranks results/slurm/results.h5 main 2
    ;;
  gpus)  # one number says how many ranks a node has; each gets its share of the node's processors
    job=$(sbatch --parsable --gpus-per-node=2 --time=5 "$source_folder/slurm/image_multi_node_srun.sbatch" "$deck" \
      run.seed=2 'data.normalize={mean: [0.5, 0.5, 0.5], std: [0.2, 0.2, 0.2]}')
    expect_end "$job" COMPLETED 0:0
    expect_ranks results/slurm/results.h5 main 4
    log_has "$job" "4 ranks, 1 CPUs each" || fail "the log does not name the ranks and their CPUs"
    h5dump -a /runs/main/deck results/slurm/results.h5 >deck.txt
    grep -F 'mean: [0.5, 0.5, 0.5]' deck.txt >/dev/null || fail "a value with spaces has not reached the program whole"
    # OMP_NUM_THREADS as in a shell that has sourced scripts/env.sh
    job=$(OMP_NUM_THREADS=1 submit_run --nodes=1 --ntasks-per-node=1 --cpus-per-task=2 \
      "$source_folder/slurm/image_one_node.sbatch" "$deck" run.output=results/one run.global_batch=8)
    expect_end "$job" COMPLETED 0:0
    h5dump -d /provenance/environment results/one/results.h5 | grep -F OMP_NUM_THREADS=2 >/dev/null ||
      fail "a rank that has two processors does not compute with both"
    ;;
  no_export)  # sites may forbid jobs the environment of the user who submits them: arguments arrive in any case
    mkdir build
    ln -s "$MULTICARD_BUILD" build/release
    ln -s "$source_folder"/{slurm,scripts,inputs} .
    job=$(SBATCH_EXPORT=NONE submit_run slurm/image_one_node.sbatch inputs/tests/slurm.yaml run.output=results/named)
    expect_end "$job" COMPLETED 0:0
    expect_ranks results/named/results.h5 main 2
    ;;
  array)
    job=$(submit_run --array=0,2 "$source_folder/slurm/array.sbatch" "$deck")
    for element in 0 2; do expect_end "${job}_$element" COMPLETED 0:0; done
    expect_ranks results/array/learning_rate_0.01/results.h5 main 2
    expect_ranks results/array/learning_rate_0.05/results.h5 main 2
    ;;
  llm)
    mkdir -p tests/data/models
    ln -s "$source_folder/tests/data/models/tinystories-656K" tests/data/models/
    ( . "$source_folder/scripts/env.sh"
      multicard prepare text --type alpaca --tokenizer tests/data/models/tinystories-656K --split 0.1 --max-length 256 \
        --in "$source_folder/inputs/text/instruction-data.json" -o data/tinystories/instruct )
    deck=$source_folder/inputs/llm/tinystories.yaml
    job=$(submit_run "$source_folder/slurm/llm_one_node.sbatch" "$deck" run.steps=3)
    expect_end "$job" COMPLETED 0:0
    expect_ranks results/tinystories/results.h5 main 2
    ;;
  sweep)
    job=$(submit_run --nodes=2 "$source_folder/slurm/sweep.sbatch" "$source_folder/inputs/tests/slurm_sweep.yaml")
    expect_end "$job" COMPLETED 0:0
    for run in 0000:1 0001:2 0002:4; do expect_ranks results/slurm_sweep/results.h5 "${run%:*}" "${run#*:}"; done
    ;;
  share)
    job=$(submit_run "$source_folder/slurm/share.sbatch" "$source_folder/inputs/tests/slurm_share.yaml")
    expect_end "$job" COMPLETED 0:0
    for run in one two; do
      h5dump -a "/runs/$run/status" results/slurm_share/results.h5 | grep -F '"complete"' >/dev/null ||
        fail "the task $run is not complete"
    done
    ;;
  installed)  # as installed from a package: its own scripts, programs and decks, from a folder that has none of them
    TORCH_ROOT=$(sed -n 's/^TORCH_ROOT:[A-Z]*=//p' "$MULTICARD_BUILD/CMakeCache.txt")
    tar -xf "$(echo "$MULTICARD_BUILD"/packages/multicard-*-linux-*.tar.gz)"
    MULTICARD_ROOT=$(echo "$scratch"/multicard-*/share/multicard)
    export TORCH_ROOT MULTICARD_ROOT
    unset MULTICARD_BUILD
    data=(data.train="$scratch/data/slurm/train*.h5" data.test=null data.image_size=32 evaluate.every_epochs=0)
    job=$(submit_run --array=1 "$MULTICARD_ROOT/slurm/array.sbatch" "${data[@]}" run.epochs=1 run.global_batch=32)
    expect_end "${job}_1" COMPLETED 0:0
    results=results/array/learning_rate_0.02/results.h5
    expect_ranks $results main 2
    h5dump -w 0 -a /command_line $results | grep -F "${MULTICARD_ROOT%/share/*}/libexec/multicard/" >/dev/null ||
      fail "the job has not run the installed program"
    ;;
  requeue_srun) requeue_case image_multi_node_srun.sbatch "" ;;
  requeue_mpirun) requeue_case image_multi_node_mpirun.sbatch --batch ;;
  failure)  # a deck error reaches Slurm as exit 2, and is not queued again
    job=$(submit_run "$source_folder/slurm/image_multi_node_srun.sbatch" "$deck" run.no_such_key=1)
    expect_end "$job" FAILED 2:0
    log_has "$job" no_such_key || fail "the log does not name the wrong key"
    ;;
  *) fail "unknown case $case_name" ;;
esac
echo "passed: $case_name"
