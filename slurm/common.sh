# shellcheck shell=bash disable=SC2153  # the batch script sets what is written in capitals
# What the batch scripts of this folder share. Sourced, not submitted.

# Loads the site's environment, puts the programs on PATH and splits OVERRIDES into the words of `overrides`.
multicard_environment() {
  if [ -n "$MULTICARD_ENV_FILE" ]; then
    # shellcheck disable=SC1090
    . "$MULTICARD_ENV_FILE"
  fi
  # shellcheck source=scripts/env.sh
  . "$MULTICARD_ROOT/scripts/env.sh"
  read -r -a overrides <<<"$OVERRIDES"
  echo "$(date -u +%FT%TZ) job $SLURM_JOB_ID on $SLURM_JOB_NODELIST: $SLURM_NTASKS ranks," \
    "restart ${SLURM_RESTART_COUNT:-0}, deck $DECK ${overrides[*]}"
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
