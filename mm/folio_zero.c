// SPDX-License-Identifier: GPL-2.0
/*
 * Zeroing of whole folios.
 *
 * See Documentation/mm/folio_zeroing.rst.
 */
#include <linux/export.h>
#include <linux/folio_zero.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "folio_zero.h"

#if HAVE_ZERO_NOCACHE
/* In pages; UINT_MAX: never */
unsigned int zero_nocache_min __read_mostly = UINT_MAX;
EXPORT_SYMBOL_IF_KUNIT(zero_nocache_min);

static bool zero_nocache_min_given;

VISIBLE_IF_KUNIT int zero_nocache_min_set(const char *val, const struct kernel_param *kp)
{
	unsigned long long bytes;
	char *end;

	bytes = memparse(val, &end);
	if (end == val || !sysfs_streq(end, ""))
		return -EINVAL;
	/* One page is what clear_page() is for; and it has to fit. */
	if (bytes && (bytes < 2 * PAGE_SIZE || bytes >> PAGE_SHIFT >= UINT_MAX - 1))
		return -ERANGE;

	WRITE_ONCE(zero_nocache_min, bytes ? PAGE_ALIGN(bytes) >> PAGE_SHIFT : UINT_MAX);
	zero_nocache_min_given = true;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(zero_nocache_min_set);

VISIBLE_IF_KUNIT int zero_nocache_min_get(char *buffer, const struct kernel_param *kp)
{
	const unsigned int nr_pages = READ_ONCE(zero_nocache_min);

	return sysfs_emit(buffer, "%llu\n", nr_pages == UINT_MAX ? 0 :
			  (unsigned long long)nr_pages << PAGE_SHIFT);
}
EXPORT_SYMBOL_IF_KUNIT(zero_nocache_min_get);

static const struct kernel_param_ops zero_nocache_min_ops = {
	.set = zero_nocache_min_set,
	.get = zero_nocache_min_get,
};
module_param_cb(nocache_min, &zero_nocache_min_ops, NULL, 0644);

static int __init zero_nocache_init(void)
{
	if (!zero_nocache_min_given && clear_pages_nocache_wins())
		WRITE_ONCE(zero_nocache_min, PMD_SIZE >> PAGE_SHIFT);
	return 0;
}
core_initcall(zero_nocache_init);

/* Not inline, so that a test can see who comes here. Context: any. */
void zero_pages_nocache(void *addr, unsigned int nr_pages)
{
	KUNIT_STATIC_STUB_REDIRECT(zero_pages_nocache, addr, nr_pages);
	clear_pages_nocache(addr, nr_pages);
}
EXPORT_SYMBOL_IF_KUNIT(zero_pages_nocache);
#endif /* HAVE_ZERO_NOCACHE */

static void clear_extent(struct page *page, unsigned long addr, unsigned int nr_pages)
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

static void clear_user_extent(struct page *page, unsigned long addr, unsigned int nr_pages)
{
	clear_user_highpages(page, addr, nr_pages);
}

static void clear_extent_nocache(struct page *page, unsigned long addr, unsigned int nr_pages)
{
	zero_pages_nocache(page_address(page), nr_pages);
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
 * cond_resched() between them.  From folio_zero.nocache_min on the folio is not
 * brought into the cache.
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
	const unsigned int batch = zero_batch(nr_pages);

	if (zero_past_cache(nr_pages))
		zero_extents(&folio->page, 0, nr_pages, batch, clear_extent_nocache);
	else
		zero_extents(&folio->page, 0, nr_pages, batch, clear_extent);

	flush_dcache_folio(folio);
}
EXPORT_SYMBOL_GPL(folio_zero);

/**
 * zero_user_extent - Zero pages that are about to be mapped at a user address.
 * @page: The first of them, all of one folio.
 * @addr: The user address of that page.
 * @nr_pages: How many.
 * @past_cache: Leave them out of the cache: zero_past_cache() of the folio, and
 *		the pages are not those that are used next.
 *
 * Context: Process context.  May sleep, see folio_zero().
 */
void zero_user_extent(struct page *page, unsigned long addr, unsigned int nr_pages,
		      bool past_cache)
{
	const unsigned int batch = zero_batch(nr_pages);

	if (past_cache)
		zero_extents(page, addr, nr_pages, batch, clear_extent_nocache);
	else
		zero_extents(page, addr, nr_pages, batch, clear_user_extent);
}
