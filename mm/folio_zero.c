// SPDX-License-Identifier: GPL-2.0
/*
 * Zeroing of whole folios.
 *
 * See Documentation/mm/folio_zeroing.rst.
 */
#include <linux/folio_zero.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <kunit/visibility.h>

static void clear_extent(struct page *page, unsigned int nr_pages)
{
#if defined(CONFIG_HIGHMEM) || defined(ARCH_HAS_FLUSH_ON_KUNMAP)
	/* Each page needs a mapping, or a flush when that mapping goes. */
	do {
		clear_highpage(page++);
	} while (--nr_pages);
#else
	clear_pages(page_address(page), nr_pages);
#endif
}

/**
 * folio_zero - Zero a whole folio.
 * @folio: The folio: locked, or not yet visible to anybody else.
 *
 * Clears all folio_size(@folio) bytes, of any order, through the kernel's
 * mapping and flushes the data cache for user mappings that alias it: the
 * caller neither maps the folio nor calls flush_dcache_folio().  Flags are left
 * alone.  The caller sets PG_uptodate afterwards, never before:
 * folio_mark_uptodate() orders the zeroes in front of it.
 *
 * The folio is cleared in the largest extents that the architecture's
 * clear_pages() takes.  clear_pages() does not reschedule, so a kernel that
 * cannot preempt it gets extents of PROCESS_PAGES_NON_PREEMPT_BATCH pages, with
 * cond_resched() between them.
 *
 * To zero a part of a folio use folio_zero_range() or folio_zero_segment();
 * for a folio that is about to be mapped at a known user address use
 * folio_zero_user(), which handles aliasing by address and keeps the
 * neighbourhood of the fault in the cache.
 *
 * Context: Process context.  May sleep: no spinlock or page table lock may be
 * held, and no kmap_atomic() mapping.
 */
void folio_zero(struct folio *folio)
{
	const unsigned int nr_pages = folio_nr_pages(folio);
	const unsigned int unit = preempt_model_preemptible() ?
				  nr_pages : PROCESS_PAGES_NON_PREEMPT_BATCH;
	unsigned int i, count;

	might_sleep();

	for (i = 0; i < nr_pages; i += count) {
		cond_resched();

		count = min(unit, nr_pages - i);
		clear_extent(folio_page(folio, i), count);
	}

	flush_dcache_folio(folio);
}
EXPORT_SYMBOL_IF_KUNIT(folio_zero);
