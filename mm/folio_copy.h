/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core of copy_user_large_folio(), apart so that mm/tests/folio_copy_kunit.c
 * can let memory fail.
 */
#ifndef _MM_FOLIO_COPY_H
#define _MM_FOLIO_COPY_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>

/*
 * Copies @len bytes, which are whole pages, and returns how many of them it did
 * not copy for an error in @from; or all of @len where pages are to be copied
 * one by one.
 */
typedef unsigned long (*copy_run_fn)(struct page *to, struct page *from,
				     unsigned long len);

/* copy_mc_user_highpage(): not 0 for a poisoned page, which it has reported */
typedef int (*copy_one_fn)(struct page *to, struct page *from,
			   unsigned long vaddr, struct vm_area_struct *vma);

/*
 * Copy @src to @dst, which is to be mapped at @addr, in runs of @batch pages
 * with cond_resched() before each, and behind each page that is copied alone.
 *
 * When a run ends early, the rest of it is copied page by page: how close to the
 * poison a run gets is the CPU's business, so the first byte that is missing may
 * be in a page that is good.  The page that cannot be copied alone is the one.
 */
static __always_inline int
copy_folio_by_runs(struct folio *dst, struct folio *src, unsigned long addr,
		   struct vm_area_struct *vma, unsigned int batch,
		   copy_run_fn copy_run, copy_one_fn copy_one)
{
	const unsigned int nr_pages = folio_nr_pages(dst);
	unsigned int i = 0;

	might_sleep();

	while (i < nr_pages) {
		const unsigned int count = min(batch, nr_pages - i), end = i + count;
		const unsigned long len = count * PAGE_SIZE;
		unsigned long left;

		cond_resched();

		left = copy_run(folio_page(dst, i), folio_page(src, i), len);
		for (i += (len - left) / PAGE_SIZE; i < end; i++) {
			if (copy_one(folio_page(dst, i), folio_page(src, i),
				     addr + i * PAGE_SIZE, vma))
				return -EHWPOISON;
			cond_resched();
		}
	}
	return 0;
}

#endif /* _MM_FOLIO_COPY_H */
