# shellcheck shell=bash
# What a shell needs to run multicard from this source tree or installation:   source scripts/env.sh
# Every setting gives way to a value that is set already.
_multicard_root=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)

# The programs of the release build, or of the installation whose share/multicard this is; MULTICARD_BUILD names another
# folder.
_multicard_bin=$_multicard_root/build/release
if [ -x "$_multicard_root/../../libexec/multicard/multicard" ]; then
  _multicard_bin=$(cd "$_multicard_root/../.." && pwd)
fi
_multicard_bin=${MULTICARD_BUILD:-$_multicard_bin}/bin
case ":$PATH:" in *":$_multicard_bin:"*) ;; *) export PATH="$_multicard_bin:$PATH" ;; esac

# Open MPI refuses to start as root, which is what one is in most containers.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
  export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
fi

# Open MPI ends at its start, even on one machine, where there is neither ssh nor rsh (its issue 12386). Batch systems
# have launchers of their own, which go first.
if [ -z "${OMPI_MCA_plm:-}${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_orte_rsh_agent:-}" ] &&
  [ ! -x "$(command -v ssh)" ] && [ ! -x "$(command -v rsh)" ]; then
  export OMPI_MCA_plm_rsh_agent="ssh : rsh : false"
fi

# Open MPI before 4.1.7 can lose data in collective writes with gaps unless it locks whole ranges (its issue 12718).
export OMPI_MCA_fs_ufs_lock_algorithm="${OMPI_MCA_fs_ufs_lock_algorithm:-3}"

# By default mpirun binds each of up to two ranks to one core, where loader threads would compete with its compute.
export OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy:-none}"

# More ranks than cores are welcome on a workstation; inside a Slurm allocation the allocation decides.
if [ -z "${SLURM_JOB_ID:-}" ]; then
  export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe:-1}"
fi

# HDF5 locks files by flock, which many parallel file systems refuse; shards are never written by two.
export HDF5_USE_FILE_LOCKING="${HDF5_USE_FILE_LOCKING:-FALSE}"

# One compute thread a rank: ranks share the cores. Raise it when there are more cores than ranks.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

# Ranks to try things with (README.md): as many as there are GPUs, two at most; two on the CPU.
if [ -z "${MULTICARD_RANKS:-}" ]; then
  MULTICARD_RANKS=$(bash -c '. "$1/scripts/lib.sh"; ranks_to_try' env.sh "$_multicard_root")
  export MULTICARD_RANKS
fi

unset _multicard_root _multicard_bin
