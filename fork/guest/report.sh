# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Runs in the guest of `make boot` (busybox): what this kernel is and one thing
# that the series does. @SERIES@ is filled in by fork/boot.
echo "kernel:  $(uname -r)"
accel=$(sed -n 's/.*lf.accel=\([a-z]*\).*/\1/p' /proc/cmdline)
echo "accel:   ${accel:-user mode Linux}"
nodes=$(find /sys/devices/system/node/ -name 'node[0-9]*' -maxdepth 1 2>/dev/null | wc -l)
echo "machine: $(grep -c ^processor /proc/cpuinfo) CPUs, $(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo) MiB, $((nodes > 0 ? nodes : 1)) NUMA node(s)"
thp=/sys/kernel/mm/transparent_hugepage/enabled
[ ! -e $thp ] || echo "THP:     $(cat $thp)"
case $(uname -r) in
*-lf*)	echo "series:"
	cat <<-'LIST'
	@SERIES@
	LIST
	;;
esac

# 32 MiB of tmpfs, allocated and read back. Nobody wrote to it: it has to be
# zero. The second fallocate() makes it so, with folio_zero(); the first leaves
# that for whoever needs the folio.
huge=
[ ! -e $thp ] || huge=,huge=always
mount -t tmpfs -o size=64m$huge none /mnt || exit 1
tracing=/sys/kernel/tracing
if [ -e $tracing/kprobe_events ] && grep -q ' folio_zero$' /proc/kallsyms; then
	echo 'p:lf/folio_zero folio_zero' >$tracing/kprobe_events
	echo 1 >$tracing/events/lf/folio_zero/enable
else
	case $(uname -r) in
	*-lf*) grep -q ' folio_zero$' /proc/kallsyms || { echo 'no folio_zero() in this kernel'; exit 1; } ;;
	esac
fi
fallocate -l 32m /mnt/file && fallocate -l 32m /mnt/file || exit 1
dirty=$(tr -d '\0' </mnt/file | wc -c)
echo "zeroing: 32 MiB of tmpfs (size=64m$huge) read back, $dirty bytes are not zero"
if [ -e $tracing/events/lf ]; then
	calls=$(awk '{ print $2 }' $tracing/kprobe_profile)
	echo "         folio_zero() was called $calls times"
	[ "$calls" -gt 0 ] || exit 1
fi
[ "$dirty" = 0 ]
