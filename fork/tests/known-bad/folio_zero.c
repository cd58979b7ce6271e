// SPDX-License-Identifier: GPL-2.0
/*
 * scripts/coccinelle/api/folio_zero.cocci has to report the lines that end in
 * BAD, and no other. Nothing compiles this.
 */
#include <linux/highmem.h>

static void size_written_out(struct folio *folio, struct folio *other)
{
	folio_zero_range(folio, 0, folio_size(folio));			/* BAD */
	folio_zero_segment(folio, 0, folio_size(folio));		/* BAD */
	folio_zero_segments(folio, 0, folio_size(folio), 0, 0);		/* BAD */
	folio_zero_range(folio->next, 0, folio_size(folio->next));	/* BAD */

	folio_zero_range(folio, 0, PAGE_SIZE);
	folio_zero_range(folio, 4, folio_size(folio) - 4);
	folio_zero_segment(folio, 4, folio_size(folio));
	folio_zero_segment(folio, 0, folio_size(other));
	folio_zero_segments(folio, 0, 4, 8, folio_size(folio));
}

static void size_in_a_local(struct folio *folio)
{
	size_t size = folio_size(folio);

	folio_zero_range(folio, 0, size);				/* BAD */
}

static void size_on_a_branch(struct folio **foliop, bool zeroing, unsigned int offset)
{
	struct folio *folio = *foliop;
	size_t size;

	if (folio) {
		size = folio_size(folio);
		if (zeroing) {
			if (offset)
				folio_zero_segments(folio, 0, offset, offset + 4, size);
			else
				folio_zero_range(folio, 0, size);	/* BAD */
		}
	}
}

static void size_of_each(struct list_head *head)
{
	struct folio *folio;

	list_for_each_entry(folio, head, lru) {
		size_t size = folio_size(folio);

		folio_zero_segment(folio, 0, size);			/* BAD */
	}
}

static void size_is_another(struct folio *folio, size_t len)
{
	size_t size = folio_size(folio);

	if (len < size)
		size = len;
	folio_zero_range(folio, 0, size);
}

static void size_was_another(struct folio *folio, bool large)
{
	size_t size = PAGE_SIZE;

	if (large)
		size = folio_size(folio);
	folio_zero_range(folio, 0, size);
}

static void size_is_less(struct folio *folio, size_t len)
{
	size_t size = folio_size(folio);

	size -= len;
	folio_zero_range(folio, 0, size);
}

static void size_of_another(struct folio *folio, struct folio *other, bool swap)
{
	size_t size = folio_size(folio);

	if (swap)
		folio = other;
	folio_zero_range(folio, 0, size);
}

static void folio_through_a_pointer(struct folio *folio)
{
	size_t size = folio_size(folio);

	next_folio(&folio);
	folio_zero_range(folio, 0, size);
}

static void folio_behind_a_pointer(struct folio **foliop)
{
	size_t size = folio_size(*foliop);

	next_folio(foliop);
	folio_zero_range(*foliop, 0, size);
}

static void size_through_a_pointer(struct folio *folio)
{
	size_t size = folio_size(folio);

	clamp_size(&size);
	folio_zero_range(folio, 0, size);
}

static void loops(struct folio *folio)
{
	long i, nr = folio_nr_pages(folio);

	for (i = 0; i < nr; i++)
		clear_highpage(folio_page(folio, i));			/* BAD */
	for (i = 0; i < folio_nr_pages(folio); ++i) {
		clear_highpage(folio_page(folio, 0) + i);		/* BAD */
	}
	for (int j = 0; j < 1 << folio_order(folio); j++)
		clear_highpage(folio_page(folio, j));			/* BAD */

	for (i = 1; i < nr; i++)
		clear_highpage(folio_page(folio, i));
	for (i = 0; i < nr; i += 2)
		clear_highpage(folio_page(folio, i));
	for (i = 0; i < nr; i++)
		clear_highpage(folio_page(folio, 0));
	for (i = 0; i < nr; i++)
		if (is_hole(folio, i))
			clear_highpage(folio_page(folio, i));
}

static void nr_is_another(struct folio *folio, long max)
{
	long i, nr = folio_nr_pages(folio);

	nr = min(nr, max);
	for (i = 0; i < nr; i++)
		clear_highpage(folio_page(folio, i));
}

static void flushes(struct folio *folio, struct folio *other)
{
	folio_zero(folio);
	flush_dcache_folio(folio);					/* BAD */

	folio_zero(folio);
	flush_dcache_folio(other);

	folio_zero(folio);
	memcpy_to_folio(folio, 0, "data", 4);
	flush_dcache_folio(folio);
}
