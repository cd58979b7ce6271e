/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero memory with stores that do not leave it in the cache.
 *
 * Plain C functions, so that ARCH=um and the KUnit tests can call each of them:
 *
 *	void f(void *addr, unsigned long len);
 *
 * @addr is aligned to 64 bytes and @len, in bytes, is a multiple of that and not
 * 0. No FPU state. clear_pages_nocache() relies on %rax, %rdi, %rsi and the flags
 * being all that changes.
 *
 * Such stores are not ordered with others, not even on x86: the fence at the end
 * puts them before whatever tells another CPU that the zeroes are there, as
 * smp_wmb(), which is only for the compiler here, does not.
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/cfi_types.h>

SYM_TYPED_FUNC_START(__clear_pages_movnti)
	xorl	%eax,%eax
	.p2align 4
.Lmovnti:
	movnti	%rax,(%rdi)
	movnti	%rax,8(%rdi)
	movnti	%rax,16(%rdi)
	movnti	%rax,24(%rdi)
	movnti	%rax,32(%rdi)
	movnti	%rax,40(%rdi)
	movnti	%rax,48(%rdi)
	movnti	%rax,56(%rdi)
	addq	$64,%rdi
	subq	$64,%rsi
	jnz	.Lmovnti
	sfence
	RET
SYM_FUNC_END(__clear_pages_movnti)
EXPORT_SYMBOL_GPL(__clear_pages_movnti)

/* For CPUs with X86_FEATURE_CLZERO: it zeroes the line of 64 bytes at %rax. */
SYM_TYPED_FUNC_START(__clear_pages_clzero)
	movq	%rdi,%rax
	.p2align 4
.Lclzero:
	clzero
	addq	$64,%rax
	subq	$64,%rsi
	jnz	.Lclzero
	sfence
	RET
SYM_FUNC_END(__clear_pages_clzero)
EXPORT_SYMBOL_GPL(__clear_pages_clzero)
