// SPDX-License-Identifier: GPL-2.0
/*
 * zero_limits [DIR [PATTERN...]]: how fast this CPU zeroes memory, by the
 * instructions that the kernel has to choose from: the limit beside which the
 * kernel's own zeroing is shown.
 *
 * The same regions, orders of access and result lines as the cases zero/ of
 * mm/tests/folio_bench.c. The memory is a file in DIR (/dev/shm: what UML's
 * memory is, in pages of 4 KiB), or without DIR anonymous, in huge pages if
 * they can be had. It has been touched before. The largest N of 4K and 64K is
 * 256 MiB of them, which no cache holds.
 */
#include <cpuid.h>
#include <immintrin.h>

#include "limits.h"

#define ROUNDS	3

/* As x86's memset() without FSRS: 8-byte stores, 64 bytes a turn */
static void mov_loop(char *p, size_t len)
{
	uint64_t *q = (uint64_t *)p, *end = (uint64_t *)(p + len);

	for (; q < end; q += 8)
		asm volatile("movq %1, (%0)\n\tmovq %1, 8(%0)\n\t"
			     "movq %1, 16(%0)\n\tmovq %1, 24(%0)\n\t"
			     "movq %1, 32(%0)\n\tmovq %1, 40(%0)\n\t"
			     "movq %1, 48(%0)\n\tmovq %1, 56(%0)"
			     :: "r"(q), "r"(0UL) : "memory");
}

static void rep_stosb(char *p, size_t len)
{
	asm volatile("rep stosb" : "+D"(p), "+c"(len) : "a"(0) : "memory");
}

/* clear_page() for each page: the extent is 4 KiB */
static void rep_stosb_pages(char *p, size_t len)
{
	for (; len; len -= 4096, p += 4096)
		rep_stosb(p, 4096);
}

static void movnti(char *p, size_t len)
{
	for (; len; len -= 8, p += 8)
		_mm_stream_si64((long long *)p, 0);
	_mm_sfence();
}

static void clzero(char *p, size_t len)
{
	for (; len; len -= 64, p += 64)
		asm volatile(".byte 0x0f, 0x01, 0xfc" :: "a"(p) : "memory");
	_mm_sfence();
}

static int has_clzero(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000008, &a, &b, &c, &d) && (b & 1);
}

static const struct way {
	const char *name;
	void (*zero)(char *p, size_t len);
} ways[] = {
	{ "mov_loop", mov_loop },
	{ "rep_stosb-by-page", rep_stosb_pages },
	{ "rep_stosb", rep_stosb },
	{ "movnti", movnti },
	{ "clzero", clzero },
};

static uint64_t run(const struct way *way, char *mem, size_t size, unsigned int n,
		    unsigned int passes, enum use use)
{
	uint64_t ns[ROUNDS];
	unsigned int round, pass, i;

	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = now();

		for (pass = 0; pass < passes; pass++) {
			for (i = 0; i < n; i++) {
				way->zero(mem + i * size, size);
				use_region(mem + i * size, size, 0, use);
			}
		}
		ns[round] = now() - start;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), cmp);
	return ns[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t size;
		unsigned int counts[4];
	} sizes[] = {
		{ "4K", 4096, { 1, 100, 512, 65536 } },
		{ "64K", 65536, { 1, 100, 512, 4096 } },
		{ "2M", 2 << 20, { 1, 100, 512 } },
	};
	const size_t total = 512UL << 21;
	char name[4096], *mem = get(argc > 1 ? argv[1] : NULL, total);
	size_t w, s, c;

	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (c = 0; c < 4 && sizes[s].counts[c]; c++) {
			for (w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
				const unsigned int n = sizes[s].counts[c], passes = n < 64 ? 64 / n : 1;
				const struct way *way = &ways[w];

				snprintf(name, sizeof(name), "limit/%s/n-%u/%s", sizes[s].name, n,
					 way->name);
				if (!wanted(argv + (argc > 1 ? 2 : 1), name))
					continue;
				if (way->zero == clzero && !has_clzero()) {
					printf("%s n/a not in this CPU\n", name);
					continue;
				}
				printf("%s ops=%u", name, n * passes);
				printf(" ns=%llu", (unsigned long long)
				       run(way, mem, sizes[s].size, n, passes, NOTHING));
				printf(" write_ns=%llu", (unsigned long long)
				       run(way, mem, sizes[s].size, n, passes, WRITE_ALL));
				printf(" write16k_ns=%llu", (unsigned long long)
				       run(way, mem, sizes[s].size, n, passes, WRITE_16K));
				printf(" read_ns=%llu\n", (unsigned long long)
				       run(way, mem, sizes[s].size, n, passes, READ_ALL));
				fflush(stdout);
			}
		}
	}
	return 0;
}
