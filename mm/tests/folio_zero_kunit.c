// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for folio_zero() and the extents below it.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/folio_zero.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "../folio_zero.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

#define PATTERN		0xa5
#define NR_FOLIOS	8
#define MAX_SIZE	SZ_16M	/* of a folio: NR_FOLIOS of them have to be had */

static void put_folio(void *folio)
{
	folio_put(folio);
}

static void soil(struct folio *folio)
{
	long i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		memset_page(folio_page(folio, i), 0, PATTERN, PAGE_SIZE);
		cond_resched();
	}
}

/*
 * A folio full of PATTERN, from highmem where there is any, put when the test
 * ends; or NULL.
 */
static struct folio *try_dirty_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_HIGHUSER | __GFP_NOWARN | __GFP_NORETRY,
					  order);

	if (!folio)
		return NULL;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_folio, folio));

	soil(folio);
	return folio;
}

static struct folio *dirty_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = try_dirty_folio(test, order);

	if (!folio)
		kunit_skip(test, "no memory for a folio of order %u", order);
	return folio;
}

/* Index of the first page with a byte other than @byte, or -1. */
static long first_page_without(struct folio *folio, u8 byte)
{
	long i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		void *addr = kmap_local_folio(folio, i * PAGE_SIZE);
		void *other = memchr_inv(addr, byte, PAGE_SIZE);

		kunmap_local(addr);
		if (other)
			return i;
		cond_resched();
	}
	return -1;
}

/* The parameter is the order plus one, since NULL ends the list. */
static const void *order_params(struct kunit *test, const void *prev, char *desc)
{
	unsigned long order = (unsigned long)prev;

	if (order > MAX_PAGE_ORDER || PAGE_SIZE << order > MAX_SIZE)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %lu", order);
	return (void *)(order + 1);
}

static unsigned int order_of(struct kunit *test)
{
	return (unsigned long)test->param_value - 1;
}

static void folio_zero_clears_every_byte(struct kunit *test)
{
	struct folio *folio = dirty_folio(test, order_of(test));

	KUNIT_ASSERT_EQ(test, first_page_without(folio, PATTERN), -1);
	folio_zero(folio);
	KUNIT_EXPECT_EQ(test, first_page_without(folio, 0), -1);
}

static int cmp_pfn(const void *a, const void *b)
{
	return cmp_int(folio_pfn(*(struct folio **)a), folio_pfn(*(struct folio **)b));
}

static void expect_one_zeroed(struct kunit *test, struct folio **folios, int zeroed)
{
	int i;

	for (i = 0; i < NR_FOLIOS; i++) {
		u8 byte = i == zeroed ? 0 : PATTERN;

		KUNIT_EXPECT_EQ_MSG(test, -1, first_page_without(folios[i], byte),
				    "folio %d, zeroed: %d", i, zeroed);
	}
}

/* Zero a folio that lies directly between, or beside, others of its size. */
static void folio_zero_spares_neighbours(struct kunit *test)
{
	struct folio *folios[NR_FOLIOS];
	int i, victim = -1;

	for (i = 0; i < NR_FOLIOS; i++)
		folios[i] = dirty_folio(test, order_of(test));
	sort(folios, NR_FOLIOS, sizeof(folios[0]), cmp_pfn, NULL);

	for (i = 0; i < NR_FOLIOS - 1 && victim < 0; i++)
		if (folio_pfn(folios[i]) + folio_nr_pages(folios[i]) ==
		    folio_pfn(folios[i + 1]))
			victim = i;
	if (victim < 0)
		kunit_skip(test, "no two of %d folios are adjacent", NR_FOLIOS);

	folio_zero(folios[victim]);
	expect_one_zeroed(test, folios, victim);

	/* The same from the other side. */
	soil(folios[victim]);
	folio_zero(folios[++victim]);
	expect_one_zeroed(test, folios, victim);
}

static void folio_zero_leaves_flags_alone(struct kunit *test)
{
	struct folio *folio = dirty_folio(test, order_of(test));
	const int refs = folio_ref_count(folio);

	folio_set_referenced(folio);
	folio_zero(folio);
	KUNIT_EXPECT_FALSE(test, folio_test_uptodate(folio));
	KUNIT_EXPECT_FALSE(test, folio_test_dirty(folio));
	KUNIT_EXPECT_TRUE(test, folio_test_referenced(folio));
	KUNIT_EXPECT_EQ(test, refs, folio_ref_count(folio));
	folio_clear_referenced(folio);
}

/* --- through the cache and past it --- */

/* Zeroes a folio in one of the ways that look at the threshold. */
struct zero_path {
	const char *name;
	struct folio *(*zero)(struct kunit *test, struct folio *folio);
};

static struct folio *by_folio_zero(struct kunit *test, struct folio *folio)
{
	folio_zero(folio);
	return folio;
}

/*
 * Another folio, zeroed by the allocator: most likely the one that was soiled,
 * for it was freed just before.  Or NULL.
 */
static struct folio *by_gfp_zero(struct kunit *test, struct folio *folio)
{
	const unsigned int order = folio_order(folio);

	kunit_release_action(test, put_folio, folio);
	folio = folio_alloc(GFP_HIGHUSER | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY, order);
	if (folio)
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_folio, folio));
	return folio;
}

#if !defined(MODULE) && (defined(CONFIG_TRANSPARENT_HUGEPAGE) || \
	defined(CONFIG_HUGETLBFS) || defined(CONFIG_FOLIO_BENCH))
static struct folio *zero_user_at(struct folio *folio, unsigned long page)
{
	folio_zero_user(folio, 4 * folio_size(folio) + page * PAGE_SIZE);
	return folio;
}
#else
#define NO_FOLIO_ZERO_USER
static struct folio *zero_user_at(struct folio *folio, unsigned long page)
{
	return NULL;
}
#endif

static struct folio *by_user_start(struct kunit *test, struct folio *folio)
{
	return zero_user_at(folio, 0);
}

static struct folio *by_user_middle(struct kunit *test, struct folio *folio)
{
	return zero_user_at(folio, folio_nr_pages(folio) / 2);
}

static struct folio *by_user_end(struct kunit *test, struct folio *folio)
{
	return zero_user_at(folio, folio_nr_pages(folio) - 1);
}

static const struct zero_path paths[] = {
	{ "folio_zero", by_folio_zero },
	{ "__GFP_ZERO", by_gfp_zero },
	{ "folio_zero_user, start", by_user_start },
	{ "folio_zero_user, middle", by_user_middle },
	{ "folio_zero_user, end", by_user_end },
};

KUNIT_ARRAY_PARAM_DESC(path, paths, name);

#if HAVE_ZERO_NOCACHE
/* Pages that went past the cache since the last folio was soiled */
static unsigned int nr_past_cache;

static void count_past_cache(void *addr, unsigned int nr_pages)
{
	nr_past_cache += nr_pages;
	clear_pages_nocache(addr, nr_pages);
}

/* Of a folio of @nr_pages, how many are zeroed past the cache by @path, if any? */
static unsigned int far_pages(const struct zero_path *path, unsigned int nr_pages)
{
	/* Two pages to each side of the fault, as far as the folio goes */
	if (path->zero == by_user_start || path->zero == by_user_end)
		return nr_pages - min(nr_pages, 3);
	if (path->zero == by_user_middle)
		return nr_pages - min(nr_pages, 5);
	return nr_pages;
}
#endif

static void zero_paths(struct kunit *test, bool past_cache)
{
	const struct zero_path *path = test->param_value;
	unsigned int order;

#ifdef NO_FOLIO_ZERO_USER
	if (strstarts(path->name, "folio_zero_user"))
		kunit_skip(test, "no folio_zero_user() here: a module, or no CONFIG_FOLIO_BENCH");
#endif
	for (order = 0; order <= MAX_PAGE_ORDER && PAGE_SIZE << order <= MAX_SIZE; order++) {
		struct folio *folio = try_dirty_folio(test, order);

#if HAVE_ZERO_NOCACHE
		nr_past_cache = 0;
#endif
		if (folio)
			folio = path->zero(test, folio);
		if (!folio) {
			/* A skip would hide what went wrong before. */
			kunit_info(test, "no memory for a folio of order %u\n", order);
			KUNIT_EXPECT_GT(test, order, 2);
			break;
		}
#if HAVE_ZERO_NOCACHE
		KUNIT_EXPECT_EQ_MSG(test, nr_past_cache,
				    past_cache ? far_pages(path, 1 << order) : 0,
				    "pages past the cache, order %u", order);
#endif
		KUNIT_EXPECT_EQ_MSG(test, first_page_without(folio, 0), -1, "order %u", order);
		kunit_release_action(test, put_folio, folio);
	}
}

#if HAVE_ZERO_NOCACHE
static void restore_threshold(void *min)
{
	WRITE_ONCE(zero_nocache_min, (unsigned long)min);
}

static void set_threshold(struct kunit *test, unsigned int min)
{
	void *was = (void *)(unsigned long)READ_ONCE(zero_nocache_min);

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, restore_threshold, was));
	WRITE_ONCE(zero_nocache_min, min);
}

static void paths_through_the_cache(struct kunit *test)
{
	set_threshold(test, UINT_MAX);
	kunit_activate_static_stub(test, zero_pages_nocache, count_past_cache);
	zero_paths(test, false);
}

static void paths_past_the_cache(struct kunit *test)
{
	set_threshold(test, 1);
	kunit_activate_static_stub(test, zero_pages_nocache, count_past_cache);
	zero_paths(test, true);
}

static void threshold_is_set_and_shown(struct kunit *test)
{
	static const struct {
		const char *val;
		int ret;
		const char *shown;
	} steps[] = {
		{ "64M", 0, "67108864\n" },
		{ "1G\n", 0, "1073741824\n" },
		{ "", -EINVAL, "1073741824\n" },
		{ "big", -EINVAL, "1073741824\n" },
		{ "64Mb", -EINVAL, "1073741824\n" },
		{ "1", -ERANGE, "1073741824\n" },
		{ "0", 0, "0\n" },
	};
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	set_threshold(test, UINT_MAX);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		KUNIT_EXPECT_EQ_MSG(test, zero_nocache_min_set(steps[i].val, NULL),
				    steps[i].ret, "'%s'", steps[i].val);
		zero_nocache_min_get(page, NULL);
		KUNIT_EXPECT_STREQ(test, page, steps[i].shown);
	}
	free_page((unsigned long)page);

	/* Never, however large */
	KUNIT_EXPECT_FALSE(test, zero_past_cache(SZ_1G >> PAGE_SHIFT));
	KUNIT_EXPECT_EQ(test, 0, zero_nocache_min_set("64M", NULL));
	KUNIT_EXPECT_FALSE(test, zero_past_cache((SZ_64M >> PAGE_SHIFT) - 1));
	KUNIT_EXPECT_TRUE(test, zero_past_cache(SZ_64M >> PAGE_SHIFT));
}
#else
static void paths_through_the_cache(struct kunit *test)
{
	zero_paths(test, false);
}

static void paths_past_the_cache(struct kunit *test)
{
	kunit_skip(test, "this architecture has no clear_pages_nocache()");
}

static void threshold_is_set_and_shown(struct kunit *test)
{
	kunit_skip(test, "this architecture has no clear_pages_nocache()");
}
#endif /* HAVE_ZERO_NOCACHE */

/* --- the instructions --- */

struct backend {
	const char *name;
	void (*clear)(void *addr, unsigned int npages);
	bool (*have)(void);	/* NULL: always */
};

static void by_clear_pages(void *addr, unsigned int npages)
{
	clear_pages(addr, npages);
}

#if HAVE_ZERO_NOCACHE
static void by_clear_pages_nocache(void *addr, unsigned int npages)
{
	clear_pages_nocache(addr, npages);
}
#endif

#ifdef CONFIG_X86_64
static void by_movnti(void *addr, unsigned int npages)
{
	__clear_pages_movnti(addr, npages * PAGE_SIZE);
}

static void by_clzero(void *addr, unsigned int npages)
{
	__clear_pages_clzero(addr, npages * PAGE_SIZE);
}

static bool have_clzero(void)
{
	return boot_cpu_has(X86_FEATURE_CLZERO);
}
#endif

static const struct backend backends[] = {
	{ "clear_pages", by_clear_pages },
#if HAVE_ZERO_NOCACHE
	{ "clear_pages_nocache", by_clear_pages_nocache },
#endif
#ifdef CONFIG_X86_64
	{ "movnti", by_movnti },
	{ "clzero", by_clzero, have_clzero },
#endif
};

KUNIT_ARRAY_PARAM_DESC(backend, backends, name);

/*
 * Extents of one page to a whole huge page, from different places on, with a
 * page before and one behind that nobody may touch.
 */
static void backend_clears_the_extent_alone(struct kunit *test)
{
	static const unsigned int starts[] = { 1, 2, 7, 16 };
	const struct backend *backend = test->param_value;
	const unsigned int order = min(10, MAX_PAGE_ORDER);
	unsigned int i, len, step;
	char *mem;

	if (backend->have && !backend->have())
		kunit_skip(test, "this CPU has no %s", backend->name);

	mem = (char *)__get_free_pages(GFP_KERNEL | __GFP_NOWARN, order);
	if (!mem)
		kunit_skip(test, "no memory of order %u", order);

	/* All lengths up to 9, then 16, 17, 31, 32, 33, ... */
	for (len = 1, step = 1; len + 17 < 1U << order && len <= 513; len += step) {
		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			char *first = mem + starts[i] * PAGE_SIZE;
			char *end = first + len * PAGE_SIZE;
			char *before = first - PAGE_SIZE;

			memset(before, PATTERN, (len + 2) * PAGE_SIZE);
			backend->clear(first, len);
			KUNIT_EXPECT_NULL_MSG(test, memchr_inv(first, 0, end - first),
					      "%u pages from %u: not cleared", len, starts[i]);
			KUNIT_EXPECT_NULL_MSG(test, memchr_inv(before, PATTERN, PAGE_SIZE),
					      "%u pages from %u: underrun", len, starts[i]);
			KUNIT_EXPECT_NULL_MSG(test, memchr_inv(end, PATTERN, PAGE_SIZE),
					      "%u pages from %u: overrun", len, starts[i]);
			cond_resched();
		}
		step = len < 9 || !(len & (len - 1)) || is_power_of_2(len + 1) ?
			1 : roundup_pow_of_two(len) - 1 - len;
	}
	free_pages((unsigned long)mem, order);
}

/* --- scheduling latency --- */

static struct {
	struct kunit *test;
	struct page *page;	/* the next one */
	unsigned long addr;
	unsigned int batch, calls;
	unsigned int late;	/* calls with need_resched() */
} seen;

/* Takes the place of the clearing, so that the extent can be of any size. */
static void record(struct page *page, unsigned long addr, unsigned int nr_pages)
{
	struct kunit *test = seen.test;

	/*
	 * Has there been a cond_resched() since the last extent?  A tick may come
	 * right after it.
	 */
	if (!preempt_model_preemptible()) {
		seen.late += need_resched();
		set_tsk_need_resched(current);
		set_preempt_need_resched();
	}

	KUNIT_EXPECT_PTR_EQ(test, page, seen.page);
	KUNIT_EXPECT_EQ(test, addr, seen.addr);
	KUNIT_EXPECT_GE(test, nr_pages, 1);
	KUNIT_EXPECT_LE(test, nr_pages, seen.batch);
	seen.page += nr_pages;
	seen.addr += nr_pages * PAGE_SIZE;
	seen.calls++;
}

static const struct batch {
	unsigned int nr_pages, batch;
} batch_params[] = {
	{ 1, 1 }, { 1, 8192 }, { 16, 1 }, { 512, 1 }, { 512, 7 }, { 512, 512 },
	{ 512, 8192 }, { 8193, 8192 },
	/* 1 GiB of pages of 4 KiB */
	{ 262144, 8192 }, { 262144, 262144 },
};

static void batch_desc(const struct batch *b, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u pages by %u", b->nr_pages, b->batch);
}

KUNIT_ARRAY_PARAM(batch, batch_params, batch_desc);

static void extents_end_at_the_batch(struct kunit *test)
{
	const struct batch *b = test->param_value;
	struct page *first = ZERO_PAGE(0);	/* any */

	seen.test = test;
	seen.page = first;
	seen.addr = SZ_1M;
	seen.batch = b->batch;
	seen.calls = 0;
	seen.late = 0;
	zero_extents(first, SZ_1M, b->nr_pages, b->batch, record);
	KUNIT_EXPECT_PTR_EQ(test, seen.page, first + b->nr_pages);
	KUNIT_EXPECT_EQ(test, seen.calls, DIV_ROUND_UP(b->nr_pages, b->batch));
	if (seen.calls >= 16)
		KUNIT_EXPECT_LT(test, seen.late, seen.calls / 2);
	cond_resched();
}

static void batch_is_that_of_the_kernel(struct kunit *test)
{
	const unsigned int gib = SZ_1G >> PAGE_SHIFT;

	if (preempt_model_preemptible())
		KUNIT_EXPECT_EQ(test, zero_batch(gib), gib);
	else
		KUNIT_EXPECT_EQ(test, zero_batch(gib), PROCESS_PAGES_NON_PREEMPT_BATCH);
	kunit_info(test, "preemption: %s, %u pages\n", preempt_model_preemptible() ? "yes" : "no",
		   zero_batch(gib));
}

static struct kunit_case folio_zero_cases[] = {
	KUNIT_CASE_PARAM(folio_zero_clears_every_byte, order_params),
	KUNIT_CASE_PARAM(folio_zero_spares_neighbours, order_params),
	KUNIT_CASE_PARAM(folio_zero_leaves_flags_alone, order_params),
	KUNIT_CASE_PARAM(paths_through_the_cache, path_gen_params),
	KUNIT_CASE_PARAM(paths_past_the_cache, path_gen_params),
	KUNIT_CASE(threshold_is_set_and_shown),
	KUNIT_CASE_PARAM(backend_clears_the_extent_alone, backend_gen_params),
	KUNIT_CASE_PARAM(extents_end_at_the_batch, batch_gen_params),
	KUNIT_CASE(batch_is_that_of_the_kernel),
	{}
};

static struct kunit_suite folio_zero_suite = {
	.name = "folio_zero",
	.test_cases = folio_zero_cases,
};

kunit_test_suite(folio_zero_suite);

MODULE_DESCRIPTION("KUnit tests for folio_zero()");
MODULE_LICENSE("GPL");
