// SPDX-License-Identifier: GPL-2.0
/*
 * holds CLASS=ADDRESS... <trace: who took which lock how often, for how long,
 * and what moved meanwhile.
 *
 * Reads the text of a trace in which lf_lock and lf_unlock are kprobes on the
 * spin lock functions, with the lock's address, and the clock is x86-tsc. Between
 * the two, the kmem events name each block that was taken from the buddy lists or
 * drained to them; a block that is freed by itself has no event.
 * One line for all: CLASS_takes; CLASS_timed, those whose beginning was seen (a
 * trylock's is not) but for the longest 1 %, where an interrupt came before the
 * lock function had switched them off; CLASS_ns of these in all and CLASS_mid,
 * the median; CLASS_holds, in which an event fired, CLASS_pages of these in all
 * and CLASS_max in one.
 *
 * holds -m: until SIGTERM, look at MemFree 100 times a second; print the lowest.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS	64
#define MAX_LOCKS	64

static struct class {
	char name[16];
	unsigned long long takes, timed, ns, holds, pages, max;
	unsigned long long *times;
} classes[MAX_LOCKS];
static int nr_classes;

static struct {
	unsigned long long address;
	struct class *class;
} locks[MAX_LOCKS];
static int nr_locks;

/* What each CPU holds: one lock of ours at a time */
static struct {
	struct class *class;
	unsigned long long since, pages;
} held[MAX_CPUS];

static struct class *class_of(const char *name, size_t len)
{
	int i;

	for (i = 0; i < nr_classes; i++)
		if (strlen(classes[i].name) == len && !strncmp(classes[i].name, name, len))
			return &classes[i];
	snprintf(classes[nr_classes].name, sizeof(classes[0].name), "%.*s", (int)len, name);
	return &classes[nr_classes++];
}

static struct class *lookup(const char *line)
{
	const char *p = strstr(line, "lock=0x");
	unsigned long long address;
	int i;

	if (!p)
		return NULL;
	address = strtoull(p + 5, NULL, 16);
	for (i = 0; i < nr_locks; i++)
		if (locks[i].address == address)
			return locks[i].class;
	return NULL;
}

static int cmp(const void *a, const void *b)
{
	unsigned long long x = *(unsigned long long *)a, y = *(unsigned long long *)b;

	return (x > y) - (x < y);
}

static void add_time(struct class *c, unsigned long long ns)
{
	if (!(c->timed & (c->timed - 1))) {		/* full at each power of two */
		c->times = realloc(c->times, (c->timed ? 2 * c->timed : 1) * sizeof(ns));
		if (!c->times)
			exit(1);
	}
	c->times[c->timed++] = ns;
}

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = sig;
}

/* One open file and no fork: looking is not to be what is measured. */
static int lowest_memfree(void)
{
	int fd = open("/proc/meminfo", O_RDONLY);
	unsigned long lowest = ULONG_MAX, kib;
	char text[256], *p;
	ssize_t n;

	signal(SIGTERM, on_term);
	do {
		n = pread(fd, text, sizeof(text) - 1, 0);
		if (n <= 0)
			return 1;
		text[n] = '\0';
		p = strstr(text, "MemFree:");
		kib = p ? strtoul(p + 8, NULL, 10) : ULONG_MAX;
		if (kib < lowest)
			lowest = kib;
		usleep(10000);
	} while (!stop);
	printf("%lu\n", lowest);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long in, written, now;
	char line[1024], *p;
	struct class *c;
	unsigned int cpu;
	int i;

	if (argc == 2 && !strcmp(argv[1], "-m"))
		return lowest_memfree();
	for (i = 1; i < argc && nr_locks < MAX_LOCKS; i++) {
		p = strchr(argv[i], '=');
		if (!p)
			return 2;
		locks[nr_locks].class = class_of(argv[i], p - argv[i]);
		locks[nr_locks++].address = strtoull(p + 1, NULL, 16);
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %llu/%llu", &in, &written) == 2 &&
		    in < written) {
			printf("lost=%llu\n", written - in);
			return 1;
		}
		p = strstr(line, " [");
		if (line[0] == '#' || !p || sscanf(p, " [%u] %*s %llu:", &cpu, &now) != 2 ||
		    cpu >= MAX_CPUS)
			continue;
		if (strstr(p, ": lf_lock")) {
			c = lookup(p);
			if (c) {
				held[cpu].class = c;
				held[cpu].since = now;
				held[cpu].pages = 0;
			}
		} else if (strstr(p, ": lf_unlock")) {
			c = lookup(p);
			if (!c)
				continue;
			c->takes++;	/* a trylock is seen here only */
			if (held[cpu].class == c) {
				add_time(c, now - held[cpu].since);
				c->pages += held[cpu].pages;
				c->holds += held[cpu].pages > 0;
				if (held[cpu].pages > c->max)
					c->max = held[cpu].pages;
			}
			held[cpu].class = NULL;
		} else if (held[cpu].class &&
			   (strstr(p, "mm_page_alloc_zone_locked:") || strstr(p, "mm_page_pcpu_drain:"))) {
			p = strstr(p, " order=");
			if (p)
				held[cpu].pages += 1ULL << atoi(p + 7);
		}
	}
	for (c = classes; c < classes + nr_classes; c++) {
		qsort(c->times, c->timed, sizeof(*c->times), cmp);
		c->timed -= c->timed / 100;
		for (i = 0; i < (int)c->timed; i++)
			c->ns += c->times[i];
		printf("%s%s_takes=%llu %s_timed=%llu %s_ns=%llu %s_mid=%llu %s_holds=%llu %s_pages=%llu %s_max=%llu",
		       c == classes ? "" : " ", c->name, c->takes, c->name, c->timed, c->name, c->ns,
		       c->name, c->timed ? c->times[c->timed / 2] : 0, c->name, c->holds,
		       c->name, c->pages, c->name, c->max);
	}
	printf("\n");
	return 0;
}
