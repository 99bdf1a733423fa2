#!/usr/bin/env bash
# Writes manual pages and completion from the help of the programs, as they are installed:
#   man1/ man5/                 multicard.1, multicard-run.1, ..., multicard-post.1, multicard-deck.5
#   bash/ zsh/ fish/            files named as each shell looks for them
#
# usage: cmake/write_help.sh MULTICARD MULTICARD_POST FOLDER    what was in FOLDER goes
set -euo pipefail
[ $# = 3 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
folder=$3
rm -rf "$folder"
mkdir -p "$folder"/{man1,man5,bash,zsh,fish}
for program in "$1" "$2"; do
  name=$(basename "$program")
  "$program" help --man "$folder/man1"
  "$program" help --completion bash >"$folder/bash/$name"
  "$program" help --completion zsh >"$folder/zsh/_$name"
  "$program" help --completion fish >"$folder/fish/$name.fish"
done
mv "$folder"/man1/*.5 "$folder/man5/"
