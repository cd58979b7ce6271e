# SPDX-License-Identifier: GPL-2.0
# linux-lf. Every target is a script in fork/; it says there what it does and
# what it takes from the environment. `make help` is made of the ## comments.

.NOTPARALLEL:
.PHONY: help boot test prepare refresh check-sync rebase list kernel menuconfig deb \
	run shell kunit selftests check tools-test bench bench-report baseline deps base-info clean
# A $ in these is the shell's of the guest, not make's
override CMD := $(value CMD)
override APPEND := $(value APPEND)
override QEMU := $(value QEMU)
override B := $(value B)
override SAVE := $(value SAVE)
export KSRC BASE CONFIG TREE KEEP CPUS NODES MEM TIMEOUT APPEND QEMU CMD RIG T JOBS EXPECT \
	B RUNS ROUNDS TREE_A TREE_B SAVE

# What is there to build: the queue as commits, unless work in build/linux is ahead
sync = fork/deps base && fork/base && fork/series.py sync

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

##@ First
boot: ## all of it: install, fetch, apply, build, boot in QEMU, show what the series does
	@fork/deps boot && $(sync) && fork/kernel && fork/boot
test: ## everything that CI runs
	@fork/deps selftests check && $(sync) && fork/test

##@ Source: patches/ and the new files here <-> commits in build/linux
prepare: ## make the branch lf of build/linux (KSRC=TREE-OR-TARBALL, KEEP=repo|linux)
	@fork/deps base && fork/base && fork/series.py prepare
refresh: ## write the commits of lf back into patches/ and the new files (KEEP=repo|linux)
	@fork/deps base && fork/series.py refresh
check-sync: ## prove that both say the same
	@fork/deps base && fork/base && fork/series.py check-sync
rebase: ## move the series to another base: KSRC=TREE-OR-TARBALL [BASE=COMMIT]
	@fork/deps base && KSRC= BASE= fork/base && fork/base --rebase && fork/series.py rebase
list: ## the series: topic, commit, subject
	@fork/series.py list

##@ Build
kernel: ## CONFIG=vm|debug|um, any +NAME of fork/configs; TREE=base for mainline
	@fork/deps build && $(sync) && fork/kernel
menuconfig: ## look at CONFIG and try changes
	@fork/deps menu && $(sync) && fork/kernel menuconfig
deb: ## Debian packages of the kernel: CONFIG=/boot/config-VERSION, or any config file
	@fork/deps deb && $(sync) && fork/kernel deb

##@ Run: CPUS=2 NODES=1 MEM=2G TIMEOUT=s APPEND='kernel words' QEMU='QEMU words'
run: ## one command on this machine's own root, in the VM: CMD='...'
	@fork/deps vm && fork/vng && $(sync) && fork/kernel && fork/vm run "$$CMD"
shell: ## a prompt there
	@fork/deps vm && fork/vng && $(sync) && fork/kernel && fork/vm shell

##@ Test
kunit: ## KUnit suites that match T='*', RIG=um|vm
	@fork/deps boot && $(sync) && CONFIG=$${CONFIG:-$${RIG:-um}} fork/kernel && fork/kunit
selftests: ## tools/testing/selftests/mm in the VM: T='shmem thp ...'
	@fork/deps selftests && fork/vng && $(sync) && fork/kernel && fork/selftests run "$$T"
check: ## checkpatch, sparse, kernel-doc, coccicheck on the series; shellcheck on fork/
	@fork/deps check && $(sync) && fork/sparse && fork/check
tools-test: ## the tests of fork/ itself, on a small stand-in tree
	@fork/deps check && fork/tests/run
baseline: ## run the mm selftests on mainline, write fork/results/baseline-CONFIG.tsv
	@fork/deps selftests && fork/vng && $(sync) && TREE=base fork/kernel && fork/selftests baseline

##@ Measure
bench: ## mainline and the fork in turn: RIG=um|vm|user B='alloc/* zero copy' RUNS=n SAVE=bench-NAME
	@fork/deps bench && if [ "$$RIG" != user ]; then $(sync); fi && fork/bench/run
bench-report: ## make the tables of README.md and patches/cover-*.md from fork/results
	@fork/bench/report --update

##@ Rest
deps: ## install what all targets need (each target does so for itself)
	@fork/deps all
base-info: ## the base that patches/series pins, and the one in build/linux
	@sed -n 1p patches/series; ! test -e build/linux || git -C build/linux log -1 --format='build/linux: %s %H' base
clean: ## remove kernels and logs of build/; build/linux stays
	@fork/clean
