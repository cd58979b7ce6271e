# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Sourced by the shell scripts of fork/: paths and messages, nothing is run.
set -eu

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ROOT=${ROOT%/fork*}
BUILD=$ROOT/build
# The scripts that source this use what they need of it.
# shellcheck disable=SC2034
LINUX=$BUILD/linux LOGS=$BUILD/logs

# A hook's or a user's GIT_DIR and the like are about another repository.
# shellcheck disable=SC2046
! command -v git >/dev/null || unset $(git rev-parse --local-env-vars)

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$*" >&2; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# run_step LABEL EXPECTED-SECONDS COMMAND...: progress on a terminal, log in build/logs
run_step() {
	step=$1 expect=$2
	shift 2
	"$ROOT/fork/progress" --label "$step" --expect "$expect" \
		--log "$LOGS/$(printf %s "$step" | tr -c 'A-Za-z0-9+.\n' -).log" -- "$@"
}
