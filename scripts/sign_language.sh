#!/usr/bin/env bash
# Prepares the Sign Language Digits photos (2062 hands in ten classes, Apache-2.0) for inputs/image/sign_language.yaml:
# four fifths become data/sign_language/digits-train-*.h5, one fifth digits-test-*.h5, both at 100 x 100.
#
# usage: scripts/sign_language.sh [FOLDER | ARCHIVE.tar.gz]
#   FOLDER is a copy of https://github.com/ardamavi/Sign-Language-Digits-Dataset, ARCHIVE a tarball of one; without
#   either the photos are fetched from there by git.
# Finding other photos than those of commit 4b09433e is said and is not an error: results then differ.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
esac

origin=https://github.com/ardamavi/Sign-Language-Digits-Dataset
commit=4b09433e
output=data/sign_language/digits
# What `sha256sum` makes of all photos in order of name, itself summed.
known_photos=b2db9f69d918a9c3638bda75402275dc25e42ac380995d0ae357278a560a16c9

source=${1:+$(realpath -- "$1")}
cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
if compgen -G "$output-*.h5" >/dev/null; then
  say "reusing $output-*.h5"
  exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "$source" ]; then
  have git || die "git is missing: name a folder or an archive of $origin"
  GIT_TERMINAL_PROMPT=0 git clone --quiet "$origin" "$scratch/photos" ||
    die "the photos cannot be fetched: name a folder or an archive of $origin"
  git -C "$scratch/photos" checkout --quiet "$commit"
  source=$scratch/photos
elif [ -f "$source" ]; then
  tar -xf "$source" -C "$scratch"
  source=$scratch
fi
photos=$(find "$source" -type d -path '*/Dataset/0' -print -quit)
[ -n "$photos" ] || die "$source holds no folder Dataset/0 with photos of the digit 0"
photos=${photos%/0}
found=$(cd "$photos" && find . -name '*.JPG' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
[ "${found%% *}" = "$known_photos" ] || say "$program: these are not the photos of commit $commit: results will differ"
multicard prepare images --format folder --dir "$photos" --size 100 --split 0.2 -o "$output"
