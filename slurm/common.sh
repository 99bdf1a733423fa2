# shellcheck shell=bash disable=SC2034,SC2153  # the batch script sets what is in capitals and uses cpu_bind
# What the batch scripts of this folder share. Sourced, not submitted.

# Loads the site's environment, puts the programs on PATH, splits OVERRIDES into the words of `overrides`, and sets
# `cpu_bind` for srun's --cpu-bind.
multicard_environment() {
  if [ -n "$MULTICARD_ENV_FILE" ]; then
    # shellcheck disable=SC1090
    . "$MULTICARD_ENV_FILE"
  fi
  # shellcheck source=scripts/env.sh
  . "$MULTICARD_ROOT/scripts/env.sh"
  read -r -a overrides <<<"$OVERRIDES"
  multicard_check_gpus
  multicard_cpu_bind
  echo "$(date -u +%FT%TZ) job $SLURM_JOB_ID on $SLURM_JOB_NODELIST: $SLURM_NTASKS ranks," \
    "restart ${SLURM_RESTART_COUNT:-0}, deck $DECK ${overrides[*]}"
}

# One rank a GPU: with more the program ends, with fewer GPUs stay idle.
multicard_check_gpus() {
  local gpus=${SLURM_GPUS_ON_NODE:-0} tasks
  tasks=$(multicard_tasks_here)
  if [ "$gpus" -gt 0 ] && [ "$tasks" != "$gpus" ]; then
    echo "WARNING: $tasks ranks and $gpus GPUs on $(hostname): sbatch --ntasks-per-node=$gpus gives each its rank" >&2
  fi
}

# Ranks on this node.
multicard_tasks_here() {
  local tasks=${SLURM_NTASKS_PER_NODE:-$((SLURM_NTASKS / SLURM_JOB_NUM_NODES))}
  echo "${tasks%%(*}"
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

# Ends the job with the program's status; 75 means that it stopped early, can go on and wants to be queued again.
multicard_finish() {
  local status=$1
  echo "$(date -u +%FT%TZ) multicard ended with $status"
  if [ "$status" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$MAX_RESTARTS" ]; then
    # The request kills this script, so that the lines below are reached only when it is refused.
    scontrol requeue "$SLURM_JOB_ID" && sleep 60
    echo "The job could not be requeued: submit it again, and it goes on from its newest checkpoint."
  fi
  exit "$status"
}
