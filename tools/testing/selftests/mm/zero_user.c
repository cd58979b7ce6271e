// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte of a huge page reads as zero when it is first mapped, wherever the
 * fault was: anonymous memory with THP, and hugetlb, through the cache and past
 * it (folio_zero.nocache_min).
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hugepage_settings.h"
#include "vm_util.h"

#define NOCACHE_MIN	"/sys/module/folio_zero/parameters/nocache_min"
#define NR_PAGES	4	/* huge ones, mapped at once */

HUGETLB_SETUP_DEFAULT_PAGES(NR_PAGES)

FIXTURE(zero_user)
{
	size_t size;		/* of a huge page */
	size_t page;
	char was[32];		/* NOCACHE_MIN before, or empty */
};

FIXTURE_VARIANT(zero_user)
{
	bool hugetlb;
	const char *nocache_min;
};

FIXTURE_VARIANT_ADD(zero_user, thp)
{
	.nocache_min = "0",
};

FIXTURE_VARIANT_ADD(zero_user, thp_past_cache)
{
	.nocache_min = "64K",
};

FIXTURE_VARIANT_ADD(zero_user, hugetlb)
{
	.hugetlb = true,
	.nocache_min = "0",
};

FIXTURE_VARIANT_ADD(zero_user, hugetlb_past_cache)
{
	.hugetlb = true,
	.nocache_min = "64K",
};

FIXTURE_SETUP(zero_user)
{
	self->page = getpagesize();
	self->size = variant->hugetlb ? default_huge_page_size() : read_pmd_pagesize();
	if (!self->size)
		SKIP(return, "no huge pages in this kernel");
	if (self->size > 64UL << 20)
		SKIP(return, "huge pages of %zu MiB take too long", self->size >> 20);
	if (variant->hugetlb && hugetlb_free_default_pages() < NR_PAGES)
		SKIP(return, "needs %d free huge pages", NR_PAGES);

	if (read_file(NOCACHE_MIN, self->was, sizeof(self->was)) <= 0) {
		self->was[0] = '\0';
		if (strcmp(variant->nocache_min, "0"))
			SKIP(return, "everything is zeroed through the cache here");
	} else {
		if (access(NOCACHE_MIN, W_OK))
			SKIP(return, "setting %s needs root", NOCACHE_MIN);
		write_file(NOCACHE_MIN, variant->nocache_min, strlen(variant->nocache_min) + 1);
	}
}

/* In the parent, which outlives a test that takes too long */
FIXTURE_TEARDOWN_PARENT(zero_user)
{
	if (self->was[0])
		write_file(NOCACHE_MIN, self->was, strlen(self->was) + 1);
}

/* NR_PAGES huge pages, none of them there yet; *start and *len are to unmap. */
static char *map(size_t size, bool hugetlb, char **start, size_t *len)
{
	char *mem;

	*len = (NR_PAGES + !hugetlb) * size;
	*start = mmap(NULL, *len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | (hugetlb ? MAP_HUGETLB : 0), -1, 0);
	if (*start == MAP_FAILED)
		return NULL;
	mem = (char *)(((uintptr_t)*start + size - 1) & ~(size - 1));
	if (!hugetlb && madvise(mem, NR_PAGES * size, MADV_HUGEPAGE)) {
		munmap(*start, *len);
		return NULL;
	}
	return mem;
}

static bool is_filled(const char *mem, char byte, size_t len)
{
	return !len || (mem[0] == byte && !memcmp(mem, mem + 1, len - 1));
}

TEST_F(zero_user, every_byte)
{
	const size_t size = self->size, page = self->page;
	const size_t hints[] = {
		0, page, 3 * page + 7, size / 2 - 1, size / 2, size - 3 * page, size - 1,
	};
	char *start, *mem;
	size_t i, p, len;

	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		/* Free huge pages that are full of something else */
		mem = map(size, variant->hugetlb, &start, &len);
		if (!mem)
			SKIP(return, "no huge pages to be had");
		memset(mem, 0xff, NR_PAGES * size);
		munmap(start, len);

		mem = map(size, variant->hugetlb, &start, &len);
		ASSERT_NE(mem, NULL);
		for (p = 0; p < NR_PAGES; p++) {
			char *at = mem + p * size + hints[i];

			*at = 'x';
			if (!variant->hugetlb && !check_huge_anon(mem, (p + 1) * size, p + 1, size))
				SKIP(return, "the fault got no huge page");
			ASSERT_EQ(*at, 'x');
			*at = 0;
			ASSERT_TRUE(is_filled(mem + p * size, 0, size))
				TH_LOG("not all zero, fault at %zu", hints[i]);
		}
		munmap(start, len);
	}
}

TEST_HARNESS_MAIN
