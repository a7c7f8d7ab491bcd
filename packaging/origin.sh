# Build settings for reproducible binaries: they contain the commit, but no paths of the build machine.
#
# Sourced from the root of the repository, not run. Exports CHANCERY_COMMIT; `without_paths` is for RUSTFLAGS.
# shellcheck shell=bash

CHANCERY_COMMIT=${CHANCERY_COMMIT:-$(git rev-parse --short=12 HEAD 2>/dev/null || true)}
export CHANCERY_COMMIT
# shellcheck disable=SC2034
without_paths="--remap-path-prefix=$PWD=/chancery --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
