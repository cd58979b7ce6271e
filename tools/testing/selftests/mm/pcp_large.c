// SPDX-License-Identifier: GPL-2.0
/*
 * Large folios on the per-CPU page lists: they wait there when they are freed,
 * are found there again, add up in /proc/zoneinfo to the page, and are given
 * back when the lists are drained, switched off or idle; also while memory goes
 * offline, CMA allocates and the switch is turned under load.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "hugepage_settings.h"
#include "vm_util.h"

#define SWITCH		"/proc/sys/vm/percpu_pagelist_large"
#define FIRST_LARGE	4	/* PAGE_ALLOC_COSTLY_ORDER + 1 */
#define LAST_FIXED	8
#define MAX_CPUS	256
#define MAX_NODES	64
#define MPOL_BIND	2
#define TRIES		10	/* other tasks come between two looks */

static unsigned int orders;	/* that anonymous memory can have, as bits */
static unsigned int pmd_order;
static int cpus[MAX_CPUS], nr_cpus, nodes[MAX_NODES], nr_nodes;
static pid_t workers[MAX_CPUS];
static struct thp_settings settings;

/* What /proc/zoneinfo says of all pagesets, in pages. */
struct lists {
	long count, large, order[NR_ORDERS];
	long wrong;		/* pagesets that do not add up */
	long over;		/* pagesets that have more than they may */
	long nr;
};

static void look(struct lists *l)
{
	long count = 0, large = 0, bound = 0, sum = 0, n;
	bool in_pageset = false;
	char line[256];
	FILE *f = fopen("/proc/zoneinfo", "r");
	int order;

	memset(l, 0, sizeof(*l));
	if (!f)
		ksft_exit_fail_perror("/proc/zoneinfo");

	while (true) {
		bool more = fgets(line, sizeof(line), f);

		if (!more || strstr(line, " cpu: ") || !strncmp(line, "Node", 4)) {
			if (in_pageset) {
				l->nr++;
				l->count += count;
				l->large += large;
				l->wrong += large != sum || count < large;
				/* a block may be on its way out */
				l->over += large > bound + (1L << pmd_order);
			}
			in_pageset = more && strstr(line, " cpu: ");
			count = 0;
			large = 0;
			bound = 0;
			sum = 0;
			if (!more)
				break;
		} else if (sscanf(line, " large_order%d: %ld", &order, &n) == 2) {
			sum += n;
			if (order < NR_ORDERS)
				l->order[order] += n;
		} else if (sscanf(line, " large_count: %ld", &n) == 1) {
			large = n;
		} else if (sscanf(line, " large_bound: %ld", &n) == 1) {
			bound = n;
		} else if (in_pageset && sscanf(line, " count: %ld", &n) == 1) {
			count = n;
		}
	}
	fclose(f);
}

/* The same at a moment at which nothing moves. */
static bool adds_up(struct lists *l)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		look(l);
		if (l->nr && !l->wrong && !l->over)
			return true;
		usleep(10000);
	}
	ksft_print_msg("of %ld pagesets %ld do not add up, %ld have too much\n",
		       l->nr, l->wrong, l->over);
	return false;
}

static long event(const char *name)
{
	char key[64];
	long value = -1, n;
	FILE *f = fopen("/proc/vmstat", "r");

	if (!f)
		ksft_exit_fail_perror("/proc/vmstat");
	while (fscanf(f, "%63s %ld", key, &n) == 2)
		if (!strcmp(key, name))
			value = n;
	fclose(f);
	if (value < 0)
		ksft_exit_fail_msg("no %s in /proc/vmstat\n", name);
	return value;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static void turn(bool on)
{
	if (put(SWITCH, on ? "1" : "0"))
		ksft_exit_fail_perror(SWITCH);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void bind_node(int node)
{
	unsigned long mask[MAX_NODES / (8 * sizeof(long)) + 1] = {};

	if (node >= 0)
		mask[node / (8 * sizeof(long))] = 1UL << (node % (8 * sizeof(long)));
	syscall(SYS_set_mempolicy, node >= 0 ? MPOL_BIND : 0, mask, node >= 0 ? MAX_NODES : 0);
}

/* Anonymous folios of the orders in @set, and of no other but 0 */
static void allow(unsigned int set)
{
	int i;

	settings.thp_enabled = THP_ALWAYS;
	for (i = 0; i < NR_ORDERS; i++)
		settings.hugepages[i].enabled = set & (1U << i) ? THP_ALWAYS : THP_NEVER;
	thp_write_settings(&settings);
}

/* Fault in @nr folios of an order and free them again; how many were large */
static int fault(int order, int nr)
{
	size_t size = psize() << order, len = size * nr;
	char *map, *p;
	int i, large = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	map = mmap(NULL, len + size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	p = (char *)(((uintptr_t)map + size - 1) & ~(size - 1));
	for (i = 0; i < nr; i++) {
		p[i * size] = 1;
		/* The last page is there too */
		large += fd >= 0 && pagemap_is_populated(fd, p + (i + 1) * size - psize());
	}
	munmap(map, len + size);
	if (fd >= 0)
		close(fd);
	return large;
}

static void load(bool start)
{
	int i;

	for (i = 0; i < nr_cpus; i++) {
		if (!start) {
			kill(workers[i], SIGKILL);
			waitpid(workers[i], NULL, 0);
			continue;
		}
		workers[i] = fork();
		if (workers[i] < 0)
			ksft_exit_fail_perror("fork");
		if (!workers[i]) {
			unsigned int n;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			srandom(i + 1);
			for (n = 0; ; n++) {
				int order = FIRST_LARGE + random() % (pmd_order - FIRST_LARGE + 1);

				/* Of each node, and now and then on another CPU */
				pin(cpus[(i + (n % 8 == 7)) % nr_cpus]);
				bind_node(nodes[n % nr_nodes]);
				fault(order, 1 + random() % 4);
			}
		}
	}
}

static void test_order(int order)
{
	const int nr = order < 8 ? 8 : 2;
	struct lists l;
	long hits;
	int i, large = 0, round;

	allow(1U << order);
	pin(cpus[0]);
	turn(true);
	for (i = 0; i < TRIES; i++) {
		hits = event("pcp_large_hit");
		for (round = 0; round < 8; round++)
			large += fault(order, nr);
		hits = event("pcp_large_hit") - hits;
		if (!adds_up(&l) || (hits > 0 && l.order[order] > 0))
			break;
	}
	if (!large) {
		ksft_test_result_skip("order %d: no such folio was had\n", order);
		return;
	}
	ksft_print_msg("order %d: %d of %d faults large, %ld from the lists, %ld pages wait\n",
		       order, large, 8 * nr * (i + 1), hits, l.order[order]);
	ksft_test_result(!l.wrong && !l.over && hits > 0 && l.order[order] > 0,
			 "order %d waits on the lists and is found there\n", order);
}

static bool none_but_pmd(const struct lists *l)
{
	int order;

	for (order = FIRST_LARGE; order <= LAST_FIXED; order++)
		if (order != (int)pmd_order && l->order[order])
			return false;
	return true;
}

static void test_switch_drains(void)
{
	struct lists before, after;
	long drained = 0;
	bool ok = false;
	int i, order;

	for (i = 0; i < TRIES && !ok; i++) {
		turn(true);
		for (order = FIRST_LARGE; order <= (int)pmd_order; order++) {
			allow(1U << order);
			fault(order, 2);
		}
		usleep(10000);
		if (!adds_up(&before))
			break;
		drained = event("pcp_large_drain_pages");
		turn(false);
		drained = event("pcp_large_drain_pages") - drained;
		if (!adds_up(&after))
			break;
		ok = before.large && none_but_pmd(&after) && drained == before.large - after.large;
	}
	ksft_print_msg("%ld pages before, %ld drained, %ld left\n",
		       before.large, drained, after.large);
	ksft_test_result(ok, "switched off, the lists are drained to the page\n");
}

static void test_off(void)
{
	struct lists l;
	int order;
	bool ok = true;

	turn(false);
	for (order = FIRST_LARGE; order <= LAST_FIXED; order++) {
		if (!(orders & (1U << order)))
			continue;
		allow(1U << order);
		fault(order, 4);
		ok &= adds_up(&l) && none_but_pmd(&l);
	}
	turn(true);
	ksft_test_result(ok, "switched off, orders 4 to 8 do not wait\n");
}

static void test_idle(void)
{
	struct lists l;
	int i, cpu, node, order;
	long before = 0;

	turn(true);
	for (i = 0; i < TRIES; i++) {
		for (cpu = 0; cpu < nr_cpus; cpu++) {
			pin(cpus[cpu]);
			for (node = 0; node < nr_nodes; node++) {
				bind_node(nodes[node]);
				for (order = FIRST_LARGE; order <= (int)pmd_order; order++) {
					allow(1U << order);
					fault(order, 2);
				}
			}
		}
		bind_node(-1);
		look(&l);
		before = l.large;
		for (cpu = 0; cpu < 10; cpu++)
			put("/proc/sys/vm/stat_refresh", "1");
		if (adds_up(&l) && before && !l.large)
			break;
	}
	ksft_print_msg("%ld pages before, %ld after ten runs of the vmstat work\n",
		       before, l.large);
	ksft_test_result(before && !l.large, "an idle CPU holds no large folio\n");
}

static void test_turning(void)
{
	struct lists l;
	long hits = event("pcp_large_hit"), drains = event("pcp_large_drain_pages");
	int i;

	allow(orders);
	load(true);
	for (i = 0; i < 40; i++) {
		usleep(20000);
		turn(i & 1);
	}
	load(false);
	hits = event("pcp_large_hit") - hits;
	drains = event("pcp_large_drain_pages") - drains;
	ksft_print_msg("%ld hits, %ld pages drained\n", hits, drains);
	ksft_test_result(adds_up(&l) && hits > 0 && drains > 0, "turned under load\n");
}

static void test_offline(void)
{
	DIR *d = opendir("/sys/devices/system/memory");
	struct dirent *e;
	struct lists l;
	char path[300];
	int off = 0, tried = 0, lost = 0;

	allow(orders);
	load(true);
	while (d && off < 3 && tried < 24 && (e = readdir(d))) {
		if (strncmp(e->d_name, "memory", 6) || e->d_name[6] < '0' || e->d_name[6] > '9')
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/memory/%s/state", e->d_name);
		tried++;
		if (put(path, "offline"))
			continue;
		off++;
		usleep(100000);
		lost += put(path, "online_movable") && put(path, "online");
	}
	if (d)
		closedir(d);
	load(false);
	ksft_print_msg("%d of %d memory blocks went offline\n", off, tried);
	if (!off)
		ksft_test_result_skip("no memory block can go offline\n");
	else
		ksft_test_result(adds_up(&l) && !lost, "memory offline and online under load\n");
}

static void test_cma(void)
{
	DIR *d = opendir("/sys/kernel/debug/cma");
	struct dirent *e;
	struct lists l;
	char path[300];
	int i, had = 0, areas = 0, kept = 0;

	if (!d) {
		ksft_test_result_skip("no CMA in debugfs (CONFIG_CMA_DEBUGFS, cma=)\n");
		return;
	}
	allow(orders);
	load(true);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		areas++;
		for (i = 0; i < 10; i++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/cma/%s/alloc", e->d_name);
			if (put(path, "1024"))
				continue;
			had++;
			snprintf(path, sizeof(path), "/sys/kernel/debug/cma/%s/free", e->d_name);
			kept += put(path, "1024") != 0;
		}
	}
	closedir(d);
	load(false);
	ksft_print_msg("%d CMA areas, %d of %d allocations of 1024 pages\n",
		       areas, had, 10 * areas);
	if (!areas)
		ksft_test_result_skip("no CMA area (cma=)\n");
	else
		ksft_test_result(adds_up(&l) && had && !kept, "CMA under load\n");
}

static void machine(void)
{
	cpu_set_t set;
	char path[64];
	int i;

	if (sched_getaffinity(0, sizeof(set), &set))
		ksft_exit_fail_perror("sched_getaffinity");
	for (i = 0; i < CPU_SETSIZE && nr_cpus < MAX_CPUS; i++)
		if (CPU_ISSET(i, &set))
			cpus[nr_cpus++] = i;
	for (i = 0; i < MAX_NODES; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", i);
		if (!access(path, F_OK))
			nodes[nr_nodes++] = i;
	}
	if (!nr_nodes)
		nr_nodes = 1;	/* node 0, or none at all */
}

int main(void)
{
	unsigned int order, nr = 0;

	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (access(SWITCH, W_OK))
		ksft_exit_skip("no %s in this kernel\n", SWITCH);
	if (!thp_available())
		ksft_exit_skip("no THP in this kernel\n");

	machine();
	thp_save_settings();
	thp_read_settings(&settings);
	pmd_order = __builtin_ctzl(read_pmd_pagesize() / psize());
	if (pmd_order >= NR_ORDERS || pmd_order < FIRST_LARGE)
		ksft_exit_skip("PMD order %u\n", pmd_order);
	orders = thp_supported_orders() & (-1U << FIRST_LARGE);
	for (order = FIRST_LARGE; order <= pmd_order; order++)
		nr += !!(orders & (1U << order) && (order <= LAST_FIXED || order == pmd_order));
	ksft_set_plan(nr + 6);
	ksft_print_msg("%d CPUs, %d nodes, PMD order %u\n", nr_cpus, nr_nodes, pmd_order);

	for (order = FIRST_LARGE; order <= pmd_order; order++)
		if (orders & (1U << order) && (order <= LAST_FIXED || order == pmd_order))
			test_order(order);
	test_switch_drains();
	test_off();
	test_idle();
	test_turning();
	test_offline();
	test_cma();
	turn(true);
	thp_restore_settings();
	ksft_finished();
}
