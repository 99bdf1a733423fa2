# shellcheck shell=bash disable=SC2154  # lib.sh and the scripts that source this set the variables
# Fetching pinned wheels into a folder of the cache. Sourced after lib.sh, not run. The script has set `python`, whose
# pip is used, and `version`, for which Python the wheels are; for each folder of wheels `folder`, `requirements` (the
# file that pins them) and `called` (their name in messages).

unavailable() { say "$program: $*"; exit 77; }

is_complete() { cmp -s <(cat "$requirements" && echo "$version") "$folder/.multicard-complete"; }

mark_complete() { { cat "$requirements" && echo "$version"; } >"$folder/.multicard-complete"; }

python_version() { "$1" -c 'import sys; print("Python %d.%d" % sys.version_info[:2])'; }

# fetch [OPTION...]: into $staging/part.
fetch() {
  find "$cache" -maxdepth 1 -name ".$(basename "$folder").??????" -exec rm -rf {} +  # of an interrupted setup
  staging=$(mktemp -d "$cache/.$(basename "$folder").XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  "$python" -m pip --version >/dev/null 2>&1 || unavailable "$python has no pip, which fetches $called"
  PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip --quiet --disable-pip-version-check install \
    --no-deps --require-hashes --only-binary=:all: --no-compile --target "$staging/part" -r "$requirements" "$@" >&2 ||
    unavailable "pip could not fetch $called (its message is above)"
}

# lock_cache NAME: one setup at a time.
lock_cache() {
  mkdir -p "$cache"
  exec 9>"$cache/.$1.lock"
  if ! flock -n 9; then
    say "another setup is installing the same: waiting for it"
    flock 9
  fi
}
