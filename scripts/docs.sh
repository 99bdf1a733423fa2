#!/usr/bin/env bash
# Makes the documents a site that needs no server and no network: open build/site/index.html in a browser. Broken links,
# anchors that are not there and pages without a place in mkdocs.yml are errors (exit code 1).
#
# usage: scripts/docs.sh [-o FOLDER]
#   -o FOLDER   where the site goes, instead of build/site
# scripts/setup_docs.sh installs MkDocs Material, without which this ends with 77.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/wheels.sh
. "$root/scripts/wheels.sh"
folder=$root/build/site
read_options -- "$@"
tools=$cache/docs-tools
python=${MULTICARD_PYTHON:-python3}
site=$folder folder=$tools requirements=$root/scripts/docs-requirements.txt version=$(python_version "$python")
is_complete || unavailable "SKIPPED: MkDocs Material is not installed for $version (scripts/setup_docs.sh)"

export MULTICARD_SITE_PAGES=$root/build/site-pages
if [ "$site" != "$root/build/site" ]; then MULTICARD_SITE_PAGES=$site.pages; fi
"$python" "$root/scripts/stage_docs.py" "$MULTICARD_SITE_PAGES"
PYTHONPATH=$tools PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --strict \
  -f "$root/mkdocs.yml" -d "$site" 2>&1 | sed '/^INFO/d' >&2
say "$site/index.html"
