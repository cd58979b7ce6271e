// SPDX-License-Identifier: GPL-2.0
/*
 * clzero PROGRAM [ARGUMENT...]: run PROGRAM on a CPU without CLZERO as if it had
 * it, for instructions of its first thread. Each one that traps is done here, a
 * line of 64 bytes, and counted on stderr at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char clzero[] = { 0x0f, 0x01, 0xfc };

/* The signal to pass on: none if it was a CLZERO, which is done. */
static int emulate(pid_t pid)
{
	static const char zeroes[64];
	unsigned char code[sizeof(clzero)];
	struct user_regs_struct regs;
	struct iovec here = { code, sizeof(code) }, there = { NULL, sizeof(code) };

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return SIGILL;
	there.iov_base = (void *)regs.rip;
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(code) ||
	    memcmp(code, clzero, sizeof(code)))
		return SIGILL;

	here = (struct iovec){ (void *)zeroes, sizeof(zeroes) };
	there = (struct iovec){ (void *)(regs.rax & ~63ULL), sizeof(zeroes) };
	if (process_vm_writev(pid, &here, 1, &there, 1, 0) != sizeof(zeroes))
		return SIGSEGV;
	regs.rip += sizeof(clzero);
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long done = 0;
	int status, sig = 0;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "clzero PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[1], argv + 1);
		fprintf(stderr, "clzero: %s: %s\n", argv[1], strerror(errno));
		_exit(127);
	}
	waitpid(pid, &status, 0);		/* the exec */
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
	for (;;) {
		ptrace(PTRACE_CONT, pid, 0, sig);
		if (waitpid(pid, &status, 0) != pid || WIFEXITED(status) || WIFSIGNALED(status))
			break;
		sig = WSTOPSIG(status);
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			sig = 0;
		if (sig == SIGILL) {
			sig = emulate(pid);
			done += !sig;
		}
	}
	fprintf(stderr, "clzero: %lu instructions emulated\n", done);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
