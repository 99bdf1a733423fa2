# shellcheck shell=bash disable=SC2034,SC2153  # the batch script sets what is in capitals and uses the results
# What the batch scripts of this folder share. Sourced, not submitted.

# multicard_setup DEFAULT_DECK [DECK] [KEY=VALUE ...]: reads the arguments of the batch script, loads the site's
# environment and puts the programs on PATH. Sets `words` (the deck and its overrides, each word whole), `per_node` and
# `num_ranks` (ranks), `cpus` (processors of a rank) and `cpu_bind` (for srun's --cpu-bind).
multicard_setup() {
  local default_deck=$1
  shift
  if [ $# = 0 ] || ! multicard_is_deck "$1"; then
    # Of an installation: its decks are not in the folder that the job was submitted from.
    if ! [ -e "$default_deck" ] && [ -e "$MULTICARD_ROOT/$default_deck" ]; then
      default_deck=$MULTICARD_ROOT/$default_deck
    fi
    set -- "$default_deck" "$@"
  fi
  words=("$@")
  export SLURM_EXPORT_ENV=ALL  # under SBATCH_EXPORT=NONE srun would start the ranks without PATH
  per_node=$(multicard_tasks_here)
  num_ranks=$((per_node * SLURM_JOB_NUM_NODES))
  cpus=$((${SLURM_CPUS_ON_NODE:-1} / per_node))
  if [ "$cpus" -lt 1 ]; then cpus=1; fi
  export OMP_NUM_THREADS="$cpus"  # sbatch hands over what the submitting shell has, 1 after scripts/env.sh
  if [ -n "$MULTICARD_ENV_FILE" ]; then
    if ! [ -r "$MULTICARD_ENV_FILE" ]; then
      echo "MULTICARD_ENV_FILE=$MULTICARD_ENV_FILE cannot be read: name your site's file; empty means none" >&2
      exit 3
    fi
    # shellcheck disable=SC1090
    . "$MULTICARD_ENV_FILE"
  fi
  # shellcheck source=scripts/env.sh
  . "$MULTICARD_ROOT/scripts/env.sh"
  multicard_check_gpus
  multicard_cpu_bind
  echo "$(date -u +%FT%TZ) job $SLURM_JOB_ID on $SLURM_JOB_NODELIST: $num_ranks ranks, $cpus CPUs each," \
    "restart ${SLURM_RESTART_COUNT:-0}, deck ${words[*]}"
}

# multicard_is_deck WORD: whether the first argument of a batch script is a deck rather than an override KEY=VALUE.
# Names of folders and decks may hold an equals sign (lr=0.1/deck.yaml); what is not there is a deck by its ending.
multicard_is_deck() {
  if [ -e "$1" ]; then return; fi
  case $1 in
    *=*.yaml | *=*.yml) [ ! -e "${1#*=}" ] ;;  # tasks.1.deck=other.yaml
    *=*) false ;;
  esac
}

# multicard_srun COMMAND WORD...: one `multicard COMMAND WORD...` on all ranks of the job. The numbers of the job are
# replaced by those of multicard_setup: the job itself has asked for one task on each node, or as many as ranks.
#
# --mpi=pmix             Open MPI knows no other way to start under srun; `srun --mpi=list` must show it. Where it does
#                        not, use image_multi_node_mpirun.sbatch.
# --gpu-bind=none        Every rank sees all GPUs of its node and takes the one of its local rank. Binding a GPU to a
#                        task hides the others by a cgroup, and NCCL then loses the direct path between GPUs.
# --cpu-bind             The processors next to each rank's GPU where the job has the whole node, else its own cores.
# --kill-on-bad-exit=1   A rank that fails takes the others with it, instead of leaving them waiting.
multicard_srun() {
  (
    unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE SLURM_CPUS_PER_GPU SLURM_CPUS_PER_TASK
    exec srun --mpi=pmix --ntasks="$num_ranks" --ntasks-per-node="$per_node" --cpus-per-task="$cpus" --gpu-bind=none \
      --cpu-bind="$cpu_bind" --kill-on-bad-exit=1 multicard "$@"
  )
}

# One rank per GPU: with more the program ends, with fewer GPUs stay idle.
multicard_check_gpus() {
  local gpus=${SLURM_GPUS_ON_NODE:-0} tasks
  tasks=$(multicard_tasks_here)
  if [ "$gpus" -gt 0 ] && [ "$tasks" != "$gpus" ]; then
    echo "WARNING: $tasks ranks and $gpus GPUs on $(hostname): without --ntasks-per-node each GPU gets its rank" >&2
  fi
}

# Ranks on this node: --ntasks-per-node where it is set, else one per GPU, else what --ntasks comes to.
multicard_tasks_here() {
  local tasks=${SLURM_NTASKS_PER_NODE:-${SLURM_GPUS_ON_NODE:-0}}
  tasks=${tasks%%(*}
  if [ "$tasks" -lt 1 ]; then tasks=$((${SLURM_NTASKS:-1} / ${SLURM_JOB_NUM_NODES:-1})); fi
  if [ "$tasks" -lt 1 ]; then tasks=1; fi
  echo "$tasks"
}

# Sets `cpu_bind`. Where the job has the whole node, each rank gets the processors next to its GPU: rank r of a node
# takes GPU r of those that the job sees. Else its own cores, wherever they are.
multicard_cpu_bind() {
  local bus node nodes=()
  cpu_bind=cores
  if [ "${SLURM_CPUS_ON_NODE:-0}" -lt "$(getconf _NPROCESSORS_CONF)" ]; then return; fi
  while IFS= read -r bus; do  # 00000000:18:00.0; the kernel writes 0000:18:00.0
    bus=${bus,,}
    node=$(cat "${MULTICARD_SYS:-/sys}/bus/pci/devices/${bus#0000}/numa_node" 2>/dev/null) || return 0
    if [ "$node" -lt 0 ]; then return; fi
    nodes+=("$node")
  done < <(nvidia-smi ${CUDA_VISIBLE_DEVICES:+-i "$CUDA_VISIBLE_DEVICES"} --query-gpu=pci.bus_id \
    --format=csv,noheader 2>/dev/null | head -n "$(multicard_tasks_here)")
  if [ ${#nodes[@]} = "$(multicard_tasks_here)" ]; then cpu_bind=map_ldom:$(IFS=,; echo "${nodes[*]}"); fi
}

# Ends the job with the program's status; 75 means that it stopped early and is requeued to resume.
multicard_finish() {
  local status=$1
  echo "$(date -u +%FT%TZ) multicard ended with $status"
  if [ "$status" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$MAX_RESTARTS" ]; then
    # The request kills this script, so that the lines below are reached only when it is refused.
    scontrol requeue "$SLURM_JOB_ID" && sleep 60
    echo "The job could not be requeued: submit it again, and it resumes from its newest checkpoint."
  fi
  exit "$status"
}
