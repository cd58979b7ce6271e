/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_FOLIO_ZERO_H
#define _MM_FOLIO_ZERO_H
/*
 * Extents and their cache policy, for those who zero memory in mm/.
 *
 * See Documentation/mm/folio_zeroing.rst.
 */
#include <linux/compiler.h>
#include <linux/highmem.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>

struct kernel_param;

/*
 * Only where one kernel mapping of a page is as good as any other: no aliasing
 * caches, no tags to clear, no highmem.
 */
#if defined(clear_pages_nocache) && !defined(clear_user_page) && \
	!defined(clear_user_highpage) && !defined(CONFIG_HIGHMEM)
#define HAVE_ZERO_NOCACHE	1

extern unsigned int zero_nocache_min;
void zero_pages_nocache(void *addr, unsigned int nr_pages);
#if IS_ENABLED(CONFIG_KUNIT)
int zero_nocache_min_set(const char *val, const struct kernel_param *kp);
int zero_nocache_min_get(char *buffer, const struct kernel_param *kp);
#endif

/**
 * zero_past_cache - Should what is zeroed be left out of the cache?
 * @nr_pages: How much is zeroed in one go, in pages: the whole folio, not the
 *	      part of it that is at hand.
 *
 * The one place that decides. It goes by the size alone, since nothing here
 * knows what will be done with the memory. See folio_zero.nocache_min in
 * Documentation/admin-guide/kernel-parameters.txt.
 *
 * Context: Any.
 * Return: true from the threshold on.
 */
static inline bool zero_past_cache(unsigned long nr_pages)
{
	return nr_pages >= READ_ONCE(zero_nocache_min);
}
#else
#define HAVE_ZERO_NOCACHE	0

static inline bool zero_past_cache(unsigned long nr_pages)
{
	return false;
}

static inline void zero_pages_nocache(void *addr, unsigned int nr_pages)
{
}
#endif

/**
 * zero_linear_pages - Zero pages of the linear mapping.
 * @addr: Where they are mapped.
 * @nr_pages: How many: all that the caller has to zero.
 *
 * Context: Any.  Never reschedules.
 */
static inline void zero_linear_pages(void *addr, unsigned int nr_pages)
{
	if (zero_past_cache(nr_pages))
		zero_pages_nocache(addr, nr_pages);
	else
		clear_pages(addr, nr_pages);
}

/*
 * The most that may be cleared between two calls of cond_resched(), in pages:
 * clear_pages() and the like do not reschedule, and may be one instruction.
 */
static inline unsigned int zero_batch(unsigned int nr_pages)
{
	return preempt_model_preemptible() ? nr_pages : PROCESS_PAGES_NON_PREEMPT_BATCH;
}

typedef void (*clear_extent_fn)(struct page *page, unsigned long addr,
				unsigned int nr_pages);

/*
 * Clear @nr_pages from @page on, that user space sees at @addr if the clear
 * function wants to know, in extents of at most @batch pages.
 */
static __always_inline void zero_extents(struct page *page, unsigned long addr,
					 unsigned int nr_pages, unsigned int batch,
					 clear_extent_fn clear)
{
	unsigned int i, count;

	might_sleep();

	for (i = 0; i < nr_pages; i += count) {
		cond_resched();

		count = min(batch, nr_pages - i);
		clear(page + i, addr + i * PAGE_SIZE, count);
	}
}

void zero_user_extent(struct page *page, unsigned long addr, unsigned int nr_pages,
		      bool past_cache);

#endif /* _MM_FOLIO_ZERO_H */
