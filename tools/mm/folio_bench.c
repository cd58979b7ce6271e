// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmarks of large folios: what user space pays to get, copy, unmap and
 * free memory in folios of several sizes.
 *
 * The cases follow well known ones (will-it-scale, vm-scalability, netperf) in
 * what they do, but each of them sets the memory settings it needs, looks in
 * /proc/kpageflags whether the memory really is made of such folios, and puts
 * the settings back. A case whose memory is not what it should be has no
 * number, but a line that says FAIL.
 *
 *	folio_bench [-p PROCS] [-t THREADS] [-m SIZE] [-n LOOPS] CASE-GLOB...
 *	folio_bench [-p PROCS] [-t THREADS] list
 *
 * One line a case:
 *
 *	CASE ops=N real_ns=N user_ns=N sys_ns=N
 *	CASE n/a REASON		this kernel or machine cannot have it
 *	CASE FAIL REASON	it ran, and something was wrong; the exit code is 1
 *
 * real_ns is from the first worker's start to the last one's end. user_ns and
 * sys_ns are the sum over all workers. Without CONFIG_VIRT_CPU_ACCOUNTING_GEN
 * the kernel divides a precise run time between the two by sampling at ticks:
 * in short runs only their sum means something.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/kernel-page-flags.h>
#include <linux/mount.h>
#include <malloc.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THP		"/sys/kernel/mm/transparent_hugepage"
#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BIT64(n)	(1ULL << (n))
#define MAX_TASKS	1024
#define MAX_SIZE	(SIZE_MAX >> (sizeof(size_t) == 8 ? 22 : 2))
#define TIME_LIMIT	600	/* seconds a case, so that nothing hangs for ever */

/* What the folios of a case are, and how they are mapped. */
enum unit {
	BASE,		/* single pages */
	MID,		/* 64K, always mapped by PTEs */
	PMD,		/* PMD size, mapped by a PMD */
	PMD_PTE,	/* PMD size, mapped by PTEs */
	HUGETLB,	/* the default hugetlb size */
};

enum mem {
	NO_MEM,
	ANON,
	SHARED,		/* MAP_SHARED of a tmpfs file */
	PRIVATE,	/* MAP_PRIVATE of a tmpfs file */
};

/* Family flags */
#define EACH	0x01	/* -m is for each worker; else the workers share it */
#define ROUNDS	0x02	/* something untimed has to be done before each loop */
#define TWICE	0x04	/* a copy is made: needs the memory twice */
#define MT	0x08	/* about threads: 2 at least */
#define NET	0x10

struct worker;

struct family {
	const char *name;
	const char *ops;		/* what is counted */
	enum mem mem;
	unsigned int flags;
	unsigned int loops;		/* default of -n */
	void (*init)(struct worker *w);		/* once */
	void (*before)(struct worker *w);	/* each round, untimed */
	void (*run)(struct worker *w);		/* each round, timed */
	void (*after)(struct worker *w);	/* each round, untimed */
};

struct bench {
	const struct family *f;
	enum unit unit;
	const char *variant;		/* NULL: named by the unit */
	int arg;
};

/* A worker's part of the memory that main and all workers share. */
struct slot {
	unsigned long long start, end;
	unsigned long long ops, user, sys;
	unsigned long long helper_user, helper_sys;
	unsigned long long pfn;			/* of the first page, at the last check */
	unsigned long long received;
};

struct shared {
	pthread_barrier_t barrier;
	int claimed, state;		/* see stop() */
	char msg[256];
	unsigned long long real;
	struct slot slot[];
};

struct worker {
	const struct bench *b;
	struct slot *slot;
	unsigned int id;		/* among all workers */
	bool leader;			/* its process's first thread */
	bool warm;			/* this is the warm-up */
	unsigned int n;			/* loops to do in run() */
	char *addr;			/* where to map */
	size_t len;
	int fd, to, from;		/* file, UDP sockets */
	int go, done;			/* pipes from and to the helper */
	pid_t helper;
};

struct setting {
	char path[128], old[64];
};

enum { NA = 1, FAIL };

static unsigned int procs = 1, threads = 1, loops;
static size_t page, mid, pmd, huge, mem_size = 16UL << 20;
static bool thp;
static struct shared *sh;
static struct setting saved[64];
static unsigned int nr_saved;
static int mnt = -1;		/* the case's tmpfs */
static bool lo_raised;
static char reason[256];
static sigset_t old_mask;

/* --- helpers --- */

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void add_usage(int who, unsigned long long *user, unsigned long long *sys, int sign)
{
	struct rusage u;

	getrusage(who, &u);
	*user += sign * (u.ru_utime.tv_sec * 1000000000LL + u.ru_utime.tv_usec * 1000LL);
	*sys += sign * (u.ru_stime.tv_sec * 1000000000LL + u.ru_stime.tv_usec * 1000LL);
}

/*
 * End this worker with a reason for main to print. The first one wins: what the
 * others have to say is mostly that the first one is gone. They wait until its
 * text is there, as main kills all others once it sees one exit.
 */
static noreturn void stop(int state, const char *msg)
{
	int no = 0;

	if (__atomic_compare_exchange_n(&sh->claimed, &no, 1, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		snprintf(sh->msg, sizeof(sh->msg), "%s", msg);
		__atomic_store_n(&sh->state, state, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&sh->state, __ATOMIC_ACQUIRE))
		poll(NULL, 0, 1);
	_exit(1);
}

#define stop_fmt(state, ...) do {				\
	char msg_[256];						\
	snprintf(msg_, sizeof(msg_), __VA_ARGS__);		\
	stop(state, msg_);					\
} while (0)

#define fail(...)	stop_fmt(FAIL, __VA_ARGS__)
#define not_here(...)	stop_fmt(NA, __VA_ARGS__)
#define fail_errno(what) fail("%s: %s", what, strerror(errno))

static void barrier(void)
{
	pthread_barrier_wait(&sh->barrier);
}

static size_t unit_size(enum unit unit)
{
	switch (unit) {
	case MID:
		return mid;
	case PMD:
	case PMD_PTE:
		return pmd;
	case HUGETLB:
		return huge;
	default:
		return page;
	}
}

static unsigned int nr_threads(const struct bench *b)
{
	return (b->f->flags & MT) && threads < 2 ? 2 : threads;
}

/* The name of a case, without and with the part about processes and threads. */
static void case_name(const struct bench *b, char *name, size_t len, bool full)
{
	size_t size = unit_size(b->unit);
	bool mega = size >= 1 << 20;
	char variant[32];
	int n;

	snprintf(variant, sizeof(variant), "%zu%c%s", size >> (mega ? 20 : 10),
		 mega ? 'M' : 'K', b->unit == PMD_PTE ? "-pte" : "");
	n = snprintf(name, len, "%s/%s", b->f->name, b->variant ? b->variant : variant);
	if (full && procs > 1)
		n += snprintf(name + n, len - n, "/p-%u", procs);
	if (full && nr_threads(b) > 1)
		snprintf(name + n, len - n, "/t-%u", nr_threads(b));
}

static int read_file(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static int write_file(const char *path, const char *val)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, val, strlen(val)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* A number of kB in a file like /proc/meminfo, in bytes; 0 if it is not there. */
static unsigned long long field(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[256];
	unsigned long long kb = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name)) &&
		    sscanf(line + strlen(name), ": %llu", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kb << 10;
}

/* --- settings --- */

/* Write a setting, and remember what it was. Returns NULL or why it cannot be. */
static const char *set(const char *path, const char *val)
{
	struct setting *s = &saved[nr_saved];
	char buf[128], *old = buf;
	int err;

	err = read_file(path, buf, sizeof(buf));
	if (!err && strchr(buf, '[')) {
		old = strchr(buf, '[') + 1;
		old[strcspn(old, "]")] = '\0';
	}
	if (!err && !strcmp(old, val))
		return NULL;
	if (!err && nr_saved == ARRAY_SIZE(saved))
		err = -ENOSPC;
	if (!err) {
		snprintf(s->path, sizeof(s->path), "%s", path);
		snprintf(s->old, sizeof(s->old), "%.63s", old);
		err = write_file(path, val);
	}
	if (!err) {
		nr_saved++;
		return NULL;
	}
	snprintf(reason, sizeof(reason), "cannot write %s: %s", path, strerror(-err));
	return reason;
}

/* Raise or lower the loopback device; 1 if there was nothing to do. */
static int set_lo(bool up)
{
	struct ifreq r = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret = -1;

	if (fd < 0)
		return -1;
	if (!ioctl(fd, SIOCGIFFLAGS, &r)) {
		ret = !!(r.ifr_flags & IFF_UP) == up;
		r.ifr_flags ^= IFF_UP;
		if (!ret)
			ret = ioctl(fd, SIOCSIFFLAGS, &r);
	}
	close(fd);
	return ret;
}

static void restore(void)
{
	while (nr_saved) {
		struct setting *s = &saved[--nr_saved];
		int err = write_file(s->path, s->old);

		if (err)
			fprintf(stderr, "folio_bench: cannot put %s back to %s: %s\n",
				s->path, s->old, strerror(-err));
	}
	if (lo_raised)
		set_lo(false);
	lo_raised = false;
	if (mnt >= 0)
		close(mnt);
	mnt = -1;
}

/*
 * Let anonymous memory have folios of this size only (0: no large ones). The
 * top-level file does not matter for a size that is not set to "inherit".
 */
static const char *set_thp(size_t size, const char *mode)
{
	DIR *d = opendir(THP);
	struct dirent *e;
	bool found = !size;
	const char *err = NULL;
	char path[128];

	while (d && !err && (e = readdir(d))) {
		size_t kb;

		if (sscanf(e->d_name, "hugepages-%zukB", &kb) != 1)
			continue;
		/* Some sizes are for shmem only. */
		snprintf(path, sizeof(path), THP "/hugepages-%zukB/enabled", kb);
		if (access(path, F_OK))
			continue;
		if (kb << 10 == size)
			found = true;
		err = set(path, kb << 10 == size ? mode : "never");
	}
	if (d)
		closedir(d);
	if (!err && !found) {
		snprintf(reason, sizeof(reason),
			 "no transparent huge pages of %zu KiB in this kernel", size >> 10);
		err = reason;
	}
	/* A huge page is worth some compaction to a case that is about them. */
	if (!err && size && !access(THP "/defrag", F_OK))
		err = set(THP "/defrag", "madvise");
	return err;
}

static const char *set_hugetlb(unsigned long long nr)
{
	char buf[64], want[64];
	const char *err;

	if (!huge || read_file(NR_HUGEPAGES, buf, sizeof(buf)))
		return "no hugetlb in this kernel";
	snprintf(want, sizeof(want), "%llu", strtoull(buf, NULL, 10) + nr);
	err = set(NR_HUGEPAGES, want);
	if (err)
		return err;
	/* The kernel takes any number, and then does what it can. */
	if (read_file(NR_HUGEPAGES, buf, sizeof(buf)) || strcmp(buf, want)) {
		snprintf(reason, sizeof(reason), "vm.nr_hugepages is %s, not the %s it needs",
			 buf, want);
		return reason;
	}
	return NULL;
}

/*
 * A tmpfs of our own, attached nowhere: it is gone with the descriptor, whatever
 * happens. By syscall(), as glibc has no wrappers before 2.36.
 */
static const char *set_tmpfs(bool large)
{
	const char *err;
	int fs;

	if (large && !thp)
		return "no transparent huge pages in this kernel";
	/* "deny" and "force" would override the mount's option */
	if (!access(THP "/shmem_enabled", F_OK)) {
		err = set(THP "/shmem_enabled", "never");
		if (err)
			return err;
	}
	fs = syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		goto bad;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", "0", 0))
		goto bad;
	if (thp && syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "huge",
			   large ? "always" : "never", 0))
		goto bad;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		goto bad;
	mnt = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mnt < 0)
		goto bad;
	close(fs);
	return NULL;
bad:
	snprintf(reason, sizeof(reason), "cannot mount a tmpfs with huge=%s: %s",
		 large ? "always" : "never", strerror(errno));
	if (fs >= 0)
		close(fs);
	return reason;
}

static const char *set_net(void)
{
	int up = set_lo(true);

	if (up < 0) {
		snprintf(reason, sizeof(reason), "no loopback network: %s", strerror(errno));
		return reason;
	}
	lo_raised = !up;
	return NULL;
}

/* All that a case needs. Returns NULL, or why it cannot be had. */
static const char *prepare(const struct bench *b, size_t len)
{
	const struct family *f = b->f;
	unsigned long long total = 1ULL * procs * nr_threads(b) * len * (f->flags & TWICE ? 2 : 1);
	unsigned long long free_mem = field("/proc/meminfo", "MemAvailable");
	const char *err = NULL;

	/* Better no number than one of a machine that swaps or kills. */
	if (f->mem != NO_MEM && free_mem && total > free_mem) {
		snprintf(reason, sizeof(reason),
			 "needs %llu MiB, and %llu MiB are available",
			 total >> 20, free_mem >> 20);
		return reason;
	}
	if (f->flags & NET)
		return set_net();
	if (b->unit == HUGETLB)
		return set_hugetlb(huge ? total / huge + procs * nr_threads(b) : 0);
	if (f->mem == SHARED || f->mem == PRIVATE)
		err = set_tmpfs(b->unit == PMD);
	else if (f->mem == NO_MEM)
		err = set_thp(b->arg ? pmd : 0, "always");
	else if (b->unit != BASE)	/* single pages need no root, see map() */
		err = set_thp(unit_size(b->unit), "madvise");
	return err;
}

/* --- is the memory what it should be? --- */

/* The size of the folio of a page, in pages. */
static size_t folio_pages(int kpageflags, unsigned long long pfn)
{
	unsigned long long head = pfn, end = pfn + 1, flags;

	while (pread(kpageflags, &flags, 8, head * 8) == 8 &&
	       (flags & BIT64(KPF_COMPOUND_TAIL)))
		head--;
	while (pread(kpageflags, &flags, 8, end * 8) == 8 &&
	       (flags & BIT64(KPF_COMPOUND_TAIL)))
		end++;
	return end - head;
}

/* How much of this memory is mapped by PMDs. */
static size_t pmd_mapped(const char *addr, size_t len)
{
	unsigned long from = (unsigned long)addr, start, end;
	FILE *f = fopen("/proc/self/smaps", "re");
	bool inside = false;
	size_t kb, sum = 0;
	char line[256];

	if (!f)
		fail_errno("/proc/self/smaps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start < from + len && end > from;
		else if (inside && (sscanf(line, "AnonHugePages: %zu", &kb) == 1 ||
				    sscanf(line, "ShmemPmdMapped: %zu", &kb) == 1))
			sum += kb;
	}
	fclose(f);
	return sum << 10;
}

static void check_folio(struct worker *w, int kpageflags, unsigned long long pfn, size_t i)
{
	enum unit unit = w->b->unit;
	size_t n = unit_size(unit) / page, got, k;
	unsigned long long *flags = calloc(n + 1, sizeof(*flags));
	bool ok, anon, hugetlb = unit == HUGETLB;

	if (!flags)
		fail_errno("calloc");
	/* one more than the folio has: it must not be larger either */
	got = pread(kpageflags, flags, (n + 1) * 8, pfn * 8) / 8;
	ok = got >= n && !(flags[0] & BIT64(KPF_COMPOUND_TAIL)) &&
	     !(flags[0] & BIT64(KPF_COMPOUND_HEAD)) == (n == 1) &&
	     !(flags[n] & BIT64(KPF_COMPOUND_TAIL));
	for (k = 1; k < n; k++)
		ok = ok && (flags[k] & BIT64(KPF_COMPOUND_TAIL));
	if (!ok)
		fail("folio %zu is of %zu KiB, not of %zu", i,
		     folio_pages(kpageflags, pfn) * page >> 10, unit_size(unit) >> 10);
	if (!!(flags[0] & BIT64(KPF_HUGE)) != hugetlb)
		fail("folio %zu is %sof hugetlb", i, hugetlb ? "not " : "");
	if (!!(flags[0] & BIT64(KPF_THP)) != (n > 1 && !hugetlb))
		fail("folio %zu is %sa THP", i, n > 1 ? "not " : "");
	anon = w->b->f->mem != SHARED;
	if (!(flags[0] & BIT64(KPF_ANON)) == anon)
		fail("folio %zu is %sanonymous", i, anon ? "not " : "");
	free(flags);
}

/* The page frame at an address, which is in folio i; 0 if we may not know. */
static unsigned long long page_pfn(int pagemap, const char *addr, size_t i)
{
	unsigned long long entry;

	if (pread(pagemap, &entry, 8, (off_t)((unsigned long)addr / page) * 8) != 8)
		fail_errno("/proc/self/pagemap");
	if (!(entry & BIT64(63)))
		fail("folio %zu is not there", i);
	return entry & (BIT64(55) - 1);
}

/* Look at a few folios of w's memory, which is mapped and populated now. */
static void check(struct worker *w)
{
	size_t size = unit_size(w->b->unit), nr = w->len / size, k, got, want;
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int kpageflags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	int err = errno;

	if (pagemap < 0 || kpageflags < 0) {
		if (w->b->unit != BASE)
			not_here("cannot read /proc/kpageflags: %s", strerror(err));
		goto out;
	}
	for (k = 0; k <= 4; k++) {
		size_t i = (nr - 1) * k / 4;
		unsigned long long pfn = page_pfn(pagemap, w->addr + i * size, i);

		if (!pfn && w->b->unit == BASE)
			goto out;
		if (!pfn)
			not_here("/proc/self/pagemap shows no addresses: not root");
		if (!k)
			w->slot->pfn = pfn;
		check_folio(w, kpageflags, pfn, i);
	}
	if (w->b->unit != HUGETLB) {
		got = pmd_mapped(w->addr, w->len);
		want = w->b->unit == PMD ? w->len : 0;
		if (got != want)
			fail("%zu KiB are mapped by PMDs, not %zu", got >> 10, want >> 10);
	}
out:
	if (pagemap >= 0)
		close(pagemap);
	if (kpageflags >= 0)
		close(kpageflags);
}

/* --- memory --- */

/*
 * At an address that start_process() chose: aligned to the folio, and with a gap
 * to other workers' memory, so that the VMA in smaps is this worker's alone.
 */
static void map(struct worker *w)
{
	int flags = MAP_FIXED_NOREPLACE;

	flags |= w->b->f->mem == SHARED ? MAP_SHARED : MAP_PRIVATE;
	if (w->b->f->mem == ANON)
		flags |= MAP_ANONYMOUS | (w->b->unit == HUGETLB ? MAP_HUGETLB : 0);
	if (mmap(w->addr, w->len, PROT_READ | PROT_WRITE, flags, w->fd, 0) != w->addr)
		fail_errno("mmap");
	/*
	 * For single pages as well: they then need no setting, and the sizes do not
	 * differ by a system call.
	 */
	if (thp && w->b->f->mem == ANON && w->b->unit != HUGETLB &&
	    madvise(w->addr, w->len, w->b->unit == BASE ? MADV_NOHUGEPAGE : MADV_HUGEPAGE))
		fail_errno("madvise");
}

static void unmap(struct worker *w)
{
	if (munmap(w->addr, w->len))
		fail_errno("munmap");
}

/* One byte a page. The atomics are plain stores that the compiler leaves alone. */
static void touch(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->len; i += page)
		__atomic_store_n(w->addr + i, 1, __ATOMIC_RELAXED);
}

static void read_all(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->len; i += page)
		__atomic_load_n(w->addr + i, __ATOMIC_RELAXED);
}

static void write_all(struct worker *w)
{
	unsigned long *p = (unsigned long *)w->addr;
	size_t i;

	for (i = 0; i < w->len / sizeof(*p); i++)
		__atomic_store_n(p + i, i, __ATOMIC_RELAXED);
}

/*
 * Have PTEs instead of PMDs under folios that stay whole: a PMD cannot have two
 * protections. No MADV_HUGEPAGE any more, or khugepaged may put the PMDs back.
 */
static void split_pmds(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->len; i += pmd)
		if (mprotect(w->addr + i, page, PROT_READ) ||
		    mprotect(w->addr + i, page, PROT_READ | PROT_WRITE))
			fail_errno("mprotect");
	if (madvise(w->addr, w->len, MADV_NOHUGEPAGE))
		fail_errno("madvise");
}

static void populate(struct worker *w)
{
	map(w);
	touch(w);
	if (w->b->unit == PMD_PTE)
		split_pmds(w);
	check(w);
}

static void set_size(struct worker *w, size_t len)
{
	if (ftruncate(w->fd, len))
		fail_errno("ftruncate");
}

/* A file without a name in the case's tmpfs */
static void open_file(struct worker *w)
{
	w->fd = openat(mnt, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (w->fd < 0)
		fail_errno("openat in tmpfs");
	set_size(w, w->len);
}

static void count_pages(struct worker *w)
{
	w->slot->ops += (unsigned long long)w->n * (w->len / page);
}

/*
 * --- the helper: a child that does a part of a case's timed work ---
 *
 * It adds its own usage: a child that still lives is not in RUSAGE_CHILDREN, and
 * its exit is not to be timed.
 */

/* The helper's first page must not be its parent's, which check() looked at. */
static void check_copied(struct worker *w)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (w->slot->pfn && page_pfn(fd, w->addr, 0) == w->slot->pfn)
		fail("the memory was not copied");
}

static void start_helper(struct worker *w, void (*work)(struct worker *w))
{
	struct slot *s = w->slot;
	int go[2], done[2];
	pid_t parent = getpid();
	char c;

	if (pipe(go) || pipe(done))
		fail_errno("pipe");
	w->helper = fork();
	if (w->helper < 0)
		fail_errno("fork");
	if (!w->helper) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || read(go[0], &c, 1) != 1)
			_exit(1);
		s->helper_user = 0;
		s->helper_sys = 0;
		add_usage(RUSAGE_SELF, &s->helper_user, &s->helper_sys, -1);
		work(w);
		add_usage(RUSAGE_SELF, &s->helper_user, &s->helper_sys, 1);
		/* The second byte lets it exit, outside of the timed part. */
		if (write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		if (w->b->f->mem != NO_MEM)
			check_copied(w);
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	w->go = go[1];
	w->done = done[0];
}

static void tell_helper(struct worker *w)
{
	if (write(w->go, "", 1) != 1)
		fail_errno("write to the helper");
}

/* Is it done? Other threads' children may hold the pipe open, so ask for it. */
static bool helper_done(struct worker *w, int ms)
{
	struct pollfd p = { .fd = w->done, .events = POLLIN };
	int status;
	char c;

	if (poll(&p, 1, ms) == 1 && read(w->done, &c, 1) == 1)
		return true;
	if (waitpid(w->helper, &status, WNOHANG) == w->helper)
		fail("the helper ended, status 0x%x", status);
	return false;
}

static void end_helper(struct worker *w)
{
	int status;

	tell_helper(w);
	if (waitpid(w->helper, &status, 0) != w->helper || status)
		fail("the helper ended, status 0x%x", status);
	close(w->go);
	close(w->done);
	if (!w->warm) {
		w->slot->user += w->slot->helper_user;
		w->slot->sys += w->slot->helper_sys;
	}
}

/* --- the cases --- */

/*
 * As large as the benchmark has it: it is about the VMA. The one page that is
 * touched, malloc's header, is in a THP only if the kernel aligns the mapping.
 */
static void malloc_run(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		void *p = malloc(128UL << 20);

		if (!p)
			fail_errno("malloc");
		/* or the compiler takes both away */
		asm volatile("" : : "r" (p) : "memory");
		free(p);
	}
	w->slot->ops += w->n;
}

static void fault_run(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		map(w);
		touch(w);
		if (w->warm)
			check(w);
		unmap(w);
	}
	count_pages(w);
}

/* Written through a mapping that is shared, to be copied by one that is not. */
static void fault_file_init(struct worker *w)
{
	char *p;

	open_file(w);
	p = mmap(NULL, w->len, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (p == MAP_FAILED)
		fail_errno("mmap");
	memset(p, 1, w->len);
	munmap(p, w->len);
}

static void anon_run(struct worker *w)
{
	map(w);
	write_all(w);
	count_pages(w);
}

static void anon_after(struct worker *w)
{
	check(w);
	unmap(w);
}

/*
 * A fork shares other threads' memory as well: it must not be written any more,
 * and must not be mapped again while a helper still holds what was there (work()
 * has a barrier for that), or more than two copies are needed.
 */
static void cow_before(struct worker *w)
{
	populate(w);
	barrier();
	start_helper(w, write_all);
}

static void cow_run(struct worker *w)
{
	tell_helper(w);
	while (!helper_done(w, 1000))
		;
	count_pages(w);
}

static void cow_after(struct worker *w)
{
	end_helper(w);
	unmap(w);
}

/* A read of a hole allocates: there is no zero page in a shared mapping. */
static void truncate_read_before(struct worker *w)
{
	set_size(w, w->len);
	map(w);
}

static void truncate_read_run(struct worker *w)
{
	read_all(w);
	count_pages(w);
}

static void truncate_read_after(struct worker *w)
{
	check(w);
	set_size(w, 0);
	unmap(w);
}

static void truncate_before(struct worker *w)
{
	truncate_read_before(w);
	read_all(w);
	check(w);
}

static void truncate_run(struct worker *w)
{
	set_size(w, 0);
	count_pages(w);
}

static void fallocate_init(struct worker *w)
{
	if (w->b->unit != HUGETLB) {
		open_file(w);
		set_size(w, 0);
		return;
	}
	w->fd = memfd_create("folio_bench", MFD_CLOEXEC | MFD_HUGETLB);
	if (w->fd < 0)
		fail_errno("memfd_create");
}

/*
 * hugetlb zeroes at once. shmem allocates in the first call, and leaves it to
 * who needs the folio first to zero it: here to a second call. Both are timed.
 */
static void fallocate_run(struct worker *w)
{
	int times = w->b->unit == HUGETLB ? 1 : 2;

	while (times--)
		if (fallocate(w->fd, 0, 0, w->len))
			fail_errno("fallocate");
	count_pages(w);
}

static void fallocate_after(struct worker *w)
{
	map(w);
	read_all(w);
	check(w);
	unmap(w);
	set_size(w, 0);
}

static void fork_run(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			fail_errno("fork");
		if (!pid)
			_exit(0);
		if (waitpid(pid, &status, 0) != pid || status)
			fail("a child ended, status 0x%x", status);
	}
	w->slot->ops += w->n;
}

static void munmap_run(struct worker *w)
{
	unmap(w);
	count_pages(w);
}

/* One byte is the marker of the end: no size of the messages is that small. */
static void udp_receive(struct worker *w)
{
	static __thread char buf[65536];
	unsigned long long nr = 0;

	for (;;) {
		ssize_t n = recv(w->from, buf, sizeof(buf), 0);

		if (n < 0)
			fail_errno("no message, and no end marker: recv");
		if (n == 1)
			break;
		if (n != w->b->arg)
			fail("a message of %zd bytes, not of %d", n, w->b->arg);
		nr++;
	}
	w->slot->received = nr;
}

static void udp_before(struct worker *w)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval t = { .tv_sec = 20 };
	socklen_t len = sizeof(a);
	int size = 32 << 20;

	w->from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	w->to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (w->from < 0 || w->to < 0)
		fail_errno("socket");
	/* The system's limit is about one burst: lift it, if root. */
	if (setsockopt(w->from, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(w->from, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(w->from, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ||
	    bind(w->from, (struct sockaddr *)&a, sizeof(a)) ||
	    getsockname(w->from, (struct sockaddr *)&a, &len) ||
	    connect(w->to, (struct sockaddr *)&a, sizeof(a)))
		fail_errno("UDP sockets");
	start_helper(w, udp_receive);
}

static void udp_run(struct worker *w)
{
	static __thread char buf[65536];
	unsigned int i;

	tell_helper(w);
	for (i = 0; i < w->n; i++)
		if (send(w->to, buf, w->b->arg, 0) != w->b->arg)
			fail_errno("send");
	/* The marker can be lost like any other message. */
	do {
		if (send(w->to, buf, 1, 0) != 1)
			fail_errno("send");
	} while (!helper_done(w, 100));
	w->slot->ops += w->slot->received;
}

static void udp_after(struct worker *w)
{
	end_helper(w);
	close(w->from);
	close(w->to);
	if (w->slot->received * 100 < w->n * 99ULL)
		fail("only %llu of %u messages received", w->slot->received, w->n);
}

#define PAGES "base pages, so that folio sizes compare"

static const struct family malloc_f = {
	"malloc", "pairs of malloc and free of 128 MiB", NO_MEM, EACH, 200,
	.run = malloc_run,
}, fault = {
	"fault", PAGES, ANON, EACH, 2,
	.run = fault_run,
}, fault_file = {
	"fault-file", PAGES, PRIVATE, EACH | TWICE, 2,
	.init = fault_file_init, .run = fault_run,
}, fault_shared = {
	"fault-shared", PAGES, SHARED, EACH, 10,
	.init = open_file, .run = fault_run,
}, anon = {
	"anon-w-seq", PAGES, ANON, ROUNDS, 2,
	.run = anon_run, .after = anon_after,
}, anon_mt = {
	"anon-w-seq-mt", PAGES, ANON, ROUNDS | MT, 2,
	.run = anon_run, .after = anon_after,
}, cow = {
	"cow-seq", PAGES, ANON, ROUNDS | TWICE, 1,
	.before = cow_before, .run = cow_run, .after = cow_after,
}, truncate_f = {
	"truncate-seq", PAGES, SHARED, ROUNDS, 1,
	.init = open_file, .before = truncate_before, .run = truncate_run, .after = unmap,
}, truncate_read = {
	"truncate-seq-read", PAGES, SHARED, ROUNDS, 1,
	.init = open_file, .before = truncate_read_before, .run = truncate_read_run,
	.after = truncate_read_after,
}, fallocate_f = {
	"fallocate", PAGES, SHARED, ROUNDS, 2,
	.init = fallocate_init, .run = fallocate_run, .after = fallocate_after,
}, fork_f = {
	"fork", "forks with an exit and a wait", ANON, 0, 20,
	.init = populate, .run = fork_run,
}, munmap_f = {
	"munmap", PAGES, ANON, ROUNDS, 2,
	.before = populate, .run = munmap_run,
}, udp = {
	"udp", "messages received", NO_MEM, EACH | NET, 1000,
	.before = udp_before, .run = udp_run, .after = udp_after,
};

static const struct bench benches[] = {
	{ &malloc_f, BASE, "thp-never", 0 },
	{ &malloc_f, BASE, "thp-always", 1 },
	{ .f = &fault, .unit = BASE },
	{ .f = &fault, .unit = MID },
	{ .f = &fault, .unit = PMD },
	{ .f = &fault_file, .unit = BASE },
	{ .f = &fault_shared, .unit = BASE },
	{ .f = &fault_shared, .unit = PMD },
	{ .f = &anon, .unit = BASE },
	{ .f = &anon, .unit = MID },
	{ .f = &anon, .unit = PMD },
	{ .f = &anon_mt, .unit = BASE },
	{ .f = &anon_mt, .unit = MID },
	{ .f = &anon_mt, .unit = PMD },
	{ .f = &cow, .unit = BASE },
	{ .f = &cow, .unit = MID },
	{ &cow, HUGETLB, "hugetlb", 0 },
	{ .f = &truncate_f, .unit = BASE },
	{ .f = &truncate_f, .unit = PMD },
	{ .f = &truncate_read, .unit = BASE },
	{ .f = &truncate_read, .unit = PMD },
	{ .f = &fallocate_f, .unit = BASE },
	{ .f = &fallocate_f, .unit = PMD },
	{ &fallocate_f, HUGETLB, "hugetlb", 0 },
	{ .f = &fork_f, .unit = BASE },
	{ .f = &fork_f, .unit = MID },
	{ .f = &fork_f, .unit = PMD_PTE },
	{ .f = &munmap_f, .unit = BASE },
	{ .f = &munmap_f, .unit = MID },
	{ .f = &munmap_f, .unit = PMD_PTE },
	{ .f = &munmap_f, .unit = PMD },
	{ &udp, BASE, "64", 64 },
	{ &udp, BASE, "128", 128 },
	{ &udp, BASE, "256", 256 },
	{ &udp, BASE, "1024", 1024 },
	{ &udp, BASE, "2048", 2048 },
	{ &udp, BASE, "3312", 3312 },
	{ &udp, BASE, "4096", 4096 },
	{ &udp, BASE, "8192", 8192 },
	{ &udp, BASE, "16384", 16384 },
};

/* --- running a case --- */

/* The time from the first start to the last end. */
static unsigned long long elapsed(const struct bench *b)
{
	unsigned long long start = ULLONG_MAX, end = 0;
	unsigned int i;

	for (i = 0; i < procs * nr_threads(b); i++) {
		if (sh->slot[i].start < start)
			start = sh->slot[i].start;
		if (sh->slot[i].end > end)
			end = sh->slot[i].end;
	}
	return end - start;
}

/* Faults that got smaller folios than the case is about, since boot. */
static unsigned long long fallbacks(const struct bench *b)
{
	char path[128], val[32];

	if (b->f->mem != ANON || b->unit == BASE || b->unit == HUGETLB)
		return 0;
	snprintf(path, sizeof(path), THP "/hugepages-%zukB/stats/anon_fault_fallback",
		 unit_size(b->unit) >> 10);
	return read_file(path, val, sizeof(val)) ? 0 : strtoull(val, NULL, 10);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long long fell = 0;
	struct slot *s = w->slot;
	const struct family *f = w->b->f;
	unsigned int n = loops ? loops : f->loops;
	unsigned int rounds = f->flags & ROUNDS ? n : 1, r;

	/* Only now is the address range free, see start_process(). */
	barrier();
	if (f->init)
		f->init(w);
	/* Round 0 is the warm-up. */
	for (r = 0; r <= rounds; r++) {
		unsigned long long ops = s->ops, user = 0, sys = 0;

		w->warm = !r;
		w->n = !r || f->flags & ROUNDS ? 1 : n;
		if (f->before)
			f->before(w);
		/*
		 * The usage is the whole process's, so its leader has to take it
		 * when no thread does anything: between two barriers.
		 */
		barrier();
		if (w->leader) {
			add_usage(RUSAGE_SELF, &user, &sys, -1);
			add_usage(RUSAGE_CHILDREN, &user, &sys, -1);
		}
		barrier();
		s->start = now();
		f->run(w);
		s->end = now();
		barrier();
		if (w->leader) {
			add_usage(RUSAGE_SELF, &user, &sys, 1);
			add_usage(RUSAGE_CHILDREN, &user, &sys, 1);
		}
		if (!w->id && r)
			sh->real += elapsed(w->b);
		barrier();
		if (f->after)
			f->after(w);
		barrier();
		if (!w->id && !r)
			fell = fallbacks(w->b);
		if (r) {
			s->user += user;
			s->sys += sys;
		} else {
			s->ops = ops;
		}
	}
	/* What was checked is the warm-up; the rest is not to be of another kind. */
	if (!w->id && fallbacks(w->b) != fell)
		fail("%llu folios fell back to smaller ones", fallbacks(w->b) - fell);
	return NULL;
}

/* A worker process: some threads, each with an address range of its own. */
static noreturn void start_process(const struct bench *b, size_t len, unsigned int id)
{
	size_t align = pmd > huge ? pmd : huge, total;
	unsigned int nr = nr_threads(b), i;
	struct worker *w = calloc(nr, sizeof(*w));
	pthread_t *t = calloc(nr, sizeof(*t));
	char *base = NULL;

	if (!w || !t)
		fail_errno("calloc");
	total = (len + 2 * align) * nr + align;
	if (b->f->mem != NO_MEM) {
		/* No arenas for threads: they could take a range between two loops. */
		mallopt(M_ARENA_MAX, 1);
		base = mmap(NULL, total, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base == MAP_FAILED)
			fail_errno("mmap");
	}
	for (i = 0; i < nr; i++) {
		w[i].b = b;
		w[i].id = id * nr + i;
		w[i].slot = &sh->slot[w[i].id];
		w[i].leader = !i;
		w[i].len = len;
		w[i].fd = -1;
		w[i].addr = (char *)(((unsigned long)base / align + 1) * align +
				     i * ((len + align - 1) / align + 1) * align);
	}
	/* Their stacks must be elsewhere too: start all, then give up the range. */
	for (i = 1; i < nr; i++) {
		errno = pthread_create(&t[i], NULL, work, &w[i]);
		if (errno)
			fail_errno("pthread_create");
	}
	if (base)
		munmap(base, total);
	work(&w[0]);
	for (i = 1; i < nr; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

static void signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGALRM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

static void kill_all(const pid_t *pids)
{
	unsigned int i;

	for (i = 0; i < procs; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
}

/*
 * Run the workers and wait for all of them. The signals are blocked in main, and
 * taken here only: there is no moment at which one of them is lost, or finds a
 * setting half written. Returns the signal that ends the program, or 0.
 */
static int run_workers(const struct bench *b, size_t len)
{
	unsigned int left = 0, i;
	pid_t parent = getpid(), pid, *pids = calloc(procs, sizeof(*pids));
	int interrupted = 0, status, sig;
	sigset_t set;

	if (!pids) {
		snprintf(sh->msg, sizeof(sh->msg), "calloc: %s", strerror(errno));
		sh->state = FAIL;
		return 0;
	}
	alarm(TIME_LIMIT);
	for (i = 0; i < procs; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			sigprocmask(SIG_SETMASK, &old_mask, NULL);
			start_process(b, len, i);
		}
		if (pids[i] < 0) {
			snprintf(sh->msg, sizeof(sh->msg), "fork: %s", strerror(errno));
			sh->state = FAIL;
			kill_all(pids);
			break;
		}
		left++;
	}
	signals(&set);
	while (left) {
		while (left && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
			for (i = 0; i < procs && pids[i] != pid; i++)
				;
			if (i == procs)		/* a dead worker's child */
				continue;
			pids[i] = 0;
			left--;
			if (!status)
				continue;
			if (!sh->state) {
				sh->state = FAIL;
				if (WIFSIGNALED(status))
					snprintf(sh->msg, sizeof(sh->msg), "a worker died: %s",
						 strsignal(WTERMSIG(status)));
				else
					snprintf(sh->msg, sizeof(sh->msg),
						 "a worker ended, status 0x%x", status);
			}
			kill_all(pids);
		}
		if (!left)
			break;
		sig = sigwaitinfo(&set, NULL);
		if (sig == SIGCHLD || sig < 0)
			continue;
		if (sig == SIGALRM && !sh->state) {
			snprintf(sh->msg, sizeof(sh->msg), "no end after %d seconds", TIME_LIMIT);
			sh->state = FAIL;
		}
		if (sig != SIGALRM)
			interrupted = sig;
		kill_all(pids);
	}
	alarm(0);
	/*
	 * Helpers die with their workers, but only now is their memory back. Not for
	 * ever: a child may be there that was there before this program.
	 */
	for (i = 0; (sh->state || interrupted) && i < 1000; i++) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0)
			break;
		if (!pid)
			poll(NULL, 0, 10);
	}
	free(pids);
	return interrupted;
}

/* Returns 0, 1 for FAIL, or minus the signal that ends the program. */
static int run_case(const struct bench *b)
{
	unsigned int workers = procs * nr_threads(b), i;
	size_t size = sizeof(*sh) + workers * sizeof(struct slot), unit = unit_size(b->unit), len;
	pthread_barrierattr_t attr;
	unsigned long long ops = 0, user = 0, sys = 0;
	int interrupted = 0, state;
	char name[128];
	const char *err;

	case_name(b, name, sizeof(name), true);
	len = b->f->flags & EACH ? mem_size : mem_size / workers;
	if (unit)
		len = len < unit ? unit : len / unit * unit;
	err = prepare(b, len);
	if (err) {
		printf("%s n/a %s\n", name, err);
		restore();
		return 0;
	}
	sh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED) {
		printf("%s FAIL mmap: %s\n", name, strerror(errno));
		restore();
		return 1;
	}
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&sh->barrier, &attr, workers);
	interrupted = run_workers(b, len);
	restore();
	for (i = 0; i < workers; i++) {
		ops += sh->slot[i].ops;
		user += sh->slot[i].user;
		sys += sh->slot[i].sys;
	}
	state = sh->state;
	if (interrupted)
		;
	else if (state)
		printf("%s %s %s\n", name, state == NA ? "n/a" : "FAIL", sh->msg);
	else
		printf("%s ops=%llu real_ns=%llu user_ns=%llu sys_ns=%llu\n",
		       name, ops, sh->real, user, sys);
	munmap(sh, size);
	return interrupted ? -interrupted : state == FAIL;
}

static noreturn void bad_usage(void)
{
	fputs("usage: folio_bench [-p PROCS] [-t THREADS] [-m SIZE] [-n LOOPS] list|CASE-GLOB...\n",
	      stderr);
	exit(2);
}

static unsigned long parse(const char *what, const char *s, unsigned long max, bool suffix)
{
	unsigned int shift = 0;
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (suffix && *end && strchr("kKmMgG", *end)) {
		shift = strchr("kK", *end) ? 10 : strchr("mM", *end) ? 20 : 30;
		end++;
	}
	if (*s < '0' || *s > '9' || *end || errno || !n || n > max >> shift) {
		if (suffix)
			fprintf(stderr, "folio_bench: %s %s: a size as in 64M, at most %luM\n",
				what, s, max >> 20);
		else
			fprintf(stderr, "folio_bench: %s %s: a number from 1 to %lu\n",
				what, s, max);
		exit(2);
	}
	return n << shift;
}

/* Does a glob match a case, with or without the part about -p and -t? */
static bool match(const char *glob, const struct bench *b)
{
	char name[128], full[128];

	case_name(b, name, sizeof(name), false);
	case_name(b, full, sizeof(full), true);
	return !fnmatch(glob, name, 0) || !fnmatch(glob, full, 0);
}

static void get_sizes(void)
{
	char buf[64];

	page = sysconf(_SC_PAGESIZE);
	/* 64 KiB where that can be a large folio: of 4 pages at least */
	mid = page * 4 > 65536 ? page * 4 : 65536;
	thp = !access(THP "/enabled", F_OK);
	if (!read_file(THP "/hpage_pmd_size", buf, sizeof(buf)))
		pmd = strtoul(buf, NULL, 10);
	huge = field("/proc/meminfo", "Hugepagesize");
	/* Only a name for what is not there: a table of 8-byte entries in a page */
	if (!pmd)
		pmd = huge ? huge : page * (page / 8);
}

int main(int argc, char **argv)
{
	unsigned int i;
	int opt, arg, ret, failed = 0;
	char name[128];
	sigset_t set;

	while ((opt = getopt(argc, argv, "p:t:m:n:")) != -1) {
		switch (opt) {
		case 'p':
			procs = parse("-p", optarg, MAX_TASKS, false);
			break;
		case 't':
			threads = parse("-t", optarg, MAX_TASKS, false);
			break;
		case 'm':
			mem_size = parse("-m", optarg, MAX_SIZE, true);
			break;
		case 'n':
			loops = parse("-n", optarg, 1000000000, false);
			break;
		default:
			bad_usage();
		}
	}
	if (optind == argc)
		bad_usage();
	get_sizes();
	if (argc - optind == 1 && !strcmp(argv[optind], "list")) {
		for (i = 0; i < ARRAY_SIZE(benches); i++) {
			case_name(&benches[i], name, sizeof(name), true);
			printf("%-24s ops: %s\n", name, benches[i].f->ops);
		}
		return 0;
	}
	for (arg = optind; arg < argc; arg++) {
		for (i = 0; i < ARRAY_SIZE(benches) && !match(argv[arg], &benches[i]); i++)
			;
		if (i == ARRAY_SIZE(benches)) {
			fprintf(stderr, "folio_bench: no case matches %s: type folio_bench list\n",
				argv[arg]);
			return 2;
		}
	}

	/* Settings are to be restored even if nobody reads the output any more. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old_mask);
	/* A killed worker's children come to us, to be waited for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);

	for (i = 0; i < ARRAY_SIZE(benches) && !ferror(stdout); i++) {
		for (arg = optind; arg < argc && !match(argv[arg], &benches[i]); arg++)
			;
		if (arg == argc)
			continue;
		ret = run_case(&benches[i]);
		if (ret < 0)
			return 128 - ret;
		failed |= ret;
	}
	return failed || ferror(stdout);
}
