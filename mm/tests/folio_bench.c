// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of the steps in the life of a large folio inside the kernel:
 * allocation and free, zeroing, copying, mapping and unmapping.
 *
 * It measures and prints, and asserts nothing about time.  How to start it and
 * how to read what it prints: Documentation/mm/folio_bench.rst.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/glob.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <linux/string.h>

/* A tree without folio_zero() has no headers for it; sparse cannot ask for one. */
#ifdef __has_include
#if __has_include("../folio_zero.h")
#include <linux/folio_zero.h>
#include "../folio_zero.h"
#endif
#endif

#ifndef HAVE_ZERO_NOCACHE
#define HAVE_ZERO_NOCACHE	0
#endif

#define MAX_ROUNDS	16
#define MAX_BURST	64
#define MAX_NAME	80

/* What a PMD maps, also where there is no THP; but no more than there is. */
#define BIG_ORDER	min_t(unsigned int, PMD_SHIFT - PAGE_SHIFT, MAX_PAGE_ORDER)
#define SMALL_ORDER	((unsigned int)get_order(SZ_64K))

static unsigned int rounds = 5;

static int rounds_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, MAX_ROUNDS);
}

static const struct kernel_param_ops rounds_ops = {
	.set = rounds_set,
	.get = param_get_uint,
};
module_param_cb(rounds, &rounds_ops, &rounds, 0644);
MODULE_PARM_DESC(rounds, "Measured rounds of a case, 1 to 16; the median is printed (default 5)");

static DEFINE_MUTEX(bench_mutex);	/* one run at a time; it guards these: */
static unsigned int nr_rounds;		/* rounds, as it was when the run began */

static char **patterns;			/* of the cases that are wanted, while it runs */
static unsigned int nr_matched;		/* how many there were */

/* Is the case to run?  Counts those that are. */
static bool wanted(const char *name)
{
	char **p;

	for (p = patterns; *p; p++) {
		if (glob_match(*p, name)) {
			nr_matched++;
			return true;
		}
	}
	return false;
}

/* No name is that long, so a pattern of that length is a mistake. */
static bool patterns_fit(char **argv)
{
	for (; *argv; argv++)
		if (strlen(*argv) >= MAX_NAME)
			return false;
	return true;
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static u64 median(u64 *v, unsigned int n)
{
	sort(v, n, sizeof(*v), cmp_u64, NULL);
	return v[(n - 1) / 2];
}

/* Work that is not about several CPUs: on the first one, with its memory policy. */
struct bound {
	void (*work)(void *data);
	void *data;
	struct completion done;
};

static int bound_worker(void *data)
{
	struct bound *b = data;

	b->work(b->data);
	complete(&b->done);
	return 0;
}

static void run_bound(const char *name, void (*work)(void *data), void *data)
{
	struct bound b = { .work = work, .data = data };
	struct task_struct *task;

	init_completion(&b.done);
	cpus_read_lock();
	task = kthread_create_on_cpu(bound_worker, &b, cpumask_first(cpu_online_mask),
				     "folio_bench/%u");
	if (IS_ERR(task)) {
		pr_info("%s n/a no worker: %pe\n", name, task);
	} else {
		wake_up_process(task);
		wait_for_completion(&b.done);
	}
	cpus_read_unlock();
}

/* --- allocation and free --- */

struct stream {
	const char *name;
	unsigned int order, order2;	/* order2: mixed with this one; small if xcpu */
	unsigned int burst;		/* folios held at a time */
	unsigned int bursts;		/* bursts in a round */
	gfp_t gfp;
	bool mixed, xcpu;
};

/* The workers of one case, which start together. */
struct gang {
	const struct stream *s;
	struct completion go, done;
	struct completion full, empty;	/* xcpu: the folios' way to and fro */
	struct folio **folios;		/* xcpu */
	atomic_t measuring, left;
	int err;
};

struct worker {
	struct gang *gang;
	struct task_struct *task;
	struct folio *folios[2 * MAX_BURST];
	u64 ns[MAX_ROUNDS];		/* the whole, or the first part of it */
	u64 ns2[MAX_ROUNDS];		/* the other part, of mixed and xcpu */
	unsigned long all;		/* folios allocated, measured or not */
};

static unsigned int alloc_burst(struct folio **f, unsigned int n, gfp_t gfp,
				unsigned int order)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		f[i] = folio_alloc(gfp, order);
		if (!f[i])
			break;
	}
	return i;
}

static void free_burst(struct folio **f, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		folio_put(f[i]);
}

static int same_round(struct worker *w, u64 *ns, u64 *ns2)
{
	const struct stream *s = w->gang->s;
	u64 start = ktime_get_ns();
	unsigned int i, n;

	for (i = 0; i < s->bursts; i++) {
		n = alloc_burst(w->folios, s->burst, s->gfp, s->order);
		free_burst(w->folios, n);
		w->all += n;
		if (n < s->burst)
			return -ENOMEM;
	}
	*ns = ktime_get_ns() - start;
	return 0;
}

/* Small and large folios in turn, the time of each kind apart. */
static int mixed_round(struct worker *w, u64 *ns, u64 *ns2)
{
	const struct stream *s = w->gang->s;
	struct folio **large = w->folios + MAX_BURST;
	u64 t[5];
	unsigned int i, n, n2;

	*ns = 0;
	*ns2 = 0;
	for (i = 0; i < s->bursts; i++) {
		t[0] = ktime_get_ns();
		n = alloc_burst(w->folios, s->burst, s->gfp, s->order);
		t[1] = ktime_get_ns();
		n2 = alloc_burst(large, s->burst, s->gfp, s->order2);
		t[2] = ktime_get_ns();
		free_burst(w->folios, n);
		t[3] = ktime_get_ns();
		free_burst(large, n2);
		t[4] = ktime_get_ns();
		w->all += n + n2;
		if (n < s->burst || n2 < s->burst)
			return -ENOMEM;
		*ns += t[1] - t[0] + t[3] - t[2];
		*ns2 += t[2] - t[1] + t[4] - t[3];
	}
	return 0;
}

/* This CPU allocates, the other frees (mixed: and has small folios of its own). */
static int xcpu_round(struct worker *w, u64 *ns, u64 *ns2)
{
	struct gang *gang = w->gang;
	const struct stream *s = gang->s;
	unsigned int i, n;
	u64 start;

	*ns = 0;
	for (i = 0; i < s->bursts; i++) {
		start = ktime_get_ns();
		n = alloc_burst(w->folios, s->burst, s->gfp, s->order);
		*ns += ktime_get_ns() - start;
		w->all += n;
		if (n < s->burst) {
			free_burst(w->folios, n);
			return -ENOMEM;
		}
		gang->folios = w->folios;
		complete(&gang->full);
		wait_for_completion(&gang->empty);
	}
	return 0;
}

static int free_worker(void *data)
{
	struct worker *w = data;
	struct gang *gang = w->gang;
	const struct stream *s = gang->s;
	const unsigned int last = nr_rounds;
	unsigned int round, i, n;
	u64 start;

	wait_for_completion(&gang->go);
	/* Round 0 is the warm-up, as in alloc_worker(). */
	for (round = 0; round <= last; round++) {
		u64 ns = 0;

		for (i = 0; i < s->bursts; i++) {
			wait_for_completion(&gang->full);
			if (!gang->folios)
				goto out;
			start = ktime_get_ns();
			free_burst(gang->folios, s->burst);
			ns += ktime_get_ns() - start;
			if (s->mixed) {
				n = alloc_burst(w->folios, s->burst, s->gfp, s->order2);
				free_burst(w->folios, n);
			}
			complete(&gang->empty);
		}
		if (round)
			w->ns2[round - 1] = ns;
	}
out:
	if (atomic_dec_and_test(&gang->left))
		complete(&gang->done);
	return 0;
}

static int alloc_worker(void *data)
{
	struct worker *w = data;
	struct gang *gang = w->gang;
	const struct stream *s = gang->s;
	int (*one_round)(struct worker *w, u64 *ns, u64 *ns2) =
		s->xcpu ? xcpu_round : s->mixed ? mixed_round : same_round;
	const unsigned int last = nr_rounds;
	unsigned int round;
	u64 ns, ns2;
	int err;

	wait_for_completion(&gang->go);
	err = one_round(w, &ns, &ns2);
	for (round = 0; !err && round < last; round++) {
		err = one_round(w, &w->ns[round], &w->ns2[round]);
		cond_resched();
	}
	atomic_dec(&gang->measuring);

	/* The others are not to measure what it is like without this one. */
	while (!err && !s->xcpu && atomic_read(&gang->measuring)) {
		err = one_round(w, &ns, &ns2);
		cond_resched();
	}
	if (err)
		WRITE_ONCE(gang->err, err);

	if (s->xcpu && err) {
		gang->folios = NULL;
		complete(&gang->full);
	}
	if (atomic_dec_and_test(&gang->left))
		complete(&gang->done);
	return 0;
}

/* Run @s on the first @nr_workers online CPUs and print the line for it. */
static void run_stream(const struct stream *s, unsigned int nr_workers)
{
	struct gang gang = { .s = s };
	struct worker *w = kvcalloc(nr_workers, sizeof(*w), GFP_KERNEL);
	unsigned long all = 0;
	unsigned long ops = (unsigned long)s->burst * s->bursts;
	const unsigned int n = nr_rounds;
	u64 ns = 0, ns2 = 0;
	unsigned int i, cpu;

	if (!w) {
		pr_info("%s n/a no memory for the workers\n", s->name);
		return;
	}
	init_completion(&gang.go);
	init_completion(&gang.done);
	init_completion(&gang.full);
	init_completion(&gang.empty);
	atomic_set(&gang.measuring, nr_workers);
	atomic_set(&gang.left, nr_workers);

	cpus_read_lock();
	cpu = cpumask_first(cpu_online_mask);
	for (i = 0; i < nr_workers; i++) {
		w[i].gang = &gang;
		w[i].task = cpu >= nr_cpu_ids ? ERR_PTR(-ENODEV) :
			kthread_create_on_cpu(s->xcpu && i ? free_worker : alloc_worker,
					      &w[i], cpu, "folio_bench/%u");
		if (IS_ERR(w[i].task)) {
			pr_info("%s n/a no worker on CPU %u: %pe\n", s->name, cpu, w[i].task);
			while (i--)
				kthread_stop(w[i].task);
			cpus_read_unlock();
			goto out;
		}
		cpu = cpumask_next(cpu, cpu_online_mask);
	}
	for (i = 0; i < nr_workers; i++)
		wake_up_process(w[i].task);
	complete_all(&gang.go);
	wait_for_completion(&gang.done);
	cpus_read_unlock();

	if (gang.err) {
		pr_info("%s n/a no free memory for %u folios of order %u at a time\n",
			s->name, s->burst * nr_workers, max(s->order, s->order2));
		goto out;
	}
	for (i = 0; i < nr_workers; i++) {
		all += w[i].all;
		ns += median(w[i].ns, n);
		ns2 += median(w[i].ns2, n);
	}
	if (!s->xcpu) {		/* there each of the two has its own part */
		ns = div_u64(ns, nr_workers);
		ns2 = div_u64(ns2, nr_workers);
	}
	if (s->xcpu)
		pr_info("%s ops=%lu ns=%llu alloc_ns=%llu free_ns=%llu all=%lu\n",
			s->name, ops, ns + ns2, ns, ns2, all);
	else if (s->mixed)
		pr_info("%s ops=%lu ns=%llu small_ns=%llu large_ns=%llu all=%lu\n",
			s->name, ops, ns + ns2, ns, ns2, all);
	else
		pr_info("%s ops=%lu ns=%llu all=%lu\n", s->name, ops, ns, all);
out:
	kvfree(w);
}

enum kind { MOVABLE, UNMOVABLE };

static const struct {
	const char *name;
	gfp_t gfp;
} kinds[] = {
	[MOVABLE] = { "movable", GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_NOWARN },
	[UNMOVABLE] = { "unmovable", GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN },
};

/* As many bursts as move some 128 MiB, but two at least and no more than 2000 folios */
static void size_round(struct stream *s)
{
	unsigned long folios = min(SZ_128M / (PAGE_SIZE << max(s->order, s->order2)), 2000UL);

	s->bursts = max(2UL, folios / s->burst);
}

static bool interrupted(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

static void bench_alloc(void)
{
	static const unsigned int bursts[] = { 1, 8, MAX_BURST };
	const unsigned int cpus = num_online_cpus();
	const unsigned int max_order = min_t(unsigned int, BIG_ORDER + 2, MAX_PAGE_ORDER);
	unsigned int order, kind, b, n;
	char name[MAX_NAME];

	for (order = 0; order <= max_order; order++) {
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			struct stream s = {
				.name = name,
				.order = order,
				.gfp = kinds[kind].gfp,
			};

			/* 1, 2, 4 ... and all CPUs */
			for (n = 1; n <= cpus; n = n < cpus ? min(2 * n, cpus) : n + 1) {
				for (b = 0; b < ARRAY_SIZE(bursts); b++) {
					scnprintf(name, sizeof(name),
						  "alloc/order-%u/%s/burst-%u/cpus-%u",
						  order, kinds[kind].name, bursts[b], n);
					s.burst = bursts[b];
					size_round(&s);
					if (!wanted(name))
						continue;
					run_stream(&s, n);
					if (interrupted())
						return;
				}
			}

			scnprintf(name, sizeof(name), "xcpu/order-%u/%s", order, kinds[kind].name);
			if (!wanted(name))
				continue;
			s.burst = 8;
			s.xcpu = true;
			size_round(&s);
			if (cpus > 1)
				run_stream(&s, 2);
			else
				pr_info("%s n/a there is one CPU\n", name);
			if (interrupted())
				return;
		}
	}
}

static void bench_mixed(void)
{
	static const struct {
		unsigned int small, large;
	} mixes[] = { { 0, 8 }, { 0, 9 }, { 3, 4 } };
	const unsigned int cpus = num_online_cpus();
	unsigned int m, kind, n;
	char name[MAX_NAME];

	for (m = 0; m < ARRAY_SIZE(mixes); m++) {
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			/* n = 0: the large ones come from the other CPU */
			for (n = cpus > 1 ? 0 : 1; n <= cpus; n = n == 1 ? max(cpus, 2U) : n + 1) {
				struct stream s = {
					.name = name,
					.order = n ? mixes[m].small : mixes[m].large,
					.order2 = n ? mixes[m].large : mixes[m].small,
					.gfp = kinds[kind].gfp,
					.burst = 8,
					.mixed = true,
					.xcpu = !n,
				};

				scnprintf(name, sizeof(name), "%s/order-%u+%u/%s",
					  n ? "mixed" : "xcpu", s.order, s.order2,
					  kinds[kind].name);
				if (n)
					scnprintf(name + strlen(name), sizeof(name) - strlen(name),
						  "/cpus-%u", n);
				if (!wanted(name))
					continue;
				size_round(&s);
				if (mixes[m].large > MAX_PAGE_ORDER)
					pr_info("%s n/a the largest order is %u\n", name,
						MAX_PAGE_ORDER);
				else
					run_stream(&s, n ?: 2);
				if (interrupted())
					return;
			}
		}
	}
}

/* --- zeroing --- */

enum hint { START, MIDDLE, END };

static size_t hint_offset(struct folio *folio, enum hint hint)
{
	const size_t size = folio_size(folio);

	return hint == START ? 0 : hint == MIDDLE ? size / 2 : size - PAGE_SIZE;
}

static void by_clear_highpage(struct folio **folio, enum hint hint)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(*folio); i++)
		clear_highpage(folio_page(*folio, i));
}

static void by_folio_zero_range(struct folio **folio, enum hint hint)
{
	folio_zero_range(*folio, 0, folio_size(*folio));
}

static void by_folio_zero_user(struct folio **folio, enum hint hint)
{
	/* Any address that is a multiple of the folio's size */
	folio_zero_user(*folio, 4 * folio_size(*folio) + hint_offset(*folio, hint));
}

/*
 * Another folio instead, that the allocator has zeroed, as it also does with
 * init_on_alloc=1: clear_highpages_kasan_tagged() knows no address.
 */
static unsigned int gfp_zero_failed;	/* bench_mutex guards it. */

static void by_gfp_zero(struct folio **folio, enum hint hint)
{
	struct folio *other = folio_alloc(kinds[UNMOVABLE].gfp | __GFP_ZERO,
					  folio_order(*folio));

	if (!other) {
		gfp_zero_failed++;
		return;
	}
	folio_put(*folio);
	*folio = other;
}

#ifdef folio_zero
static void by_folio_zero(struct folio **folio, enum hint hint)
{
	folio_zero(*folio);
}
#else
#define by_folio_zero	NULL
#endif

#if defined(CONFIG_X86_64) && !defined(CONFIG_KMSAN)
/* What clear_pages() is where alternatives are applied and the CPU has ERMS */
static void by_rep_stosb(struct folio **folio, enum hint hint)
{
	void *p = folio_address(*folio);
	size_t len = folio_size(*folio);

	asm volatile("rep stosb" : "+D" (p), "+c" (len) : "a" (0) : "memory");
}
#else
#define by_rep_stosb	NULL
#endif

/* Through the cache or not: as the kernel is set, or forced for one row */
enum policy { AS_SET, CACHED, NOCACHE };

#if HAVE_ZERO_NOCACHE
static unsigned int set_policy(unsigned int min)
{
	return xchg(&zero_nocache_min, min);
}
#else
static unsigned int set_policy(unsigned int min)
{
	return 0;
}
#endif

#define NEW	"not in this tree"

static const struct zero_way {
	const char *name;
	void (*zero)(struct folio **folio, enum hint hint);
	enum hint hint;
	const char *reason;	/* why there is none */
	enum policy policy;
} ways[] = {
	{ "clear_highpage", by_clear_highpage, START, "" },
	{ "folio_zero_range", by_folio_zero_range, START, "" },
	{ "folio_zero_user-start", by_folio_zero_user, START, "" },
	{ "folio_zero_user-middle", by_folio_zero_user, MIDDLE, "" },
	{ "folio_zero_user-end", by_folio_zero_user, END, "" },
	{ "gfp_zero", by_gfp_zero, START, "" },
	{ "folio_zero", by_folio_zero, START, NEW },
	{ "folio_zero_user-start-cached", by_folio_zero_user, START, "", CACHED },
	{ "gfp_zero-cached", by_gfp_zero, START, "", CACHED },
	{ "folio_zero-cached", by_folio_zero, START, NEW, CACHED },
	{ "folio_zero_user-start-nocache", by_folio_zero_user, START, "", NOCACHE },
	{ "folio_zero_user-middle-nocache", by_folio_zero_user, MIDDLE, "", NOCACHE },
	{ "folio_zero_user-end-nocache", by_folio_zero_user, END, "", NOCACHE },
	{ "gfp_zero-nocache", by_gfp_zero, START, "", NOCACHE },
	{ "folio_zero-nocache", by_folio_zero, START, NEW, NOCACHE },
	{ "rep_stosb", by_rep_stosb, START, "an instruction of x86-64" },
};

/* What the owner of the folio does next */
enum use { NOTHING, WRITE_ALL, WRITE_16K, READ_ALL, NR_USES };

/*
 * Eight words a turn, and from one alignment on: a loop of single stores takes
 * up to twice as long where the linker happens to put it.
 */
static noinline __aligned(64) void write_words(long *p, long *end)
{
	for (; p < end; p += 8) {
		WRITE_ONCE(p[0], 1);
		WRITE_ONCE(p[1], 1);
		WRITE_ONCE(p[2], 1);
		WRITE_ONCE(p[3], 1);
		WRITE_ONCE(p[4], 1);
		WRITE_ONCE(p[5], 1);
		WRITE_ONCE(p[6], 1);
		WRITE_ONCE(p[7], 1);
	}
}

static noinline __aligned(64) void read_words(const long *p, const long *end)
{
	for (; p < end; p += 8) {
		READ_ONCE(p[0]);
		READ_ONCE(p[1]);
		READ_ONCE(p[2]);
		READ_ONCE(p[3]);
		READ_ONCE(p[4]);
		READ_ONCE(p[5]);
		READ_ONCE(p[6]);
		READ_ONCE(p[7]);
	}
}

static void use_folio(struct folio *folio, enum use use, enum hint hint)
{
	const size_t size = folio_size(folio), part = min_t(size_t, SZ_16K, size);
	void *p = folio_address(folio);

	switch (use) {
	case WRITE_ALL:
		write_words(p, p + size);
		break;
	case WRITE_16K:
		/* Where the fault was; at the end, what lies before it */
		p += hint == END ? size - part : hint_offset(folio, hint);
		write_words(p, p + part);
		break;
	case READ_ALL:
		read_words(p, p + size);
		break;
	default:
		break;
	}
}

static void run_zero(const char *name, const struct zero_way *way,
		     struct folio **folios, unsigned int n)
{
	/* One folio alone is done often enough to see it. */
	const unsigned int passes = max(1U, 64 / n), last = nr_rounds;
	u64 ns[NR_USES][MAX_ROUNDS];
	unsigned int use, round, pass, i;

	gfp_zero_failed = 0;
	for (i = 0; i < n; i++)		/* the warm-up */
		way->zero(&folios[i], way->hint);
	for (use = 0; use < NR_USES; use++) {
		for (round = 0; round < last; round++) {
			u64 start = ktime_get_ns();

			for (pass = 0; pass < passes; pass++) {
				for (i = 0; i < n; i++) {
					way->zero(&folios[i], way->hint);
					use_folio(folios[i], use, way->hint);
				}
			}
			ns[use][round] = ktime_get_ns() - start;
			cond_resched();
		}
	}
	if (gfp_zero_failed)
		pr_info("%s n/a %u allocations failed\n", name, gfp_zero_failed);
	else
		pr_info("%s ops=%u ns=%llu write_ns=%llu write16k_ns=%llu read_ns=%llu\n", name,
			n * passes, median(ns[NOTHING], last), median(ns[WRITE_ALL], last),
			median(ns[WRITE_16K], last), median(ns[READ_ALL], last));
}

struct zero_case {
	unsigned int order, n;
};

static void zero_worker(void *data)
{
	const struct zero_case *c = data;
	const unsigned int order = c->order, n = c->n;
	const unsigned long kib = PAGE_SIZE >> 10 << order;
	struct folio **folios = NULL;
	unsigned int i, w, nr = 0, min = 0;
	char name[MAX_NAME];

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		scnprintf(name, sizeof(name), "zero/%lu%s/n-%u/%s",
			  kib >= 1024 ? kib >> 10 : kib, kib >= 1024 ? "M" : "K", n, ways[w].name);
		if (!wanted(name))
			continue;
		if (!ways[w].zero) {
			pr_info("%s n/a %s\n", name, ways[w].reason);
			continue;
		}
		if (ways[w].policy != AS_SET && !HAVE_ZERO_NOCACHE) {
			pr_info("%s n/a " NEW ", or not on this architecture\n", name);
			continue;
		}
		if (!folios) {
			folios = kvcalloc(n, sizeof(*folios), GFP_KERNEL);
			if (folios)
				nr = alloc_burst(folios, n, kinds[UNMOVABLE].gfp, order);
			/* Touch it: memory may be the host's to fault in. */
			for (i = 0; i < nr; i++)
				memset(folio_address(folios[i]), 1, folio_size(folios[i]));
		}
		if (ways[w].policy != AS_SET)
			min = set_policy(ways[w].policy == CACHED ? UINT_MAX : 1 << order);
		if (nr < n)
			pr_info("%s n/a no free memory for %u folios of %lu KiB\n", name, n, kib);
		else
			run_zero(name, &ways[w], folios, n);
		if (ways[w].policy != AS_SET)
			set_policy(min);
		cond_resched();
	}
	free_burst(folios, nr);
	kvfree(folios);
}

static void bench_zero(void)
{
	static const unsigned int counts[] = { 1, 100, 512 };
	const unsigned int orders[] = { SMALL_ORDER, BIG_ORDER };
	unsigned int o, i;

	for (o = 0; o < ARRAY_SIZE(orders); o++) {
		for (i = 0; i < ARRAY_SIZE(counts) && !interrupted(); i++) {
			struct zero_case c = { .order = orders[o], .n = counts[i] };

			run_bound("zero", zero_worker, &c);
		}
	}
}

/* --- copying --- */

#ifdef __HAVE_ARCH_COPY_USER_HIGHPAGE
#define ONE_PAGE	NULL		/* it may look into the vma */
#else
#define ONE_PAGE	by_converging
#endif

/*
 * Page by page from the ends of the folio towards the hint, which comes last:
 * the order in which copy_user_large_folio() went in Linux 7.3.
 */
static void __maybe_unused by_converging(struct folio *dst, struct folio *src, enum hint hint)
{
	const long last = folio_nr_pages(dst) - 1;
	const long at = hint_offset(dst, hint) / PAGE_SIZE;
	long left = 0, right = last;

	while (left <= right) {
		/* The farther one of the two ends; the right one of equals */
		const long i = at - left > right - at ? left++ : right--;

		if (copy_mc_user_highpage(folio_page(dst, i), folio_page(src, i),
					  i * PAGE_SIZE, NULL))
			return;
	}
}

static void by_copy_page(struct folio *dst, struct folio *src, enum hint hint)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(dst); i++)
		copy_page(folio_address(dst) + i * PAGE_SIZE, folio_address(src) + i * PAGE_SIZE);
}

/* Poison in the source is not looked for, here as above: there is none. */
static void by_run(struct folio *dst, struct folio *src, enum hint hint)
{
#ifdef copy_mc_to_kernel
	if (copy_mc_to_kernel(folio_address(dst), folio_address(src), folio_size(dst)))
		return;
#else
	memcpy(folio_address(dst), folio_address(src), folio_size(dst));
#endif
}

#ifndef __HAVE_ARCH_COPY_USER_HIGHPAGE
static void by_copy_user_large_folio(struct folio *dst, struct folio *src, enum hint hint)
{
	if (copy_user_large_folio(dst, src, 4 * folio_size(dst) + hint_offset(dst, hint), NULL))
		return;
}
#else
#define by_copy_user_large_folio	NULL
#endif

static const struct copy_way {
	const char *name;
	void (*copy)(struct folio *dst, struct folio *src, enum hint hint);
	enum hint hint;
} copy_ways[] = {
	{ "converging-start", ONE_PAGE, START },
	{ "converging-middle", ONE_PAGE, MIDDLE },
	{ "converging-end", ONE_PAGE, END },
	{ "copy_page", by_copy_page, START },
	{ "run", by_run, START },
	{ "copy_user_large_folio-start", by_copy_user_large_folio, START },
	{ "copy_user_large_folio-middle", by_copy_user_large_folio, MIDDLE },
	{ "copy_user_large_folio-end", by_copy_user_large_folio, END },
};

struct copy_case {
	unsigned int order, n;
};

/*
 * The ways take turns in each round: what differs between them is a few percent,
 * less than a machine may change in the time that one way takes.
 */
static void copy_worker(void *data)
{
	/* bench_mutex guards it; on the stack it is too large. */
	static u64 ns[ARRAY_SIZE(copy_ways)][NR_USES][MAX_ROUNDS];
	const struct copy_case *c = data;
	const unsigned long kib = PAGE_SIZE >> 10 << c->order;
	const unsigned int n = c->n, passes = max(1U, 64 / n), last = nr_rounds;
	char names[ARRAY_SIZE(copy_ways)][MAX_NAME];
	bool run[ARRAY_SIZE(copy_ways)];
	unsigned int w, use, round, pass, i, nr = 0, nr_run = 0;
	struct folio **folios;

	for (w = 0; w < ARRAY_SIZE(copy_ways); w++) {
		scnprintf(names[w], MAX_NAME, "copy/%lu%s/n-%u/%s", kib >= 1024 ? kib >> 10 : kib,
			  kib >= 1024 ? "M" : "K", n, copy_ways[w].name);
		run[w] = wanted(names[w]);
		if (run[w] && !copy_ways[w].copy) {
			pr_info("%s n/a with a copy_user_highpage() of the architecture\n",
				names[w]);
			run[w] = false;
		}
		nr_run += run[w];
	}
	if (!nr_run)
		return;

	/* The targets, then the sources */
	folios = kvcalloc(2 * n, sizeof(*folios), GFP_KERNEL);
	if (folios)
		nr = alloc_burst(folios, 2 * n, kinds[UNMOVABLE].gfp, c->order);
	for (i = 0; i < nr; i++)
		memset(folio_address(folios[i]), 1, folio_size(folios[i]));

	for (round = 0; nr == 2 * n && round < last; round++) {
		for (use = 0; use < NR_USES; use++) {
			for (w = 0; w < ARRAY_SIZE(copy_ways); w++) {
				const struct copy_way *way = &copy_ways[w];
				u64 start = ktime_get_ns();

				if (!run[w])
					continue;
				for (pass = 0; pass < passes; pass++) {
					for (i = 0; i < n; i++) {
						way->copy(folios[i], folios[n + i], way->hint);
						use_folio(folios[i], use, way->hint);
					}
				}
				ns[w][use][round] = ktime_get_ns() - start;
				cond_resched();
			}
		}
	}
	for (w = 0; w < ARRAY_SIZE(copy_ways); w++) {
		if (!run[w])
			continue;
		if (nr < 2 * n)
			pr_info("%s n/a no free memory for %u folios of %lu KiB\n", names[w],
				2 * n, kib);
		else
			pr_info("%s ops=%u ns=%llu write_ns=%llu write16k_ns=%llu read_ns=%llu\n",
				names[w], n * passes,
				median(ns[w][NOTHING], last), median(ns[w][WRITE_ALL], last),
				median(ns[w][WRITE_16K], last), median(ns[w][READ_ALL], last));
	}
	free_burst(folios, nr);
	kvfree(folios);
}

static void bench_copy(void)
{
	const struct copy_case cases[] = {
		{ SMALL_ORDER, 1 }, { SMALL_ORDER, 4096 }, { BIG_ORDER, 1 }, { BIG_ORDER, 256 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases) && !interrupted(); i++) {
		struct copy_case c = cases[i];

		run_bound("copy", copy_worker, &c);
	}
}

/* --- map and unmap --- */

/*
 * A file in memory whose folios are of one order, for the page cache's own
 * faults.  There is nothing to read them from if they are dropped meanwhile.
 */
static int folio_bench_read_folio(struct file *file, struct folio *folio)
{
	folio_unlock(folio);
	return -EIO;
}

static const struct address_space_operations folio_bench_aops = {
	.read_folio	= folio_bench_read_folio,
};

static const struct file_operations folio_bench_fops = {
	.mmap_prepare	= generic_file_readonly_mmap_prepare,
};

struct map_case {
	const char *name;
	unsigned int order, nr_folios;
};

static struct file *file_of(unsigned int order, unsigned int nr_folios)
{
	struct file *file = anon_inode_create_getfile("[folio_bench]", &folio_bench_fops,
						      NULL, O_RDONLY, NULL);
	struct address_space *mapping;
	unsigned int i;
	int err;

	if (IS_ERR(file))
		return file;
	mapping = file->f_mapping;
	mapping->a_ops = &folio_bench_aops;
	mapping_set_large_folios(mapping);
	/* A page more: the last folio of a file is not mapped as a whole. */
	i_size_write(mapping->host, (((loff_t)nr_folios << order) + 1) << PAGE_SHIFT);
	for (i = 0; i < nr_folios; i++) {
		struct folio *folio = folio_alloc(GFP_HIGHUSER | __GFP_NORETRY | __GFP_NOWARN |
						  __GFP_ZERO, order);

		err = -ENOMEM;
		if (folio)
			err = filemap_add_folio(mapping, folio, (pgoff_t)i << order, GFP_KERNEL);
		if (err) {
			if (folio)
				folio_put(folio);
			__fput_sync(file);
			return ERR_PTR(err);
		}
		folio_mark_uptodate(folio);
		folio_unlock(folio);
		folio_put(folio);
	}
	return file;
}

/*
 * One read fault maps a window of fault_around_bytes, 64 KiB unless told, and
 * all of a folio that has a page in it.
 */
static int fault_in(struct mm_struct *mm, unsigned long start, unsigned long end,
		    unsigned long step)
{
	unsigned long addr = start;
	vm_fault_t fault = 0;

	mmap_read_lock(mm);
	while (addr < end && !(fault & VM_FAULT_ERROR)) {
		struct vm_area_struct *vma = vma_lookup(mm, addr);

		fault = vma ? handle_mm_fault(vma, addr, 0, NULL) : VM_FAULT_SIGSEGV;
		addr += step;
	}
	mmap_read_unlock(mm);
	return fault & VM_FAULT_ERROR ? -EFAULT : 0;
}

static unsigned long nr_mapped(struct address_space *mapping, const struct map_case *c)
{
	unsigned long mapped = 0;
	unsigned int i;

	for (i = 0; i < c->nr_folios; i++) {
		struct folio *folio = filemap_get_folio(mapping, (pgoff_t)i << c->order);

		if (IS_ERR(folio))
			continue;
		if (folio_order(folio) == c->order)
			mapped += folio_mapcount(folio);
		folio_put(folio);
	}
	return mapped;
}

static void map_worker(void *data)
{
	struct map_case *c = data;
	const unsigned long nr_pages = (unsigned long)c->nr_folios << c->order;
	const unsigned long len = nr_pages << PAGE_SHIFT;
	const unsigned long addr = 16 * PMD_SIZE;
	const unsigned long step = max(SZ_64K, PAGE_SIZE << c->order);
	const unsigned int last = nr_rounds;
	u64 map_ns[MAX_ROUNDS], unmap_ns[MAX_ROUNDS], map, unmap, start;
	struct mm_struct *mm;
	struct file *file;
	unsigned int round;
	unsigned long got;
	int err;

	file = file_of(c->order, c->nr_folios);
	if (IS_ERR(file)) {
		pr_info("%s n/a no file of such folios: %pe\n", c->name, file);
		return;
	}
	mm = mm_alloc();
	if (!mm) {
		pr_info("%s n/a no memory for an address space\n", c->name);
		goto out_file;
	}
	mm->task_size = TASK_SIZE;
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
	kthread_use_mm(mm);

	/* MAP_STACK is what keeps a PMD from mapping it. */
	got = vm_mmap(file, addr, len, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_STACK, 0);
	if (got != addr) {
		pr_info("%s FAIL no mapping: %pe\n", c->name, ERR_PTR((long)got));
		goto out_mm;
	}

	/* Round 0 is the warm-up. */
	for (round = 0; round <= last; round++) {
		start = ktime_get_ns();
		err = fault_in(mm, addr, addr + len, step);
		map = ktime_get_ns() - start;
		if (err || nr_mapped(file->f_mapping, c) != nr_pages) {
			pr_info("%s FAIL %lu of %lu pages are mapped; fault_around_bytes has to be 64 KiB\n",
				c->name, nr_mapped(file->f_mapping, c), nr_pages);
			goto out_mm;
		}
		start = ktime_get_ns();
		unmap_mapping_range(file->f_mapping, 0, 0, 1);
		unmap = ktime_get_ns() - start;
		if (nr_mapped(file->f_mapping, c)) {
			pr_info("%s FAIL pages are still mapped\n", c->name);
			goto out_mm;
		}
		if (round) {
			map_ns[round - 1] = map;
			unmap_ns[round - 1] = unmap;
		}
		cond_resched();
	}
	map = median(map_ns, last);
	unmap = median(unmap_ns, last);
	pr_info("%s ops=%u ns=%llu map_ns=%llu unmap_ns=%llu\n", c->name, c->nr_folios,
		map + unmap, map, unmap);
out_mm:
	kthread_unuse_mm(mm);
	mmput(mm);
out_file:
	/* Here and now, not in the middle of the next case */
	__fput_sync(file);
}

static void bench_map(void)
{
	static const unsigned int orders[] = { 0, 4, 9 };
	unsigned int i;
	char name[MAX_NAME];

	for (i = 0; i < ARRAY_SIZE(orders) && !interrupted(); i++) {
		struct map_case c = {
			.name = name,
			.order = orders[i],
			/* the same number of pages in each case */
			.nr_folios = 512 >> orders[i],
		};

		scnprintf(name, sizeof(name), "map/pages-%u", 1 << c.order);
		if (!wanted(name))
			continue;
		if (c.order && !IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE)) {
			pr_info("%s n/a no large folios in the page cache without THP\n", name);
			continue;
		}
		if (c.order > MAX_PAGECACHE_ORDER) {
			pr_info("%s n/a the page cache takes order %lu at most\n", name,
				(unsigned long)MAX_PAGECACHE_ORDER);
			continue;
		}
		run_bound(name, map_worker, &c);
	}
}

/* --- locks --- */

static DEFINE_SPINLOCK(probe_lock);

/*
 * Where the locks are, for kprobes that count who takes them: real addresses
 * with no_hash_pointers only.  And a lock that holds nothing, to see what such
 * a probe adds to a hold.
 */
static void bench_locks(void)
{
	unsigned long flags;
	struct zone *zone;
	unsigned int i;
	int nid;

	if (wanted("locks/zone")) {
		for_each_populated_zone(zone)
			pr_info("locks/zone lock=%p node=%d name=%s pages=%lu\n", &zone->lock,
				zone_to_nid(zone), zone->name, zone_managed_pages(zone));
	}
	if (wanted("locks/lru")) {
		for_each_node_state(nid, N_MEMORY)
			pr_info("locks/lru lock=%p node=%d\n",
				&mem_cgroup_lruvec(NULL, NODE_DATA(nid))->lru_lock, nid);
	}
	if (wanted("locks/probe")) {
		for (i = 0; i < 1000; i++) {
			spin_lock_irqsave(&probe_lock, flags);
			spin_unlock_irqrestore(&probe_lock, flags);
		}
		pr_info("locks/probe lock=%p ops=%u\n", &probe_lock, i);
	}
}

/* --- start --- */

static char at_boot[256];
static bool booted;

/**
 * folio_bench() - Run the cases that match, and print a line for each.
 * @globs: Patterns of names, with commas or spaces between them.
 *
 * Context: Process context.  May sleep, for minutes.
 * Return: 0, -EINTR when killed, -ENOMEM, -ENOENT when no case matches, or
 * -EINVAL when a pattern is longer than any name.
 */
static int folio_bench(const char *globs)
{
	char *text __free(kfree) = kstrdup(globs, GFP_KERNEL);

	if (!text)
		return -ENOMEM;
	strreplace(text, ',', ' ');

	char **argv __free(argv_free) = argv_split(GFP_KERNEL, text, NULL);

	if (!argv)
		return -ENOMEM;
	if (!patterns_fit(argv))
		return -EINVAL;

	guard(mutex)(&bench_mutex);

	nr_rounds = READ_ONCE(rounds);
	nr_matched = 0;
	patterns = argv;
	bench_locks();
	bench_alloc();
	bench_mixed();
	bench_zero();
	bench_copy();
	bench_map();
	if (!nr_matched)
		pr_err("no case matches '%s'; all of them: *\n", strim(text));
	else
		pr_info("done, %u cases\n", nr_matched);
	return fatal_signal_pending(current) ? -EINTR : nr_matched ? 0 : -ENOENT;
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	int err;

	if (booted) {
		/* Other parameters are not to wait for minutes; val is the writer's. */
		kernel_param_unlock(THIS_MODULE);
		err = folio_bench(val);
		kernel_param_lock(THIS_MODULE);
		return err;
	}
	/* The command line is read long before a folio can be had. */
	return strscpy(at_boot, val) < 0 ? -ENOSPC : 0;
}

static const struct kernel_param_ops run_ops = {
	.set = run_set,
};
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "Patterns of the cases to run: at boot, or at once when written later");

static int __init folio_bench_init(void)
{
	booted = true;
	return at_boot[0] ? folio_bench(at_boot) : 0;
}
late_initcall(folio_bench_init);
