// SPDX-License-Identifier: GPL-2.0
/*
 * copy_limits [DIR [PATTERN...]]: how fast this CPU copies a large folio, by the
 * order of the pages and by the instruction: what is behind
 * copy_user_large_folio().
 *
 * Source and target are TOTAL bytes each, more than a cache holds, and the
 * regions are visited in a shuffled order, so each copy finds both cold. The
 * WAYs take turns from region to region, so what else the machine does hits all
 * alike; the median of a region is printed, in ns.
 *
 * The memory is a file in DIR (/dev/shm: what UML's memory is, in pages of
 * 4 KiB), or without DIR anonymous, in huge pages if they can be had.
 */
#include "limits.h"

#define PAGE	4096UL
#define ROUNDS	8	/* for each way and region */
#define MAX_N	12288

typedef void (*copy_fn)(char *to, const char *from, size_t len);

static inline void rep_movsb(char *to, const char *from, size_t len)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) :: "memory");
}

/* As memcpy() without FSRM, and as copy_page() without REP_GOOD: 8-byte moves, 32 bytes a turn */
static inline void mov_loop(char *to, const char *from, size_t len)
{
	const char *end = from + len;

	for (; from < end; from += 32, to += 32)
		asm volatile("movq (%1), %%r8\n\tmovq 8(%1), %%r9\n\t"
			     "movq 16(%1), %%r10\n\tmovq 24(%1), %%r11\n\t"
			     "movq %%r8, (%0)\n\tmovq %%r9, 8(%0)\n\t"
			     "movq %%r10, 16(%0)\n\tmovq %%r11, 24(%0)"
			     :: "r"(to), "r"(from) : "r8", "r9", "r10", "r11", "memory");
}

enum order { CONVERGE, ASCEND, RUN, NEAR_LAST };

/* From the ends towards the page of the hint, which is the last: process_huge_page() */
static inline __attribute__((always_inline))
void converge(char *to, const char *from, size_t n, size_t hint, copy_fn copy)
{
	size_t i, base, l;
	long j;

	if (2 * hint <= n) {
		base = 0;
		l = hint;
		for (j = n - 1; j >= (long)(2 * hint); j--)
			copy(to + j * PAGE, from + j * PAGE, PAGE);
	} else {
		base = n - 2 * (n - hint);
		l = n - hint;
		for (i = 0; i < base; i++)
			copy(to + i * PAGE, from + i * PAGE, PAGE);
	}
	for (i = 0; i < l; i++) {
		size_t left = base + i, right = base + 2 * l - 1 - i;

		copy(to + left * PAGE, from + left * PAGE, PAGE);
		copy(to + right * PAGE, from + right * PAGE, PAGE);
	}
}

static inline __attribute__((always_inline))
void copy_in(enum order order, char *to, const char *from, size_t len, size_t hint, copy_fn copy)
{
	const size_t n = len / PAGE;
	size_t i, a, b;

	switch (order) {
	case CONVERGE:
		converge(to, from, n, hint, copy);
		break;
	case ASCEND:
		for (i = 0; i < n; i++)
			copy(to + i * PAGE, from + i * PAGE, PAGE);
		break;
	case RUN:
		copy(to, from, len);
		break;
	case NEAR_LAST:	/* as folio_zero_user(): two pages on each side of the hint */
		a = hint < 2 ? 0 : hint - 2;
		b = hint + 3 > n ? n : hint + 3;
		if (b < n)
			copy(to + b * PAGE, from + b * PAGE, (n - b) * PAGE);
		if (a)
			copy(to, from, a * PAGE);
		copy(to + a * PAGE, from + a * PAGE, (b - a) * PAGE);
		break;
	}
}

static __attribute__((noinline))
void by_movsb(enum order order, char *to, const char *from, size_t len, size_t hint)
{
	copy_in(order, to, from, len, hint, rep_movsb);
}

static __attribute__((noinline))
void by_mov(enum order order, char *to, const char *from, size_t len, size_t hint)
{
	copy_in(order, to, from, len, hint, mov_loop);
}

static const struct way {
	const char *name;
	void (*copy)(enum order order, char *to, const char *from, size_t len, size_t hint);
	enum order order;
} ways[] = {
	{ "movsb-converge", by_movsb, CONVERGE },
	{ "movsb-ascend", by_movsb, ASCEND },
	{ "movsb-run", by_movsb, RUN },
	{ "movsb-near_last", by_movsb, NEAR_LAST },
	{ "mov-converge", by_mov, CONVERGE },
	{ "mov-ascend", by_mov, ASCEND },
	{ "mov-run", by_mov, RUN },
	{ "mov-near_last", by_mov, NEAR_LAST },
};
#define NR_WAYS	(sizeof(ways) / sizeof(ways[0]))

int main(int argc, char **argv)
{
	static const struct { const char *name; size_t size; } sizes[] = {
		{ "64K", 65536 }, { "2M", 2 << 20 },
	};
	static const char *const hints[] = { "start", "middle", "end" };
	static const char *const keys[] = { "ns", "write_ns", "write16k_ns", "read_ns" };
	const size_t total = 768UL << 20;
	const char *dir = argc > 1 ? argv[1] : NULL;
	static uint64_t *v[NR_WAYS][NR_USES];
	unsigned int *perm = malloc(MAX_N * sizeof(*perm)), nr[NR_WAYS][NR_USES];
	char *src = get(dir, total), *dst = get(dir, total), name[256];
	size_t s, h, w, use, round, i, j;

	if (!perm) {
		fprintf(stderr, "no memory\n");
		return 1;
	}
	for (w = 0; w < NR_WAYS; w++)
		for (use = 0; use < NR_USES; use++)
			v[w][use] = calloc(MAX_N * ROUNDS, sizeof(uint64_t));
	srandom(1);
	for (s = 0; s < 2; s++) {
		const size_t size = sizes[s].size, n = total / size, pages = size / PAGE;

		for (h = 0; h < 3; h++) {
			const size_t hint = h == 0 ? 0 : h == 1 ? pages / 2 : pages - 1;
			unsigned int some[NR_WAYS], nr_some = 0;

			for (w = 0; w < NR_WAYS; w++) {
				snprintf(name, sizeof(name), "copy/%s/%s/%s", sizes[s].name, ways[w].name, hints[h]);
				if (wanted(argv + (argc > 1 ? 2 : 1), name))
					some[nr_some++] = w;
			}
			if (!nr_some)
				continue;
			memset(nr, 0, sizeof(nr));
			for (round = 0; round < ROUNDS; round++) {
				for (i = 0; i < n; i++)
					perm[i] = i;
				for (i = n - 1; i; i--) {
					unsigned int t = perm[i];

					j = random() % (i + 1);
					perm[i] = perm[j];
					perm[j] = t;
				}
				for (use = 0; use < NR_USES; use++) {
					for (i = 0; i < n; i++) {
						size_t o = perm[i] * size;
						uint64_t start;

						w = some[(i + round) % nr_some];
						start = now();
						ways[w].copy(ways[w].order, dst + o, src + o, size, hint);
						use_region(dst + o, size, hint, use);
						v[w][use][nr[w][use]++] = now() - start;
					}
				}
			}
			for (j = 0; j < nr_some; j++) {
				w = some[j];
				printf("copy/%s/%s/%s ops=1", sizes[s].name, ways[w].name, hints[h]);
				for (use = 0; use < NR_USES; use++) {
					qsort(v[w][use], nr[w][use], sizeof(uint64_t), cmp);
					printf(" %s=%llu", keys[use],
					       (unsigned long long)v[w][use][nr[w][use] / 2]);
				}
				printf("\n");
			}
			fflush(stdout);
		}
	}
	return 0;
}
