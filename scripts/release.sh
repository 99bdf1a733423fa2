#!/usr/bin/env bash
# Makes the files of a release: source tarball, .tar.gz and Debian package of a build, and their SHA256SUMS.
#
# usage: scripts/release.sh [-o FOLDER] [--build BUILD-FOLDER] [--draft]
#   -o       where they go (default build/release/packages); files of earlier releases there are replaced
#   --build  the build to pack (default build/release); nothing is compiled
#   --draft  what is not ready for a release is said but does not end the script; without git there is no source tarball
# Ready means: nothing is uncommitted, the build is of this commit, CHANGELOG.md has a date for the version, and the
# version is the same in CMakeLists.txt, CITATION.cff and packaging/. CONTRIBUTING.md has the checklist of a release.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
build=$root/build/release folder='' draft=''
read_options build draft? -- "$@"
build=$(realpath -m "$build")
folder=${folder:-$build/packages}
version=$(sed -n 's/^project(multicard VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
[ -s "$build/CPackConfig.cmake" ] || die "$build holds no build (CPackConfig.cmake is missing) Run scripts/build.sh."

num_problems=0
problem() {
  num_problems=$((num_problems + 1))
  say "      NOT READY: $*"
}

git_here() { git -C "$root" -c safe.directory="$root" "$@"; }
commit=$(git_here rev-parse HEAD 2>/dev/null) || commit=''

check_release() {
  local file built
  if [ -z "$commit" ]; then
    problem "this is not a git repository"
  else
    [ -z "$(git_here status --porcelain)" ] || problem "there are uncommitted changes (git status)"
    built=$("$build/bin/multicard" --version | sed -n 's/^multicard [0-9.]* (\([^)]*\)).*/\1/p') || true
    [ "$built" = "${commit:0:12}" ] || problem "$build is a build of ${built:-no commit}, not of ${commit:0:12}"
  fi
  grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)\$" "$root/CHANGELOG.md" ||
    problem "CHANGELOG.md has no section '## $version (YYYY-MM-DD)'"
  grep -qF "set(CPACK_PACKAGE_VERSION \"$version\")" "$build/CPackConfig.cmake" ||
    problem "$build was configured for another version: scripts/build.sh"
  for file in CITATION.cff packaging/spack/package.py packaging/containers/{Dockerfile,multicard.def}; do
    grep -qF "$version" "$root/$file" || problem "$file does not name version $version"
  done
  if [ "$num_problems" -gt 0 ] && [ -z "$draft" ]; then die "this is no release yet ($num_problems problems above)"; fi
}

step 1 4 "Checking version $version"
check_release
mkdir -p "$folder"
work=$(mktemp -d "$folder/.release.XXXXXX")
trap 'rm -rf "$work"' EXIT

step 2 4 "Source tarball"
if [ -n "$commit" ]; then
  git_here archive --format=tar --prefix="multicard-$version/" "$commit" | gzip -n >"$work/multicard-$version.tar.gz"
fi

step 3 4 "Packages of $build"
(cd "$build" && cpack -B "$work/cpack") >"$work/log" 2>&1 || { cat "$work/log" >&2; die "cpack failed"; }
find "$work/cpack" -maxdepth 1 -type f -exec mv {} "$work" \;

step 4 4 "SHA256SUMS"
rm -rf "$work/cpack" "$work/log"
(cd "$work" && sha256sum -- multicard* >SHA256SUMS)
rm -f "$folder"/multicard[-_]*.tar.gz "$folder"/multicard_*.deb "$folder/SHA256SUMS"
mv "$work"/* "$folder"
say "      $(wc -l <"$folder/SHA256SUMS") files, $(du -sm "$folder" | cut -f1) MB in $folder"
