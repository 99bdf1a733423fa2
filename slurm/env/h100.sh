# shellcheck shell=bash
# Example environment of a cluster of nodes with H100 GPUs. Copy it, adapt it, and name yours in MULTICARD_ENV_FILE.
# It is sourced by the batch scripts on the first node; srun and mpirun pass exported variables to all ranks.

# Modules: the compiler, Open MPI, parallel HDF5 and CUDA 13 that multicard was built with, nothing else.
# module purge
# module load gcc/12 openmpi/4.1 hdf5/1.14-openmpi cuda/13.0 nccl/2.30

# ---- NCCL ----------------------------------------------------------------------------------------------------------
# The network of NCCL's rendezvous. NCCL picks the first interface that is up, which on a login or management network
# is the wrong one: name the fabric's (ip -br addr shows them). A leading ^ excludes instead.
export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-^lo,docker,virbr}"
# The InfiniBand adapters, one for each GPU; without it NCCL also takes a storage or Ethernet adapter it finds.
# export NCCL_IB_HCA=mlx5_0,mlx5_3,mlx5_4,mlx5_5
# Warnings name the reason when a transport falls back to sockets. INFO prints the rings and trees, for a single check.
export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"
# Leave NCCL_ALGO and NCCL_PROTO alone: values tuned for one message size slow down the others.

# ---- Open MPI and UCX ------------------------------------------------------------------------------------------------
# MPI carries control messages, checkpoints and HDF5; gradients go through NCCL. On InfiniBand UCX is the transport,
# without its GPU part, because multicard gives MPI host memory only.
# export OMPI_MCA_pml=ucx
# export UCX_TLS=rc,self,sm
# On Ethernet name the interface, or Open MPI tries them all, docker's too:
# export OMPI_MCA_btl_tcp_if_include=eth0

# ---- Memory ----------------------------------------------------------------------------------------------------------
# Grow GPU memory segments in place instead of adding new ones: fewer failures from fragmentation when shapes change.
export PYTORCH_CUDA_ALLOC_CONF="${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}"
