#!/usr/bin/env bash
# How well the all-reduce between two nodes uses their link: two nodes on this machine (scripts/two_nodes.sh; root),
# joined by a link of 200 Mbit/s, of 1 Gbit/s, and as fast as it goes. For each: what iperf3 sends in one direction, and
# 14 MB of float32 reduced by a rank a node, as bytes that leave a node (all of them, at two nodes) by the median time.
# Run it on an idle machine: both nodes share its cores.
#
# usage: bench/nodes.sh [MB]
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
case ${1:-} in -h | --help) usage "$0"; exit 0 ;; esac
have iperf3 || die "iperf3 is missing (install the package iperf3)"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
"$root/scripts/build.sh" release --target allreduce_bench >/dev/null 2>&1

export MULTICARD_NODES=bench$$
nodes=$root/scripts/two_nodes.sh
megabytes=${1:-14}
"$nodes" up
trap '"$nodes" down' EXIT

# MB/s that arrive.
iperf_rate() {
  local server
  "$nodes" on b iperf3 --server --one-off >/dev/null 2>&1 &
  server=$!
  sleep 1
  "$nodes" on a iperf3 --client "$MULTICARD_NODES-b" --time 3 --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 8e6)'
  wait "$server" || true
}

printf '%-8s %12s %14s %14s %7s\n' link "iperf3 MB/s" "all-reduce ms" "all-reduce MB/s" ratio
for rate in 200mbit 1gbit none; do
  "$nodes" limit "$rate"
  iperf=$(iperf_rate)
  ms=$("$nodes" run 1,1 "$root/build/release/bin/allreduce_bench" "$megabytes" all-reduce 2>/dev/null |
    awk '$1 == "all-reduce" && $3 == "MB" { print $4; exit }')
  awk -v rate="$rate" -v iperf="$iperf" -v ms="$ms" -v mb="$megabytes" 'BEGIN {
    reached = mb / ms * 1e3
    printf "%-8s %12.1f %14.1f %14.1f %7.2f\n", rate, iperf, ms, reached, reached / iperf }'
done
