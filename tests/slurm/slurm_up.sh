#!/usr/bin/env bash
# Starts a private Slurm cluster of virtual nodes on this machine, without touching an installed one.
#
# usage: slurm_up.sh FOLDER [NODES] [CPUS]      (2 nodes of 2 CPUs; then: export SLURM_CONF=FOLDER/slurm.conf)
#
# Each node claims two GPUs, which Slurm gives to jobs as it would real ones; programs find none.
#
# Needs root and the programs slurmctld, slurmd, munged. FOLDER holds everything: configuration, keys, sockets, logs.
# Each node's slurmd runs in its own UTS and mount namespace, so that it has a host name and a /dev/shm of its own, as
# separate machines do; MPI would otherwise take the ranks of two nodes for neighbours in one shared memory. Where
# namespaces are not permitted, a prolog gives each node's ranks their own folder for shared memory instead.
set -euo pipefail

folder=$(realpath -m "${1:?usage: slurm_up.sh FOLDER [NODES] [CPUS]}")
num_nodes=${2:-2}
num_cpus=${3:-2}
mkdir -p "$folder"/{state,log,run}
chmod 755 "$folder" "$folder"/{state,log,run}
export SLURM_CONF=$folder/slurm.conf

isolate=yes
unshare --uts --mount true 2>/dev/null || isolate=no

# One free TCP port for the controller and one for each node, below the range from which the kernel gives ports to
# outgoing connections: the daemons' own connections would otherwise take a port before the node listens at it.
mapfile -t ports < <(python3 - "$num_nodes" <<'PYTHON'
import random
import socket
import sys
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
    first_given = int(file.read().split()[0])
candidates = list(range(10000, first_given if first_given > 11000 else 32768))
random.shuffle(candidates)
wanted = int(sys.argv[1]) + 1
for port in candidates:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            continue
    print(port)
    wanted -= 1
    if wanted == 0:
        break
PYTHON
)

# Slurm looks its own address up with AI_ADDRCONFIG, which fails on a machine that has only the loopback interface.
give_an_address() {
  if [ -n "$(ip -4 -br address show up scope global)" ]; then return; fi
  ip link add multicard-slurm0 type veth peer name multicard-slurm1
  ip address add 192.0.2.9/24 dev multicard-slurm0
  ip link set multicard-slurm0 up
  ip link set multicard-slurm1 up
  touch "$folder/run/interface"
}

start_munge() {
  dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
  chmod 400 "$folder/munge.key"
  munged --key-file="$folder/munge.key" --socket="$folder/run/munge.socket" --pid-file="$folder/run/munged.pid" \
    --log-file="$folder/log/munged.log" --seed-file="$folder/munge.seed" --force
}

write_configuration() {
  local memory node host=""
  memory=$(awk -v nodes="$num_nodes" '/^MemTotal/ {print int($2 / 1024 * 0.8 / nodes)}' /proc/meminfo)
  cat >"$SLURM_CONF" <<CONF
ClusterName=multicard
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until its old credential has expired: two minutes by default.
AuthInfo=socket=$folder/run/munge.socket,cred_expire=6
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
# The PMIx plugin makes a folder here, which two nodes must not share.
TmpFS=$folder/tmp.%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=512
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$folder/log/jobs.log
MailProg=/bin/true
SchedulerParameters=bf_interval=1,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MinJobAge=600
PropagateResourceLimits=NONE
GresTypes=gpu
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  if [ "$isolate" = no ]; then
    host="NodeHostname=$(hostname -s)"
    cat >"$folder/prolog.sh" <<'PROLOG'
#!/bin/sh
mkdir -p "/dev/shm/multicard-$SLURM_JOB_ID-$SLURMD_NODENAME"
echo "export OMPI_MCA_btl_vader_backing_directory=/dev/shm/multicard-$SLURM_JOB_ID-$SLURMD_NODENAME"
PROLOG
    chmod +x "$folder/prolog.sh"
    echo "TaskProlog=$folder/prolog.sh" >>"$SLURM_CONF"
  fi
  for node in $(seq "$num_nodes"); do
    echo "NodeName=n$node Name=gpu File=/dev/zero,/dev/full" >>"$folder/gres.conf"
    echo "NodeName=n$node $host NodeAddr=127.0.0.1 Port=${ports[$node]} Sockets=1 CoresPerSocket=$num_cpus" \
      "ThreadsPerCore=1 Gres=gpu:2 RealMemory=$memory State=UNKNOWN" >>"$SLURM_CONF"
  done
}

start_node() {
  local name=$1
  mkdir -p "$folder/spool.$name" "$folder/tmp.$name"
  if [ "$isolate" = no ]; then
    slurmd -f "$SLURM_CONF" -N "$name"
    return
  fi
  # shellcheck disable=SC2016  # expanded inside
  unshare --uts --mount --propagation private sh -c \
    'hostname "$1" && mount -t tmpfs -o size=50% shm /dev/shm && exec slurmd -f "$SLURM_CONF" -N "$1"' sh "$name"
}

wait_until_idle() {
  local ready attempt
  for attempt in $(seq 150); do
    ready=$(sinfo -h -N -o '%T' 2>/dev/null | grep -cx idle || true)
    if [ "$ready" -eq "$num_nodes" ]; then return; fi
    sleep 0.2
  done
  echo "slurm_up.sh: the nodes did not come up after $attempt tries" >&2
  sinfo -N -l >&2 || true
  tail -n 20 "$folder"/log/*.log >&2
  return 1
}

give_an_address
start_munge
write_configuration
slurmctld -f "$SLURM_CONF" -c
for node in $(seq "$num_nodes"); do start_node "n$node"; done
wait_until_idle
echo "Slurm is up: $num_nodes nodes of $num_cpus CPUs (own namespaces: $isolate); export SLURM_CONF=$SLURM_CONF"
