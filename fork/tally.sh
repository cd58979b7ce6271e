# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Sourced: counts results and prints them the one way that all tests here do.
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); printf 'ok   %s\n' "$*"; }
bad() { failed=$((failed + 1)); printf 'FAIL %s\n' "$*"; }
skip() { skipped=$((skipped + 1)); printf 'skip %s\n' "$*"; }

# finish: the last line, and the exit code. Nothing run is a failure.
finish() {
	[ $((passed + failed)) -gt 0 ] || bad "no test was run"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
