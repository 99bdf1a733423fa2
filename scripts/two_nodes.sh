#!/usr/bin/env bash
# Two nodes on one Linux machine: two network and host-name namespaces joined by a virtual link, which can be limited
# and cut, so that a job runs over two network stacks. They share processors and the file system. Needs root and
# iproute2; containers without the capability NET_ADMIN cannot make them (exit 3).
#
# usage: scripts/two_nodes.sh COMMAND ...
#   up                      makes the nodes NAME-a and NAME-b (NAME: MULTICARD_NODES, default nodes)
#   limit RATE [a|b]        sends at most RATE (as 200mbit; none: as fast as it goes), from both nodes or from one
#   run A,B COMMAND ...     mpirun with A ranks on node a and B on node b, started on node a; options of mpirun come
#                           first. Ranks connect over MULTICARD_NODES_NETWORK (default: the link)
#   on a|b COMMAND ...      runs a command on one node, without MPI
#   cut | restore           takes the link down, and up again
#   bytes                   bytes that have left node a and node b, a line
#   down                    removes both nodes and ends what still runs on them
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
self=$(realpath "${BASH_SOURCE[0]}")
export MULTICARD_NODES=${MULTICARD_NODES:-nodes}
a=$MULTICARD_NODES-a b=$MULTICARD_NODES-b
subnet=10.77.0  # of the link, which no other namespace sees

[ $# -gt 0 ] || { usage "$0" >&2; exit 2; }
command=$1
shift

# A name space for the network (which brings one for mounts), one for the host's name, and a /dev/shm of its own: ranks
# of two nodes must not meet in shared memory.
enter() {
  local node=$1
  shift
  # shellcheck disable=SC2016  # the inner shell expands
  exec ip netns exec "$node" unshare --uts -- bash -c \
    'mount -t tmpfs -o mode=1777 none /dev/shm && hostname "$0" && exec "$@"' "$node" "$@"
}

up() {
  [ "$(id -u)" = 0 ] || die "nodes cannot be made (only root may). Run this as root."
  if ! have ip || ! have tc; then die "nodes cannot be made (ip or tc is missing). Install iproute2."; fi
  local why node
  why=$(ip netns add "$a" 2>&1) || die "nodes cannot be made (${why##*: }). \
Remove earlier ones with two_nodes.sh down, or run where namespaces are allowed."
  why=$(ip netns add "$b" 2>&1) || { ip netns del "$a"; die "nodes cannot be made (${why##*: })."; }
  trap down ERR
  for node in "$a" "$b"; do  # ip netns exec shows this file as /etc/hosts
    mkdir -p "/etc/netns/$node"
    printf '127.0.0.1 localhost\n%s.1 %s\n%s.2 %s\n' $subnet "$a" $subnet "$b" >"/etc/netns/$node/hosts"
    ip -n "$node" link set lo up
  done
  ip link add eth0 netns "$a" type veth peer name eth0 netns "$b"
  ip -n "$a" addr add $subnet.1/24 dev eth0
  ip -n "$b" addr add $subnet.2/24 dev eth0
  for node in "$a" "$b"; do ip -n "$node" link set eth0 up; done
  # A test of the parts that need more rights than the above.
  (enter "$b" true) || { down; die "nodes cannot be used (mounting or naming is not allowed here)"; }
}

limit() {
  local rate=$1 node
  local -a nodes=("$a" "$b")
  [ $# -lt 2 ] || nodes=("$MULTICARD_NODES-$2")
  for node in "${nodes[@]}"; do
    ip netns exec "$node" tc qdisc del dev eth0 root 2>/dev/null || true
    # tbf is in every kernel, netem is not.
    [ "$rate" = none ] ||
      ip netns exec "$node" tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 100ms
  done
}

# Open MPI calls this in place of ssh: agent HOST COMMAND...
agent() {
  local node=$1
  shift
  enter "$node" bash -c "$*"
}

launch() {
  local counts=$1
  shift
  enter "$a" mpirun --host "$a:${counts%,*},$b:${counts#*,}" -n $((${counts%,*} + ${counts#*,})) \
    --mca plm_rsh_agent "$self agent" --mca plm_rsh_no_tree_spawn 1 \
    --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include "${MULTICARD_NODES_NETWORK:-$subnet.0/24}" "$@"
}

down() {
  local node
  for node in "$a" "$b"; do
    ip netns pids "$node" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$node" 2>/dev/null || true
    rm -rf "/etc/netns/$node"
  done
}

sent() { ip netns exec "$1" cat /sys/class/net/eth0/statistics/tx_bytes; }

case $command in
  up) up ;;
  limit) limit "$@" ;;
  agent) agent "$@" ;;
  run) launch "$@" ;;
  on) enter "$MULTICARD_NODES-$1" "${@:2}" ;;
  cut) ip -n "$b" link set eth0 down ;;
  restore) ip -n "$b" link set eth0 up ;;
  bytes) echo "$(sent "$a") $(sent "$b")" ;;
  down) down ;;
  -h | --help) usage "$0" ;;
  *) say "$program: unknown command $command (see --help)"; exit 2 ;;
esac
