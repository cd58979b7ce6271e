// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte of shmem that was never written reads as zero: by read(), by mmap()
 * and by sendfile(), before and after swap, with folios of 2 MiB, of 64 KiB and
 * of one page. A fallocate() that fails or is killed gives back what it took,
 * and nothing else.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm_util.h"

#define KB			1024UL
#define MB			(1024 * KB)
#define FILE_SIZE		(8 * MB)
#define CHUNK			(64 * KB)
#define NOCACHE_MIN		"/sys/module/folio_zero/parameters/nocache_min"
#define SHMEM_64K		"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/shmem_enabled"

/* What is written; all the rest has to stay zero. */
static const struct {
	size_t start, len;
} islands[] = {
	{ 0, 1 },				/* first byte of a folio */
	{ 4 * KB - 1, 2 },			/* across pages */
	{ 64 * KB - 1, 2 },			/* across 64 KiB */
	{ 64 * KB + 300, 5 * KB },
	{ 2 * MB - 3, 6 },			/* across 2 MiB */
	{ 3 * MB, 64 * KB },			/* whole pages */
	{ 4 * MB - 1, 1 },			/* last byte of a folio */
						/* 4 to 6 MiB: nothing at all */
	{ FILE_SIZE - 1, 1 },
};

#define ISLAND_FOLIOS_64K	7	/* so many folios of 64 KiB hold them */

FIXTURE(shmem_zero)
{
	char dir[64];		/* where tmpfs is mounted, or empty */
	char *model;		/* what the file should read as */
	char *buf;
	char *anon;		/* the mapping of anon_64k */
	char was[16];		/* SHMEM_64K before */
	char min_was[32];	/* NOCACHE_MIN before */
	int fd;
};

FIXTURE_VARIANT(shmem_zero)
{
	const char *options;	/* of the mount; NULL: shared anonymous memory */
	size_t folio_size;	/* 0: whatever comes */
	bool past_cache;	/* zero all but single pages past the cache */
};

FIXTURE_VARIANT_ADD(shmem_zero, huge_always)
{
	.options = "huge=always,size=64M",
	.folio_size = 2 * MB,
};

FIXTURE_VARIANT_ADD(shmem_zero, huge_always_past_cache)
{
	.options = "huge=always,size=64M",
	.folio_size = 2 * MB,
	.past_cache = true,
};

/* Only the faults of shared anonymous memory get folios of a chosen size. */
FIXTURE_VARIANT_ADD(shmem_zero, anon_64k)
{
	.folio_size = 64 * KB,
};

FIXTURE_VARIANT_ADD(shmem_zero, huge_never)
{
	.options = "huge=never,size=64M",
};

/* Shared anonymous memory, aligned so that any folio fits, as a file */
static int anon_file(char **map)
{
	char *start, path[96];

	start = mmap(NULL, FILE_SIZE + 2 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		return -1;
	start = (char *)(((uintptr_t)start + 2 * MB - 1) & ~(2 * MB - 1));
	*map = mmap(start, FILE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (*map == MAP_FAILED)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
		 (unsigned long)*map, (unsigned long)*map + FILE_SIZE);
	return open(path, O_RDWR);
}

/*
 * Have the free memory that the test will get hold something else than zeroes:
 * fill folios of the same kind, and give them back.
 */
static int dirty_free_memory(int fd, char *anon, char *buf)
{
	size_t pos;

	if (anon) {
		memset(anon, 0xff, FILE_SIZE);
		return madvise(anon, FILE_SIZE, MADV_REMOVE);
	}
	memset(buf, 0xff, CHUNK);
	for (pos = 0; pos < 2 * FILE_SIZE; pos += CHUNK)
		if (pwrite(fd, buf, CHUNK, pos) != CHUNK)
			return -1;
	return ftruncate(fd, 0);
}

static int tmpfs_file(const char *dir)
{
	return open(dir, O_RDWR | O_TMPFILE, 0600);
}

static void undo(int fd, const char *dir, const char *was, const char *min_was)
{
	if (fd >= 0)
		close(fd);
	if (dir[0]) {
		umount(dir);
		rmdir(dir);
	}
	if (was[0])
		write_file(SHMEM_64K, was, strlen(was) + 1);
	if (min_was[0])
		write_file(NOCACHE_MIN, min_was, strlen(min_was) + 1);
}

FIXTURE_SETUP(shmem_zero)
{
	size_t i, j;

	self->fd = -1;
	self->model = calloc(1, FILE_SIZE);
	self->buf = malloc(CHUNK);
	ASSERT_NE(self->model, NULL);
	ASSERT_NE(self->buf, NULL);
	for (i = 0; i < ARRAY_SIZE(islands); i++)
		for (j = islands[i].start; j < islands[i].start + islands[i].len; j++)
			self->model[j] = 'a' + j % 23;

	if (variant->past_cache && access(NOCACHE_MIN, W_OK))
		SKIP(return, "no %s that can be set", NOCACHE_MIN);

	/* From here on there is something to undo, which an ASSERT would skip. */
	if (variant->options) {
		if (unshare(CLONE_NEWNS) ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
			SKIP(return, "a mount namespace needs root");
		strcpy(self->dir, "/tmp/shmem_zero_XXXXXX");
		ASSERT_NE(mkdtemp(self->dir), NULL);
		if (mount("shmem_zero", self->dir, "tmpfs", 0, variant->options)) {
			int err = errno;

			rmdir(self->dir);
			self->dir[0] = '\0';
			SKIP(return, "no tmpfs with %s: %s", variant->options, strerror(err));
		}
		self->fd = tmpfs_file(self->dir);
	} else {
		char line[128], *mark;

		if (read_file(SHMEM_64K, line, sizeof(line)) <= 0)
			SKIP(return, "no 64 KiB folios for shmem in this kernel");
		if (access(SHMEM_64K, W_OK))
			SKIP(return, "setting 64 KiB folios for shmem needs root");
		mark = strchr(line, '[');
		if (!mark)
			SKIP(return, "%s holds '%s'", SHMEM_64K, line);
		snprintf(self->was, sizeof(self->was), "%.*s",
			 (int)strcspn(mark + 1, "]"), mark + 1);
		self->fd = anon_file(&self->anon);
		if (self->fd >= 0)
			write_file(SHMEM_64K, "always", sizeof("always"));
		else
			self->was[0] = '\0';
	}
	if (self->fd < 0 || dirty_free_memory(self->fd, self->anon, self->buf)) {
		undo(self->fd, self->dir, self->was, self->min_was);
		ASSERT_EQ(0, 1) TH_LOG("no file to test: %s", strerror(errno));
	}
	if (variant->past_cache && read_file(NOCACHE_MIN, self->min_was, sizeof(self->min_was)) > 0)
		write_file(NOCACHE_MIN, "8K", sizeof("8K"));
}

FIXTURE_TEARDOWN(shmem_zero)
{
	undo(self->fd, self->dir, self->was, self->min_was);
	free(self->model);
	free(self->buf);
}

static int write_islands(int fd, const char *model)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(islands); i++)
		if (pwrite(fd, model + islands[i].start, islands[i].len, islands[i].start) !=
		    (ssize_t)islands[i].len)
			return -1;
	return 0;
}

/* Offset of the first byte that differs, or -1 */
static long differs(const char *a, const char *b, size_t len)
{
	size_t i;

	if (!memcmp(a, b, len))
		return -1;
	for (i = 0; a[i] == b[i]; i++)
		;
	return i;
}

static long differs_by_read(int fd, const char *model, char *buf, size_t size)
{
	size_t pos;
	long at;

	for (pos = 0; pos < size; pos += CHUNK) {
		memset(buf, 0xff, CHUNK);
		if (pread(fd, buf, CHUNK, pos) != CHUNK)
			return pos;
		at = differs(buf, model + pos, CHUNK);
		if (at >= 0)
			return pos + at;
	}
	return -1;
}

static long differs_by_mmap(int fd, const char *model, size_t size)
{
	char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	long at;

	if (map == MAP_FAILED)
		return 0;
	at = differs(map, model, size);
	munmap(map, size);
	return at;
}

static long differs_by_sendfile(int fd, const char *model, char *buf, size_t size)
{
	off_t pos = 0;
	int p[2];
	long at = -1;

	if (pipe(p))
		return 0;
	while (at < 0 && pos < (off_t)size) {
		off_t start = pos;
		ssize_t sent = sendfile(p[1], fd, &pos, CHUNK / 2);
		ssize_t got = 0, n;

		if (sent <= 0) {
			at = pos;
			break;
		}
		while (got < sent) {
			n = read(p[0], buf + got, sent - got);
			if (n <= 0)
				break;
			got += n;
		}
		at = differs(buf, model + start, got);
		at = got != sent ? start : at < 0 ? -1 : start + at;
	}
	close(p[0]);
	close(p[1]);
	return at;
}

/* Read-fault the whole file: what is not PG_uptodate is cleared. */
static int touch(int fd)
{
	char *map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -1;
	force_read_pages(map, FILE_SIZE / psize(), psize());
	return munmap(map, FILE_SIZE);
}

/* Does the folio at @offset have @size? Without a size, any folio is right. */
static bool folio_has_size(int fd, size_t offset, size_t size)
{
	int pagemap, flags, orders[16] = { 0 };
	bool ok = false;
	char *map;

	if (!size)
		return true;
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	flags = open("/proc/kpageflags", O_RDONLY);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);
	if (map != MAP_FAILED) {
		force_read_pages(map, size / psize(), psize());
		ok = !gather_folio_orders(map, size, pagemap, flags, orders, ARRAY_SIZE(orders)) &&
		     orders[sz2ord(size, psize())] == 1;
		munmap(map, size);
	}
	close(pagemap);
	close(flags);
	return ok;
}

/* Give the file all its folios, without writing to them, and then the islands. */
static int fill(int fd, char *anon, const char *model)
{
	if (anon)
		force_read_pages(anon, FILE_SIZE / psize(), psize());
	else if (fallocate(fd, 0, 0, FILE_SIZE))
		return -1;
	return write_islands(fd, model);
}

#define NO_FOLIOS	"no folio of the size wanted was had"
#define NO_FALLOCATE	"fallocate() gives no folios of this size"

TEST_F(shmem_zero, read)
{
	ASSERT_EQ(fill(self->fd, self->anon, self->model), 0);
	/* As holes, and as what has been cleared. A SKIP would hide an EXPECT. */
	ASSERT_EQ(differs_by_read(self->fd, self->model, self->buf, FILE_SIZE), -1);
	ASSERT_EQ(touch(self->fd), 0);
	ASSERT_EQ(differs_by_read(self->fd, self->model, self->buf, FILE_SIZE), -1);
	if (!folio_has_size(self->fd, 4 * MB, variant->folio_size))
		SKIP(return, NO_FOLIOS);
}

TEST_F(shmem_zero, mmap)
{
	ASSERT_EQ(fill(self->fd, self->anon, self->model), 0);
	ASSERT_EQ(differs_by_mmap(self->fd, self->model, FILE_SIZE), -1);
	if (!folio_has_size(self->fd, 4 * MB, variant->folio_size))
		SKIP(return, NO_FOLIOS);
}

TEST_F(shmem_zero, sendfile)
{
	ASSERT_EQ(fill(self->fd, self->anon, self->model), 0);
	ASSERT_EQ(differs_by_sendfile(self->fd, self->model, self->buf, FILE_SIZE), -1);
	ASSERT_EQ(touch(self->fd), 0);
	ASSERT_EQ(differs_by_sendfile(self->fd, self->model, self->buf, FILE_SIZE), -1);
	if (!folio_has_size(self->fd, 4 * MB, variant->folio_size))
		SKIP(return, NO_FOLIOS);
}

/* A second fallocate() clears what the first one left, and keeps the data. */
TEST_F(shmem_zero, fallocate_again)
{
	if (!variant->options)
		SKIP(return, NO_FALLOCATE);
	ASSERT_EQ(fill(self->fd, self->anon, self->model), 0);
	ASSERT_EQ(fallocate(self->fd, 0, 0, FILE_SIZE), 0);
	ASSERT_EQ(differs_by_read(self->fd, self->model, self->buf, FILE_SIZE), -1);
	if (!folio_has_size(self->fd, 4 * MB, variant->folio_size))
		SKIP(return, NO_FOLIOS);
}

static int cgroup_write(const char *cg, const char *file, const char *value)
{
	char path[PATH_MAX];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", cg, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = write(fd, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -1;
	close(fd);
	return ret;
}

static long cgroup_read(const char *cg, const char *file)
{
	char path[PATH_MAX], value[32];

	snprintf(path, sizeof(path), "%s/%s", cg, file);
	return read_file(path, value, sizeof(value)) > 0 ? atol(value) : -1;
}

/*
 * Folios that were fallocated and never touched are cleared on their way to
 * swap; what is all zero is not written there, and cleared again on its way
 * back.
 */
TEST_F_TIMEOUT(shmem_zero, swap, 120)
{
	const char *root = "/sys/fs/cgroup", *why = NULL;
	long want = FILE_SIZE * 3 / 4, swapped = 0, bad = -1;
	char cg[64];
	bool enabled = false;
	int i;

	snprintf(cg, sizeof(cg), "%s/shmem_zero-%d", root, getpid());
	if (mkdir(cg, 0755))
		SKIP(return, "no cgroup v2 at /sys/fs/cgroup to make a group in");
	if (cgroup_read(cg, "memory.current") < 0)
		enabled = !cgroup_write(root, "cgroup.subtree_control", "+memory");
	if (cgroup_read(cg, "memory.swap.current") < 0 || cgroup_write(cg, "cgroup.procs", "0")) {
		why = "no memory controller, or no swap, in cgroup v2";
		goto out;
	}

	if (fill(self->fd, self->anon, self->model)) {
		bad = 0;
		goto out;
	}
	if (!folio_has_size(self->fd, 0, variant->folio_size)) {
		why = NO_FOLIOS;
		goto out;
	}
	/* A folio that was only faulted for reading is clean, and just freed. */
	if (self->anon)
		want = ISLAND_FOLIOS_64K * 64 * KB;
	for (i = 0; i < 20 && swapped < want; i++) {
		/* What is mapped counts as in use: say that it is not */
		if (self->anon)
			madvise(self->anon, FILE_SIZE, MADV_PAGEOUT);
		if (cgroup_write(cg, "memory.reclaim", "8M swappiness=max"))
			cgroup_write(cg, "memory.reclaim", "8M");
		swapped = cgroup_read(cg, "memory.swap.current");
	}
	TH_LOG("%ld KiB of %lu KiB swapped out", swapped / 1024, FILE_SIZE / KB);
	if (swapped < want) {
		why = "too little could be swapped out: no swap, or too small";
		goto out;
	}
	bad = differs_by_read(self->fd, self->model, self->buf, FILE_SIZE / 2);
	if (bad < 0)
		bad = differs_by_mmap(self->fd, self->model, FILE_SIZE * 3 / 4);
	if (bad < 0)
		bad = differs_by_sendfile(self->fd, self->model, self->buf, FILE_SIZE);
out:
	cgroup_write(root, "cgroup.procs", "0");
	rmdir(cg);
	if (enabled)
		cgroup_write(root, "cgroup.subtree_control", "-memory");
	ASSERT_EQ(bad, -1);
	if (why)
		SKIP(return, "%s", why);
}

static long blocks(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_blocks;
}

TEST_F(shmem_zero, fallocate_fails)
{
	struct statfs before, after;
	int other;

	if (!variant->options)
		SKIP(return, NO_FALLOCATE);
	ASSERT_EQ(fill(self->fd, self->anon, self->model), 0);
	other = tmpfs_file(self->dir);
	ASSERT_GE(other, 0);
	ASSERT_EQ(statfs(self->dir, &before), 0);

	/* Not more than the file system, which fails early; more than is free */
	ASSERT_EQ(fallocate(other, 0, 0, 62 * MB), -1);
	ASSERT_EQ(errno, ENOSPC);

	ASSERT_EQ(statfs(self->dir, &after), 0);
	EXPECT_EQ(before.f_bfree, after.f_bfree);
	EXPECT_EQ(blocks(other), 0);
	EXPECT_EQ(differs_by_read(self->fd, self->model, self->buf, FILE_SIZE), -1);

	/* What it gave back can be had. */
	EXPECT_EQ(fallocate(other, 0, 0, 32 * MB), 0);
	close(other);
}

static bool is_zero(int fd, char *buf, size_t from, size_t to)
{
	for (; from < to; from += CHUNK)
		if (pread(fd, buf, CHUNK, from) != CHUNK || buf[0] ||
		    memcmp(buf, buf + 1, CHUNK - 1))
			return false;
	return true;
}

TEST_F_TIMEOUT(shmem_zero, fallocate_killed, 120)
{
	const size_t size = 60 * MB;
	bool done, killed = false;
	int i, status;
	long kept;
	pid_t pid;

	if (!variant->options)
		SKIP(return, NO_FALLOCATE);

	/* Some data in front, which has to survive. */
	ASSERT_EQ(fallocate(self->fd, 0, 0, 4 * MB), 0);
	ASSERT_EQ(pwrite(self->fd, self->model, MB, 0), (ssize_t)MB);
	kept = blocks(self->fd);
	ASSERT_GT(kept, 0);

	for (i = 0; i < 50 && !killed; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			_exit(fallocate(self->fd, 0, 4 * MB, size - 4 * MB) ? 1 : 0);
		do {
			done = waitpid(pid, &status, WNOHANG) == pid;
		} while (!done && blocks(self->fd) <= kept && !sched_yield());
		if (!done) {
			kill(pid, SIGKILL);
			ASSERT_EQ(waitpid(pid, &status, 0), pid);
		}
		/* A task that was done with it dies of the signal all the same. */
		killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
			 blocks(self->fd) * 512 < (long)size;
		if (killed)
			break;
		if (WIFEXITED(status))
			ASSERT_EQ(WEXITSTATUS(status), 0);
		ASSERT_EQ(fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				    4 * MB, size), 0);
	}
	if (!killed)
		SKIP(return, "fallocate() was always done before the signal came");
	EXPECT_EQ(blocks(self->fd), kept);
	EXPECT_EQ(differs_by_read(self->fd, self->model, self->buf, MB), -1);
	EXPECT_TRUE(is_zero(self->fd, self->buf, MB, 4 * MB));
}

TEST_HARNESS_MAIN
