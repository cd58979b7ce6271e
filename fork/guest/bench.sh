# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Runs in the guest of `make bench` (busybox). fork/bench/run puts in front:
# MODE=time|count|hold, RUN (its number), ROUNDS, KERNEL (patterns of the module) and USER (of the
# program). Prints the lines of Documentation/mm/folio_bench.rst; for MODE=count
# and hold also `CASE counted KEY=NUMBER...` for each case.
module=/sys/module/folio_bench/parameters
[ -e $module/run ] || { echo "no benchmark in this kernel: CONFIG_FOLIO_BENCH"; exit 3; }
echo "$ROUNDS" >$module/rounds
ifconfig lo 127.0.0.1 up 2>/dev/null

# Another state of the free lists in each run, the same for both kernels: which
# blocks can merge decides what a free costs, and one state is not all of them.
mkdir /shake
i=0
while [ $i -lt $((RUN * 7 % 31)) ]; do
	head -c $((4096 * (1 + i % 5))) /dev/zero >/shake/$i
	i=$((i + 1))
done

start() { echo "$1" 2>/dev/null >$module/run; } # no match is told by the driver
results() { dmesg -c | sed -n 's/^.*folio_bench: \([a-z].*\)/\1/p' | grep -v -e '^done,' -e '^no case'; }

if [ "$MODE" = time ]; then
	dmesg -c >/dev/null
	[ -z "$KERNEL" ] || { start "$KERNEL"; results; }
	# shellcheck disable=SC2086
	[ -z "$USER" ] || { set -f; folio_bench $USER || [ $? -le 2 ] || echo "program/folio_bench FAIL exit code $?"; }
	exit 0
fi

# Who takes zone->lock and the LRU lock: kprobes on the lock functions, for the
# addresses that the module prints (no_hash_pointers is on the command line).
tracing=/sys/kernel/tracing
[ -e $tracing/kprobe_events ] || { echo "no kprobe events in this kernel"; exit 3; }
echo 0 >$tracing/tracing_on
echo x86-tsc >$tracing/trace_clock
echo 49152 >$tracing/buffer_size_kb
dmesg -c >/dev/null
start 'locks/*'
locks=$(results | sed -n 's,^locks/\([a-z]*\) lock=\(0*\)\([0-9a-f]*\) *\(.*pages=\([0-9]*\)\)*.*,\1=0x\3 \5,p')
probes='lock_irqsave lock_irq lock unlock_irqrestore unlock_irq unlock'
for f in $probes; do
	echo "p:lf/lf_$f _raw_spin_$f lock=%di:x64" >>$tracing/kprobe_events || exit 3
done
watch() { # watch CLASS=ADDRESS...: these locks only
	classes=$* filter=
	for lock in "$@"; do filter="$filter${filter:+ || }lock==${lock#*=}"; done
	for f in $probes; do echo "$filter" >$tracing/events/lf/lf_"$f"/filter || exit 3; done
}
of_class() { echo "$locks" | grep "^$1=" | sort -k2n | tail -"${2:-99}" | cut -d' ' -f1; }
# shellcheck disable=SC2046
watch $(of_class zone) $(of_class lru) $(of_class probe)
zeroed=''
if [ "$MODE" = count ]; then
	# A tree without folio_zero() has no such probe. Bit 6 of the flags is PG_head.
	echo 'p:lf/folio_zero folio_zero head=+0(%di):b1@6/64 order=+64(%di):u8' \
		2>/dev/null >>$tracing/kprobe_events && zeroed=yes
	echo 1 >$tracing/events/kmem/mm_page_alloc_zone_locked/enable
	echo 1 >$tracing/events/kmem/mm_page_pcpu_drain/enable
fi
echo 1 >$tracing/events/lf/enable

pcp() { # pages on the per-CPU lists, of all CPUs and most on one
	awk '$1 == "cpu:" { c = $2 } $1 == "count:" { n[c] += $2; s += $2; if (n[c] > m) m = n[c] }
		END { print s + 0, m + 0 }' /proc/zoneinfo
}
free() { awk '/^MemFree/ { print $2 }' /proc/meminfo; }
missed() { awk '{ s += $3 } END { print s + 0 }' $tracing/kprobe_profile; }
measure() { # measure start|folio_bench CASE: its line, and one with what was counted
	grep -E '^(compact|thp)_' /proc/vmstat >/tmp/before
	m=$(missed) p=$(pcp) f=$(free)
	p=${p% *}
	dmesg -c >/dev/null
	holds -m >/tmp/lowest &
	sampler=$!
	# A kernel with lock_stat (CONFIG=vm+bench+lockstat) has a count of its own
	[ ! -e /proc/lock_stat ] || { echo 1 >/proc/sys/kernel/lock_stat; echo 0 >/proc/lock_stat; }
	echo >$tracing/trace
	echo 1 >$tracing/tracing_on
	"$@" >/tmp/out
	echo 0 >$tracing/tracing_on
	stat=''
	[ ! -e /proc/lock_stat ] || stat=$(awk '$1 == "&zone->lock:" { z = $9 } $1 == "&lruvec->lru_lock:" { l = $9 }
		END { printf " stat_zone=%d stat_lru=%d", z, l }' /proc/lock_stat)
	after=$(pcp) fa=$(free)
	kill $sampler
	wait $sampler
	[ "$1" != start ] || results >/tmp/out
	# shellcheck disable=SC2086
	counts=$(holds $classes <$tracing/trace)
	events=$(grep -E '^(compact|thp)_' /proc/vmstat |
		awk 'NR == FNR { b[$1] = $2; next } $2 != b[$1] { printf " %s=%d", $1, $2 - b[$1] }' /tmp/before -)
	[ -z "$zeroed" ] || events="$events $(awk '/ folio_zero: / { sub(".*head=", ""); n = 4; if ($1 == 1) for (o = substr($2, 7); o > 0; o--) n += n; k += n }
		END { printf "folio_zero_kib=%d", k }' $tracing/trace)"
	# Pages that came to or left the lists of order 0: what large folios push out shows here
	[ "$MODE" != count ] || events="$events $(awk '/zone_locked:.* order=0 .*percpu_refill=1/ { r++ } /pcpu_drain:.* order=0 / { d++ }
		END { printf "order0_refilled=%d order0_drained=%d", r, d }' $tracing/trace)"
	while read -r line; do
		echo "$line"
		echo "${line%% *} counted $counts missed=$(($(missed) - m)) pcp_before=$p pcp_after=${after% *} pcp_cpu=${after#* } memfree_before=$f memfree_lowest=$(cat /tmp/lowest) memfree_after=$fa$stat$events"
	done </tmp/out
}
set -f
if [ "$MODE" = hold ]; then
	# What a probe costs is the same for all as long as none is optimized and
	# the filters have one form: the zone with most pages, and the lock that
	# guards nothing, in turn.
	echo 0 >/proc/sys/debug/kprobes-optimization
	zone=$(of_class zone 1) probe=$(of_class probe)
	watch "$probe"
	measure start 'locks/probe' >/dev/null
	for one in $KERNEL; do
		watch "$probe"
		measure start 'locks/probe' | sed "s,^locks/probe counted,$one probed,"
		watch "$zone"
		measure start "$one"
	done
	exit 0
fi
for one in $KERNEL; do measure start "$one"; done
for one in $USER; do measure folio_bench "$one"; done
exit 0
