#!/usr/bin/env bash
# Resolves the versions of pyproject.toml into requirements/*.txt, with hashes for every platform.
#
# Usage: scripts/lock.sh UV [uv's own options, e.g. --upgrade or --upgrade-package NAME]
# What a later file shares with an earlier one is pinned to the earlier one's version.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$1
shift
extra=("$@")

resolve() { # FILE, GROUPS, FILES THAT CONSTRAIN IT, then pyproject.toml for policyd's own dependencies, and extras
  local options=() name
  for name in $2; do options+=(--group "$name"); done
  for name in $3; do options+=(--constraints "requirements/$name.txt"); done
  "$uv" pip compile --quiet --universal --python-version 3.11 "${@:4}" \
    --generate-hashes --no-emit-index-url --no-annotate --no-header \
    "${options[@]}" --output-file "requirements/$1.txt" "${extra[@]}" > /dev/null
  echo "requirements/$1.txt: $(grep -c == "requirements/$1.txt") packages"
}

resolve base "" "" pyproject.toml
resolve build "build" "base"
resolve dev "build test lint schema" "base build" pyproject.toml --all-extras
resolve image "" "dev" pyproject.toml --extra run --extra tracing
resolve bench "test bench" "dev" pyproject.toml
resolve fuzz "test fuzz" "dev" pyproject.toml
resolve lock "lock" ""
