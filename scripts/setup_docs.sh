#!/usr/bin/env bash
# Installs MkDocs Material 9.8.2, with which scripts/docs.sh makes the documents a site (18 MB to fetch, 80 MB in
# $MULTICARD_CACHE/docs-tools).
#
# usage: scripts/setup_docs.sh [--examples]
#   --examples   also what the scripts of postproc/examples use: W&B, MLflow, pandas and matplotlib (100 MB to fetch,
#                300 MB in $MULTICARD_CACHE/example-tools)
# MULTICARD_PYTHON names a Python other than python3: 3.11, 3.12 or 3.13. Ends with 77, after saying why, where they
# cannot be had. May be run any number of times, also by two at once.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/wheels.sh
. "$root/scripts/wheels.sh"
examples=''
read_options examples? -- "$@"

# set_up NAME CALLED MODULES: what $root/scripts/NAME-requirements.txt pins, into $cache/NAME-tools.
set_up() {
  folder=$cache/$1-tools requirements=$root/scripts/$1-requirements.txt called=$2
  if is_complete; then
    say "$called: already installed ($folder)"
    return
  fi
  say "$called: installing into $folder"
  # shellcheck disable=SC2119  # its arguments are options of pip
  fetch
  rm -rf "$folder"
  mv "$staging/part" "$folder"
  PYTHONPATH=$folder "$python" -c "import $3" >&2 || unavailable "$called cannot be imported"
  mark_complete
}

python=${MULTICARD_PYTHON:-python3}
version=$(python_version "$python") || unavailable "there is no $python"
lock_cache docs-tools
set_up docs "MkDocs Material" "mkdocs, material"
if [ -n "$examples" ]; then set_up example "W&B, MLflow, pandas and matplotlib" "wandb, mlflow, pandas, matplotlib"; fi
