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
#include <fcntl.h>
#include <fnmatch.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

enum use { NOTHING, WRITE_ALL, WRITE_16K, READ_ALL, NR_USES };

/* As in the kernel's: eight words a turn, from one alignment on */
__attribute__((noinline, aligned(64)))
static void write_words(volatile long *p, volatile long *end)
{
	for (; p < end; p += 8) {
		p[0] = 1;
		p[1] = 1;
		p[2] = 1;
		p[3] = 1;
		p[4] = 1;
		p[5] = 1;
		p[6] = 1;
		p[7] = 1;
	}
}

__attribute__((noinline, aligned(64)))
static void read_words(volatile long *p, volatile long *end)
{
	for (; p < end; p += 8)
		p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7];
}

static void use_region(char *p, size_t len, enum use use)
{
	size_t part = use == WRITE_16K && len > 16384 ? 16384 : len;

	if (use == READ_ALL)
		read_words((long *)p, (long *)(p + len));
	else if (use != NOTHING)
		write_words((long *)p, (long *)(p + part));
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int cmp(const void *a, const void *b)
{
	uint64_t x = *(uint64_t *)a, y = *(uint64_t *)b;

	return (x > y) - (x < y);
}

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
				use_region(mem + i * size, size, use);
			}
		}
		ns[round] = now() - start;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), cmp);
	return ns[ROUNDS / 2];
}

static int wanted(char **patterns, const char *name)
{
	if (!*patterns)
		return 1;
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return 1;
	return 0;
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
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	char name[4096];
	size_t w, s, c;
	char *mem;

	if (argc > 1 && *argv[1]) {
		snprintf(name, sizeof(name), "%s/zero_limits-XXXXXX", argv[1]);
		fd = mkstemp(name);
		if (fd < 0 || unlink(name) || posix_fallocate(fd, 0, total)) {
			fprintf(stderr, "no file of 1 GiB in %s\n", argv[1]);
			return 1;
		}
		flags = MAP_SHARED;
	}
	mem = mmap(NULL, total, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (mem == MAP_FAILED) {
		perror("mmap of 1 GiB");
		return 1;
	}
	if (fd < 0)
		madvise(mem, total, MADV_HUGEPAGE);
	memset(mem, 1, total);
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
