// SPDX-License-Identifier: GPL-2.0
/*
 * How fast this CPU zeroes memory, by the instructions that the kernel has to
 * choose from. Run by `make bench RIG=user`.
 *
 * Regions of 4 KiB, 64 KiB and 2 MiB are taken in turn out of 256 MiB that have
 * been touched before. Prints the median of ROUNDS passes in GB/s, and what the
 * fastest and slowest pass were.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <immintrin.h>

#define TOTAL	(256UL << 20)
#define ROUNDS	9

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

static int cmp(const void *a, const void *b)
{
	double x = *(double *)a, y = *(double *)b;

	return (x > y) - (x < y);
}

static double pass(void (*zero)(char *, size_t), char *mem, size_t unit)
{
	struct timespec a, b;
	size_t pos;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (pos = 0; pos < TOTAL; pos += unit)
		zero(mem + pos, unit);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return TOTAL / ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec));
}

int main(void)
{
	static const struct {
		const char *name;
		void (*zero)(char *p, size_t len);
	} ways[] = {
		{ "mov loop (memset without FSRS)", mov_loop },
		{ "rep stosb, a page at a time", rep_stosb_pages },
		{ "rep stosb, one extent", rep_stosb },
		{ "movnti, one extent", movnti },
	};
	static const size_t units[] = { 4096, 65536, 2 << 20 };
	char *mem = mmap(NULL, TOTAL, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t w, u, r;

	if (mem == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(mem, TOTAL, MADV_HUGEPAGE);
	memset(mem, 1, TOTAL);
	printf("GB/s, median of %d passes over %lu MiB [slowest, fastest]\n",
	       ROUNDS, TOTAL >> 20);
	printf("%-32s %22s %22s %22s\n", "", "4 KiB", "64 KiB", "2 MiB");
	for (w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		printf("%-32s", ways[w].name);
		for (u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
			double t[ROUNDS];

			for (r = 0; r < ROUNDS; r++)
				t[r] = pass(ways[w].zero, mem, units[u]);
			qsort(t, ROUNDS, sizeof(t[0]), cmp);
			printf(" %6.1f [%5.1f, %5.1f]", t[ROUNDS / 2], t[0], t[ROUNDS - 1]);
		}
		printf("\n");
	}
	return 0;
}
