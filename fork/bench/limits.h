/* SPDX-License-Identifier: GPL-2.0 */
/* What zero_limits and copy_limits share: memory, what is done with it, time. */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

/* The 16 KiB lie around the page of the hint. */
static void use_region(char *p, size_t len, size_t hint, enum use use)
{
	size_t part = use == WRITE_16K && len > 16384 ? 16384 : len;
	size_t a = hint < 2 ? 0 : (hint - 2) * 4096;

	if (a > len - part)
		a = len - part;
	if (use == READ_ALL)
		read_words((long *)p, (long *)(p + len));
	else if (use != NOTHING)
		write_words((long *)(p + a), (long *)(p + a + part));
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

static int wanted(char **patterns, const char *name)
{
	if (!*patterns)
		return 1;
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return 1;
	return 0;
}

/* @total bytes that have been touched: a file in @dir, or in huge pages if they can be had */
static char *get(const char *dir, size_t total)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	char name[4096], *mem;

	if (dir && *dir) {
		snprintf(name, sizeof(name), "%s/limits-XXXXXX", dir);
		fd = mkstemp(name);
		if (fd < 0 || unlink(name) || posix_fallocate(fd, 0, total)) {
			fprintf(stderr, "no file of %zu MiB in %s\n", total >> 20, dir);
			exit(1);
		}
		flags = MAP_SHARED;
	}
	mem = mmap(NULL, total + (2 << 20), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (mem == MAP_FAILED) {
		fprintf(stderr, "no %zu MiB of memory\n", total >> 20);
		exit(1);
	}
	if (fd < 0) {
		mem += -(uintptr_t)mem & ((2 << 20) - 1);
		madvise(mem, total, MADV_HUGEPAGE);
	}
	memset(mem, 1, total);
	return mem;
}
