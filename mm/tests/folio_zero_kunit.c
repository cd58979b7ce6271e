// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for folio_zero().
 */
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
 * ends.  Skips the test when memory is short.
 */
static struct folio *dirty_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_HIGHUSER | __GFP_NOWARN | __GFP_NORETRY,
					  order);

	if (!folio)
		kunit_skip(test, "no memory for a folio of order %u", order);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_folio, folio));

	soil(folio);
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

static struct kunit_case folio_zero_cases[] = {
	KUNIT_CASE_PARAM(folio_zero_clears_every_byte, order_params),
	KUNIT_CASE_PARAM(folio_zero_spares_neighbours, order_params),
	KUNIT_CASE_PARAM(folio_zero_leaves_flags_alone, order_params),
	{}
};

static struct kunit_suite folio_zero_suite = {
	.name = "folio_zero",
	.test_cases = folio_zero_cases,
};

kunit_test_suite(folio_zero_suite);

MODULE_DESCRIPTION("KUnit tests for folio_zero()");
MODULE_LICENSE("GPL");
