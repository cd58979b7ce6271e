# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
# The benchmark's driver and its tables, with kernels and guests that are a few
# lines of text. Sourced by tests/run.

# stand_ins: fork/kernel, fork/vm and what looks into kernels. Guest number N
# of a run prints the file guest.N, or guest; guest.dies: that number fails.
stand_ins() {
	mkdir -p build/linux/scripts build/linux/tools/mm build/x/mm
	printf 'print("up/down: 3/-1 (2)")\nprint("Total: 1")\n' >build/linux/scripts/bloat-o-meter
	echo 'int main(void) { return 0; }' >build/linux/tools/mm/folio_bench.c
	echo CONFIG_FOLIO_BENCH=y >build/x/.config
	echo 'savedcmd_mm/page_alloc.o := true -o mm/page_alloc.o x.c ; objtool' >build/x/mm/.page_alloc.o.cmd
	cat >fork/kernel <<-'EOF'
	#!/bin/sh
	case ${1:-build} in
	dir) echo "$PWD/build/x" ;;
	commit) echo "commit-of-$TREE" ;;
	*) echo "$TREE" >>built ;;
	esac
	EOF
	cat >fork/vm <<-'EOF'
	#!/bin/sh
	[ "$1" != accel ] || { echo native; exit; }
	n=$(($(cat guests 2>/dev/null || echo 0) + 1))
	echo $n >guests
	echo "$TREE" >>order
	[ "$n" != "$(cat guest.dies 2>/dev/null)" ] || { echo 'vm: no end marker'; exit 1; }
	if [ -e guest.$TREE ]; then cat guest.$TREE; else cat guest; fi
	EOF
	chmod +x fork/kernel fork/vm
	fake pahole 'echo "size: 256, cachelines"'
	echo 'alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=1000' >guest
}

test_bench_says_what_is_wrong() {
	stand_ins
	RIG=arm fails 'RIG=arm: um, vm or user' fork/bench/run
	RUNS=0 fails 'RUNS=0: a number from 1 to 100' fork/bench/run
	ROUNDS=x fails 'ROUNDS=x: a number from 1 to 16' fork/bench/run
	TREE_A=mainline fails 'TREE_A=mainline: base or lf' fork/bench/run
	RIG=um CONFIG=vm+bench fails 'RIG=um CONFIG=vm.bench: do not go together' fork/bench/run
	SAVE=../x fails 'SAVE=../x: a name' fork/bench/run
	SAVE=baseline-vm fails 'SAVE=baseline-vm: a name .* SAVE=bench-um' fork/bench/run
	MEM=abc fails 'MEM=abc: as in' fork/bench/run
	B='nothing/*' fails "B='nothing/.' matches no case of RIG=um; there are alloc" fork/bench/run
	B="alloc/*';echo PWNED;'" fails "as in B='alloc" fork/bench/run
	# shellcheck disable=SC2016
	B='alloc/$(touch PWNED)' fails "as in B='alloc" fork/bench/run
	B='order-4' fails "GROUP/GLOB" fork/bench/run
	[ ! -e built ]
	fails 'none.tsv is no file of make bench' fork/bench/report none.tsv
}

test_bench_pattern_matches_nothing_after_all() {
	stand_ins
	: >guest
	B='alloc/order-77/*' fails "matches no case of RIG=um" fork/bench/run
	same "$(ls build/bench/*.tsv 2>/dev/null)" ''
}

test_bench_kernel_without_it() {
	stand_ins
	: >build/x/.config
	CONFIG=um fails 'CONFIG=um TREE=base has no benchmark in it: CONFIG=um.bench' fork/bench/run
}

test_bench_takes_turns() {
	stand_ins
	RUNS=3 B='alloc/*' fork/bench/run >out
	same "$(xargs <order)" 'base lf lf base base lf'
	same "$(xargs <built)" 'base lf'
	grep -q '1 not told apart' out
	grep -q 'mainline is base commit-of-base, the fork lf commit-of-lf' out
	grep -q '100.0    0.0%         ~        100.0    0.0% .*alloc/order-4/movable/burst-1/cpus-1' out
	same "$(grep -c '[AB].alloc/order-4/movable/burst-1/cpus-1.ns.1000' build/bench/um-*.tsv)" 6
}

test_bench_tells_a_change() {
	stand_ins
	echo 'alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=900' >guest.lf
	RUNS=3 B='alloc/*' fork/bench/run >out
	grep -q -- '-10.0%' out
	grep -q '1 better' out
	echo 'alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=1100' >guest.lf
	RUNS=3 B='alloc/*' fork/bench/run >out
	grep -q '1 worse' out
	# under the floor of the rig
	echo 'alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=990' >guest.lf
	RUNS=3 B='alloc/*' fork/bench/run >out
	grep -q '1 not told apart' out
	# two runs tell nothing
	echo 'alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=500' >guest.lf
	RUNS=2 B='alloc/*' fork/bench/run >out
	grep -q '1 too few runs' out
}

test_bench_change_within_the_noise() {
	stand_ins
	# shellcheck disable=SC2016
	sed -i 's/^if \[ -e guest/echo "alloc\/order-4\/movable\/burst-1\/cpus-1 ops=10 ns=$((1000 + n * 40))"; exit\n&/' fork/vm
	RUNS=3 B='alloc/*' fork/bench/run >out
	grep -q '1 not told apart' out
}

test_bench_guest_dies() {
	stand_ins
	echo 4 >guest.dies
	RUNS=3 B='alloc/*' fails 'run 2, time base: the guest did not get to its end; what was finished is in build/bench/um-' fork/bench/run
	same "$(grep -c 'alloc/order-4/movable/burst-1/cpus-1.ns' build/bench/um-*.tsv)" 3
	fork/bench/report build/bench/um-*.tsv | grep -q 'too few runs'
}

test_bench_na_and_fail() {
	stand_ins
	cat >guest <<-'EOF'
	zero/2M/n-1/folio_zero n/a not in this tree
	map/pages-16 FAIL the pages are not mapped one by one: -22
	alloc/order-4/movable/burst-1/cpus-1 ops=10 ns=1000
	EOF
	RUNS=1 B='alloc/* map/*' fails '2 results are FAIL' fork/bench/run
	grep -q 'base lf zero/2M/n-1/folio_zero: n/a not in this tree' "$repo.out"
	grep -q 'base lf map/pages-16: FAIL the pages' "$repo.out"
}

test_bench_report_writes_the_tables() {
	stand_ins
	mkdir -p fork/results
	RUNS=3 B='alloc/*' SAVE=bench-um fork/bench/run >/dev/null
	printf 'before\n<!-- bench bench-um alloc/* -->\nstale\n<!-- bench end -->\nafter\n' >README.md
	cp README.md patches/cover-zero.md
	fork/bench/report --update
	same "$(cat README.md)" "$(cat patches/cover-zero.md)"
	grep -q '^    .*alloc/order-4/movable/burst-1/cpus-1$' README.md
	hasnt stale README.md
	same "$(sed -n '1p;$p' README.md | xargs)" 'before after'
	fork/bench/report --update | grep -q 'every table is as'
	printf '<!-- bench bench-um alloc/*:write_ns -->\n<!-- bench end -->\n' >README.md
	fork/bench/report --update
	hasnt alloc/order-4/movable/burst-1/cpus-1$ README.md
	rm patches/cover-zero.md
	printf '<!-- bench none -->\n<!-- bench end -->\n' >README.md
	fails 'wants fork/results/none.tsv: make bench SAVE=none' fork/bench/report --update
}

test_bench_report_keeps_the_text() {
	mkdir -p fork/results
	printf 'before\n<!-- bench bench-x -->\nprecious\n' >README.md
	: >fork/results/bench-x.tsv
	fails 'bench-x.tsv is no file of make bench' fork/bench/report --update
	printf '# accel\tnative\n# treeA\tbase\n# runs\t1\n# command\tx\n1\tA\talloc/a\tops\t1\n' >fork/results/bench-x.tsv
	fails 'README.md: the table of line 2 has no ' fork/bench/report --update
	printf '<!-- bench bench-x -->\nprecious\n<!-- bench bench-x zero -->\n<!-- bench end -->\n' >README.md
	fails 'README.md:3: the table of line 1 has no ' fork/bench/report --update
	grep -q precious README.md
	printf '<!-- bench bench-x zero/* -->\n<!-- bench end -->\n' >README.md
	fails 'no case of bench-x matches zero' fork/bench/report --update
}

test_bench_report_on_bad_files() {
	head='# accel\tnative\n# treeA\tbase\n# runs\t1\n# command\tx\n'
	# shellcheck disable=SC2059
	for rows in '1\tA\tzero/2M/n-1/a\tops\t0\n1\tA\tzero/2M/n-1/a\tns\t0\n' \
		'1\tA\talloc/foo/bar\tops\t1\n1\tA\talloc/foo/bar\tns\t2\n1\tA\tcut' \
		'1\tA\tzero/a\tcount:zone_takes\t5\n'; do
		printf "$head$rows" >x.tsv
		fork/bench/report x.tsv >out 2>&1 || grep -q 'holds what make bench does not write' out
		hasnt Traceback out
	done
	# shellcheck disable=SC2059
	printf "$head"'1\tA\tzero/x%s; system("touch PWNED")\tns\t1\n' "'" >x.tsv
	fails 'no name of a case' fork/bench/report x.tsv
	[ ! -e PWNED ]
}

test_bench_broken_off_ends_the_guest() {
	stand_ins
	# shellcheck disable=SC2016
	sed -i 's/^if \[ -e guest/[ $n != 2 ] || { trap "echo ended >ended; exit" TERM; sleep 30 \& wait; }\n&/' fork/vm
	B='alloc/*' fork/bench/run >out 2>&1 &
	run=$!
	for _ in $(seq 100); do
		[ "$(cat guests 2>/dev/null)" != 2 ] || break
		sleep 0.1
	done
	sleep 0.3
	kill $run
	! wait $run
	grep -q ended ended
	grep -q 'broken off; finished samples are in build/bench' out
	same "$(grep -c 'A.alloc/order-4/movable/burst-1/cpus-1.ns' build/bench/um-*.tsv)" 1
	same "$(ls build/bench/tmp* 2>/dev/null)" ''
}
