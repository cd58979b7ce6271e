// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the core of copy_user_large_folio(), with memory that fails
 * where the test wants it to.
 */
#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../folio_copy.h"

#define UNTOUCHED	0xa5
#define MAX_SIZE	SZ_2M		/* of a folio, two of which have to be had */
#define ADDR		0x40000000UL	/* where the target is to be mapped */
#define NO_POISON	UINT_MAX

/* The source of the test that runs, what fails in it, and what was called. */
static struct {
	struct page *from, *to;
	struct vm_area_struct vma;	/* passed on, not looked into */
	unsigned int poisoned;		/* index of this page, or NO_POISON */
	unsigned long offset;		/* of the first poisoned byte in it */
	unsigned long early;		/* a run ends so many bytes before that */
	bool transient;			/* reading once more helps */
	bool no_runs;
	unsigned int batch;

	unsigned int next;		/* the page that has to be the next one */
	unsigned int ones;		/* pages copied alone, or tried to */
	unsigned int nr_queued;
	unsigned long queued_pfn;
	const char *wrong;		/* the first call that was wrong */
} mem;

static void wrong_if(bool condition, const char *what)
{
	if (condition && !mem.wrong)
		mem.wrong = what;
}

/* The part of copy_mc_to_kernel() */
static unsigned long fake_run(struct page *to, struct page *from, unsigned long len)
{
	const unsigned long start = mem.next * PAGE_SIZE;
	unsigned long stop = start + len;

	wrong_if(from != mem.from + mem.next || to != mem.to + mem.next, "start of a run");
	wrong_if(!len || len % PAGE_SIZE, "length of a run");
	wrong_if(len > mem.batch * PAGE_SIZE, "run longer than the batch");
	if (mem.no_runs)
		return len;

	if (mem.poisoned != NO_POISON) {
		unsigned long poison = mem.poisoned * PAGE_SIZE + mem.offset;

		if (poison >= start && poison < stop)
			stop = max(start, poison - min(poison, mem.early));
	}
	memcpy(page_address(to), page_address(from), stop - start);
	mem.next += (stop - start) / PAGE_SIZE;
	return start + len - stop;
}

/* The part of copy_mc_user_highpage() */
static int fake_one(struct page *to, struct page *from, unsigned long vaddr,
		    struct vm_area_struct *vma)
{
	wrong_if(from != mem.from + mem.next || to != mem.to + mem.next, "page");
	wrong_if(vaddr != ADDR + mem.next * PAGE_SIZE, "address of a page");
	wrong_if(vma != &mem.vma, "vma");

	mem.ones++;
	if (mem.next == mem.poisoned && !mem.transient) {
		memcpy(page_address(to), page_address(from), mem.offset);
		mem.queued_pfn = page_to_pfn(from);
		mem.nr_queued++;
		return PAGE_SIZE - mem.offset;
	}
	memcpy(page_address(to), page_address(from), PAGE_SIZE);
	mem.next++;
	return 0;
}

static void put_folio(void *folio)
{
	folio_put(folio);
}

static struct folio *get_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY, order);

	if (!folio)
		kunit_skip(test, "no memory for a folio of order %u", order);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_folio, folio));
	return folio;
}

/* Two folios, no page of the source like another one. */
static void get_folios(struct kunit *test, unsigned int order, struct folio **dst,
		       struct folio **src)
{
	unsigned long i, words;

	*dst = get_folio(test, order);
	*src = get_folio(test, order);
	words = folio_size(*src) / sizeof(long);
	for (i = 0; i < words; i++)
		((unsigned long *)folio_address(*src))[i] = i + 1;

	memset(&mem, 0, sizeof(mem));
	mem.from = folio_page(*src, 0);
	mem.to = folio_page(*dst, 0);
	mem.poisoned = NO_POISON;
}

static int copy(struct folio *dst, struct folio *src, unsigned int batch)
{
	memset(folio_address(dst), UNTOUCHED, folio_size(dst));
	mem.batch = batch;
	mem.next = 0;
	mem.ones = 0;
	mem.nr_queued = 0;
	cond_resched();
	return copy_folio_by_runs(dst, src, ADDR, &mem.vma, batch, fake_run, fake_one);
}

static bool same(struct folio *dst, struct folio *src, unsigned long len)
{
	return !memcmp(folio_address(dst), folio_address(src), len);
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

/* Whole folios, by runs that fit into them and others. */
static void folio_copy_copies_every_byte(struct kunit *test)
{
	const unsigned int nr = 1U << order_of(test);
	const unsigned int batches[] = { 1, 2, 3, 7, max(nr, 2U) - 1, nr, nr + 1, UINT_MAX };
	struct folio *dst, *src;
	int i, no_runs;

	get_folios(test, order_of(test), &dst, &src);
	for (no_runs = 0; no_runs < 2; no_runs++) {
		mem.no_runs = no_runs;
		for (i = 0; i < ARRAY_SIZE(batches); i++) {
			KUNIT_EXPECT_EQ(test, 0, copy(dst, src, batches[i]));
			KUNIT_EXPECT_TRUE_MSG(test, same(dst, src, folio_size(src)),
					      "batch %u", batches[i]);
			KUNIT_EXPECT_EQ(test, mem.next, nr);
			KUNIT_EXPECT_EQ(test, mem.ones, no_runs ? nr : 0);
			KUNIT_EXPECT_EQ(test, mem.nr_queued, 0);
		}
	}
	KUNIT_EXPECT_STREQ(test, mem.wrong ?: "", "");
}

/* One copy that meets poison: what was reported, and how far it got. */
static bool stops_at_poison(struct kunit *test, struct folio *dst, struct folio *src,
			    unsigned int batch)
{
	const unsigned long good = mem.poisoned * PAGE_SIZE, bad = good + PAGE_SIZE;
	const unsigned long pfn = folio_pfn(src) + mem.poisoned;
	int err = copy(dst, src, batch);

	KUNIT_EXPECT_EQ(test, err, -EHWPOISON);
	KUNIT_EXPECT_EQ(test, mem.nr_queued, 1);
	KUNIT_EXPECT_EQ(test, mem.queued_pfn, pfn);
	KUNIT_EXPECT_TRUE(test, same(dst, src, good));
	KUNIT_EXPECT_NULL(test, memchr_inv(folio_address(dst) + bad, UNTOUCHED,
					   folio_size(dst) - bad));
	KUNIT_EXPECT_STREQ(test, mem.wrong ?: "", "");

	return err == -EHWPOISON && mem.nr_queued == 1 && mem.queued_pfn == pfn && !mem.wrong;
}

static const unsigned long offsets[] = { 0, 64, PAGE_SIZE / 2, PAGE_SIZE - 64 };
static const unsigned long early[] = { 0, 8, 64, 256, PAGE_SIZE + 64 };

#define NR_KINDS	(ARRAY_SIZE(offsets) * ARRAY_SIZE(early))

static bool poison_everywhere(struct kunit *test, struct folio *dst, struct folio *src)
{
	const unsigned int nr = folio_nr_pages(src);
	const unsigned int step = max(nr / 16, 1U);
	/* One kind of poison in turn where all of them would take minutes */
	const unsigned int kinds = step > 1 ? 1 : NR_KINDS;
	unsigned int batch, i, k, turn = 0;

	for (batch = 1; batch <= nr + step; batch += step) {
		for (i = 0; i < nr / step * kinds; i++) {
			k = turn++ % NR_KINDS;
			mem.poisoned = i / kinds * step;
			mem.offset = offsets[k % ARRAY_SIZE(offsets)];
			mem.early = early[k / ARRAY_SIZE(offsets)];
			if (stops_at_poison(test, dst, src, batch))
				continue;
			KUNIT_FAIL(test, "batch %u, poison in page %u at %lu, a run ends %lu early",
				   batch, mem.poisoned, mem.offset, mem.early);
			return false;
		}
	}
	return true;
}

/* Every page, in runs of every length: that page is reported, and no other. */
static void folio_copy_reports_the_poisoned_page(struct kunit *test)
{
	struct folio *dst, *src;

	get_folios(test, order_of(test), &dst, &src);
	if (!poison_everywhere(test, dst, src))
		return;
	mem.no_runs = true;
	poison_everywhere(test, dst, src);
}

/* A run ends early, but each of its pages can be read. */
static void folio_copy_survives_a_transient_error(struct kunit *test)
{
	const unsigned int nr = 1U << order_of(test);
	const unsigned int batches[] = { 1, 3, nr };
	struct folio *dst, *src;
	int i;

	get_folios(test, order_of(test), &dst, &src);
	mem.transient = true;
	mem.poisoned = nr / 2;
	mem.offset = 128;
	for (i = 0; i < ARRAY_SIZE(batches); i++) {
		KUNIT_EXPECT_EQ(test, 0, copy(dst, src, batches[i]));
		KUNIT_EXPECT_TRUE(test, same(dst, src, folio_size(src)));
		KUNIT_EXPECT_EQ(test, mem.next, nr);
		KUNIT_EXPECT_GE(test, mem.ones, 1);
		KUNIT_EXPECT_LE(test, mem.ones, batches[i]);
		KUNIT_EXPECT_EQ(test, mem.nr_queued, 0);
	}
	KUNIT_EXPECT_STREQ(test, mem.wrong ?: "", "");
}

static struct kunit_case folio_copy_cases[] = {
	KUNIT_CASE_PARAM(folio_copy_copies_every_byte, order_params),
	KUNIT_CASE_PARAM(folio_copy_reports_the_poisoned_page, order_params),
	KUNIT_CASE_PARAM(folio_copy_survives_a_transient_error, order_params),
	{}
};

static struct kunit_suite folio_copy_suite = {
	.name = "folio_copy",
	.test_cases = folio_copy_cases,
};

kunit_test_suite(folio_copy_suite);

MODULE_DESCRIPTION("KUnit tests for copying large folios");
MODULE_LICENSE("GPL");
