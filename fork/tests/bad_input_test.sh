# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
# Bad input: one clear line, a non-zero exit, nothing lost. Sourced by tests/run.

test_ksrc_does_not_exist() {
	KSRC=/nonexistent fails "KSRC=/nonexistent does not exist" fork/base
}

test_ksrc_is_not_a_kernel() {
	mkdir plain
	KSRC=$repo/plain fails 'neither a git tree nor a tarball' fork/base
	git -C plain init -q
	echo hi >plain/file
	git -C plain add file
	git -C plain commit -qm hi
	KSRC=$repo/plain fails 'not a kernel tree' fork/base
	tar -cf plain.tar plain
	KSRC=$repo/plain.tar fails 'not a kernel source' fork/base
	echo text >text.tar
	KSRC=$repo/text.tar fails 'not a tarball' fork/base
	[ ! -e build/linux ]
	[ -e plain/file ]
}

kernel_tree() {
	mkdir upstream
	tar -C upstream --strip-components=1 -xf "$tarball"
	(cd upstream && sed -i "$1" Makefile && rm .gitignore && git init -q && git add -A && git commit -qm "Linux, another")
}

test_ksrc_is_another_version() {
	kernel_tree 's/^PATCHLEVEL.*/PATCHLEVEL = 4/'
	KSRC=$repo/upstream fails 'KSRC is Linux 7.4.4, the series needs 7.3.y.*make rebase' fork/base
	[ ! -e build/linux ]
}

test_ksrc_is_another_stable_version() {
	kernel_tree 's/^SUBLEVEL.*/SUBLEVEL = 5/'
	KSRC=$repo/upstream prepare >out 2>&1
	grep -q 'warning: the base is Linux 7.3.5, the series is made for linux-source-7.3 7.3.4' out
	fork/series.py check-sync
	same "$(git -C upstream status --porcelain)" ''
}

test_ksrc_is_dirty() {
	kernel_tree ''
	echo more >>upstream/mm/a.c
	KSRC=$repo/upstream fails 'has uncommitted changes: commit or stash' fork/base
	KSRC=$repo/upstream BASE=nothing fails "has no commit 'nothing'" fork/base
	grep -q more upstream/mm/a.c
}

test_the_tarball_has_another_sum() {
	mkdir other
	cp "$tarball" other/
	"$here/standin" "$repo/x/linux-source-7.3"
	echo more >>x/linux-source-7.3/mm/a.c
	tar -C x -cJf other/linux-source-7.3.tar.xz linux-source-7.3
	KSRC=$repo/other/linux-source-7.3.tar.xz fails 'patches/series pins .* damaged or changed' fork/base
	[ ! -e build/linux ]
}

test_no_network() {
	# shellcheck disable=SC2016
	fake apt-get 'case $1 in indextargets) echo http://mirror.invalid/debian ;; *) echo "E: Could not resolve" >&2; exit 100 ;; esac'
	fails 'no network, or no package linux-source-7.3 in Debian.s trixie-backports: E: Could not resolve' \
		fork/debget trixie-backports linux-source-7.3 dest
	fake apt-get 'exit 0'
	fails 'apt knows no mirror' fork/debget trixie-backports linux-source-7.3 dest
}

test_disk_too_small() {
	fake df 'echo Filesystem; echo /dev/x 1 1 10485760 1% /'
	KSRC=$tarball fails '10 GB free at .* 15 GB needed' fork/base
	[ ! -e build/linux ]
}

test_a_patch_that_does_not_apply() {
	sed -i 's/^-line 30 of a/-line 30 of else/; s/^ line 29 of a/ line 29 of else/' patches/mm-change-the-thirtieth-line.patch
	KSRC=$tarball fork/base
	fails 'patches/mm-change-the-thirtieth-line.patch does not apply: patch failed: mm/a.c' fork/series.py prepare
	fails 'git -C build/linux am -3' fork/series.py prepare
	# what it says to type, and the hunk mended there
	linux reset -q --keep base
	if linux am -q -3 "$PWD"/build/am/*; then return 1; fi
	sed -i 's/^line 30 of a/line thirty of a/' build/linux/mm/a.c
	sed -i 's/^line 5 of b/line five of b/' build/linux/mm/b.c
	linux add mm
	linux am -q --continue
	KEEP=linux fork/series.py refresh
	fork/series.py check-sync
	same "$(linux rev-list --count base..lf)" 3
	# by hand works too
	sed -i 's/^-line 30 of a/-line 30 of else/' patches/mm-change-the-thirtieth-line.patch
	fails 'does not apply' fork/series.py prepare
	git checkout -q patches/mm-change-the-thirtieth-line.patch
	prepare
}

test_a_new_file_that_the_base_has() {
	echo mine >mm/b.c
	sed -i 's|mm/new.c|mm/new.c mm/b.c|' patches/series
	KSRC=$tarball fork/base
	fails 'mm/b.c exists in the base: change it in build/linux' fork/series.py prepare
	grep -q mine mm/b.c
}

test_a_new_file_changed_by_two_commits() {
	fresh
	echo 'int two;' >build/linux/mm/new.c
	linux commit -qam 'mm: and again'
	fails "mm/new.c is changed by two commits, 'mm: add new.c' and 'mm: and again'" refresh
	fails 'rebase -i base' refresh
	same "$(git status --porcelain)" ''
}

test_commits_that_are_not_exported() {
	fresh
	sed -i 's/line 20/line twenty/' build/linux/mm/b.c
	fails 'changes that are not committed: mm/b.c' fork/series.py prepare
	fails 'changes that are not committed: mm/b.c' refresh
	linux commit -qam 'mm: change b as well'
	tip=$(linux rev-parse lf)
	fails 'commits that are not exported' fork/series.py prepare
	fails 'make refresh' fork/series.py prepare
	fails 'other commits than the queue' fork/series.py check-sync
	same "$tip" "$(linux rev-parse lf)"
	KEEP=repo prepare
	same "$tip" "$(linux rev-parse "$(linux branch --list 'saved-*' | tr -d ' ')")"
}

test_fixups_and_signatures_are_not_exported() {
	fresh
	sed -i 's/line 20/line twenty/' build/linux/mm/b.c
	linux commit -qam 'fixup! mm: change the thirtieth line'
	fails 'not folded yet: .*autosquash' refresh
	linux commit -q --amend -m 'mm: signed' -m 'Signed-off-by: A <a@example.org>'
	fails 'carries a Signed-off-by' refresh
}

test_a_queue_that_is_not_in_order() {
	fresh
	touch patches/stray.patch
	fails 'patches/stray.patch is not in patches/series' fork/series.py check-sync
	rm patches/stray.patch
	echo x >mm/stray.c
	fails 'mm/stray.c lies at a kernel path but no patch' fork/series.py check-sync
	rm mm/stray.c
	sed -i 's/needs one/needs three/' patches/series
	fails 'topic two needs three' fork/series.py check-sync
	git checkout -q patches
	sed -i '1s/.*/# base: something/' patches/series
	fails 'the first line must be' fork/series.py check-sync
	fails 'the first line must be' fork/base
}

test_build_linux_is_somebody_elses() {
	mkdir -p build/linux
	echo precious >build/linux/file
	fails 'not a tree of ours' fork/base
	KSRC=$tarball fails 'not a tree of ours' fork/base
	grep -q precious build/linux/file
}

test_another_ksrc_than_the_one_in_use() {
	fresh
	kernel_tree 's/^SUBLEVEL.*/SUBLEVEL = 5/'
	KSRC=$repo/upstream fails 'build/linux has another base' fork/base
	check
}

test_unknown_configurations() {
	fresh
	CONFIG=nonsense fails "no configuration 'nonsense'; there are: .*vm" fork/kernel
	CONFIG=vm+nonsense fails "no configuration 'nonsense'" fork/kernel
	CONFIG=vm+um fails 'do not go together' fork/kernel
	CONFIG=/nonexistent.config fails 'no such file' fork/kernel
	TREE=other fails 'lf or base' fork/kernel
	RIG=other fails 'um or vm' fork/kunit
	KEEP=both fails 'repo or linux' fork/series.py prepare
}

# The stand-in's Makefile drops CONFIG_GONE, as Kconfig drops what it cannot have.
test_a_symbol_that_kconfig_drops() {
	fresh
	printf '# arch: x86_64\nCONFIG_KEPT=y\n' >fork/configs/tiny.config
	CONFIG=tiny fork/kernel
	[ -e build/tiny/arch/x86/boot/bzImage ]
	printf 'CONFIG_GONE=y\n' >fork/configs/gone.config
	CONFIG=tiny+gone fails 'Kconfig drops .*CONFIG_GONE=y' fork/kernel
	CONFIG=tiny+gone fails 'Kconfig drops .*CONFIG_GONE=y' fork/kernel
}

test_a_kernel_that_does_not_build() {
	fresh
	printf '# arch: x86_64\nCONFIG_KEPT=y\n' >fork/configs/tiny.config
	echo 'not C' >mm/new.c
	prepare
	CONFIG=tiny fails 'mm/a.c:1:1: error: not C' fork/kernel
}

# vm_with OUTPUT...: a machine that prints this and ends
vm_with() {
	mkdir -p build/vm/arch/x86/boot
	touch build/vm/arch/x86/boot/bzImage
	printf '%s\n' "$@" >"$repo.console"
	fake qemu-system-x86_64 "cat $repo.console"
	echo true >script
}

test_a_guest_that_is_fine() {
	vm_with 'booting' '@@LF-BEGIN' 'hello' '@@LF-END rc=0'
	fork/vm boot script >out
	grep -q '^hello' out
}

test_a_guest_whose_command_fails() {
	vm_with '@@LF-BEGIN' '@@LF-END rc=7'
	fails 'exit code 7' fork/vm boot script
}

test_a_guest_that_panics() {
	vm_with '@@LF-BEGIN' 'Kernel panic - not syncing: VFS'
	fails 'the console shows: Kernel panic' fork/vm boot script
}

test_a_guest_that_warns() {
	vm_with 'WARNING: mm/a.c:1 at some/0x10' '@@LF-BEGIN' '@@LF-END rc=0'
	fails 'the console shows: WARNING: mm/a.c' fork/vm boot script
	EXPECT='WARNING: mm/a.c' fork/vm boot script
	EXPECT='WARNING: mm/b.c' fails 'the console shows' fork/vm boot script
	vm_with '@@LF-BEGIN' '@@LF-END rc=0'
	EXPECT='WARNING: mm/b.c' fails 'does not show' fork/vm boot script
}

test_a_guest_that_says_nothing() {
	vm_with 'booting'
	fails 'no end marker' fork/vm boot script
}

test_a_guest_that_hangs() {
	vm_with ''
	fake qemu-system-x86_64 'echo @@LF-BEGIN; exec sleep 60'
	TIMEOUT=2 fails 'no end after 2 s' fork/vm boot script
}

test_a_vm_without_a_kernel() {
	fresh
	echo true >script
	fails 'not built: make kernel CONFIG=vm' fork/vm boot script
}

test_odd_words_for_the_vm() {
	CPUS=many fails 'CPUS=many: a number from 1 to' fork/vm boot x
	NODES=2 CPUS=1 fails 'at least one CPU a node' fork/vm boot x
	MEM=lots fails 'MEM=lots: as in 512M' fork/vm boot x
	fails "make run CMD=" fork/vm run ''
	fails 'needs a terminal' fork/vm shell </dev/null
}

test_tests_that_match_nothing() {
	fresh
	mkdir -p build/um
	printf '#!/bin/sh\necho no TAP at all\n' >build/um/linux
	chmod +x build/um/linux
	T='nothing*' fails "no test matches T='nothing\*'" fork/kunit
	vm_with 'no TAP at all'
	RIG=vm T='nothing*' fails "no test matches T='nothing" fork/kunit
	fails "no category 'nothing' .* there are: mmap thp" fork/selftests run nothing
}

test_missing_packages_without_root() {
	fake dpkg-query 'exit 1'
	fake sudo 'exit 1'
	chmod -R a+rX "$repo" "$repo.bin"
	if [ "$(id -u)" = 0 ]; then
		fails 'missing packages and no root. Type: sudo apt-get install .*gcc' \
			setpriv --reuid=65534 --clear-groups fork/deps build
	else
		fails 'missing packages and no root. Type: sudo apt-get install .*gcc' fork/deps build </dev/null
	fi
	fails "no group 'everything'" fork/deps everything
}

test_deb_needs_a_configuration_of_the_users() {
	fresh
	fails 'configuration for real hardware' fork/kernel deb
}

# The words of `vm run`, category by category, from files that a test writes
vm_says() {
	mkdir -p build/selftests
	cat >fork/vm <<-'END'
	#!/bin/sh
	n=$(cat build/n 2>/dev/null || echo 0)
	echo $((n + 1)) >build/n
	cat "build/says-$n" 2>/dev/null || cat build/says-0
	END
	rm -f build/n
	# no test program is built here
	sed -i 's/^    build()$/    pass/' fork/selftests
}
pass='ok 1 test_a
vm: run: exit code 0, 1 s'

test_selftests_that_pass_fail_and_skip() {
	fresh
	mkdir -p fork/results
	vm_says
	echo "$pass" >build/says-0
	fork/selftests run mmap
	printf 'not ok 1 test_a # exit=1\nvm: run: exit code 0, 1 s\n' >build/says-0
	fails 'FAIL mmap test_a' fork/selftests run mmap
	printf 'mmap\ttest_a\tfail\t1\t\n' >fork/results/baseline-vm.tsv
	printf 'not ok 1 test_a # exit=1\nok 2 test_b\nvm: run: exit code 0, 1 s\n' >build/says-0
	fork/selftests run mmap >out
	grep -q 'skip mmap test_a: fails on mainline here too' out
	printf 'mmap\ttest_a\tpass\t1\tflaky: failed before\n' >fork/results/baseline-vm.tsv
	fork/selftests run mmap >out
	grep -q 'skip mmap test_a: fails on mainline here too, now and then' out
	printf 'ok 1 test_a # SKIP\nok 2 test_b\nvm: run: exit code 0, 1 s\n' >build/says-0
	printf 'mmap\ttest_a\tpass\t1\t\n' >fork/results/baseline-vm.tsv
	fails 'test_a: skipped, which mainline is not here' fork/selftests run mmap
	printf 'mmap\ttest_a\tpass\t1\t\nmmap\ttest_c\tpass\t1\t\n' >fork/results/baseline-vm.tsv
	echo "$pass" >build/says-0
	fails 'test_c: in the baseline, but did not run' fork/selftests run mmap
}

test_selftests_flaky_is_named_a_bug_not_forgiven() {
	fresh
	mkdir -p fork/results
	vm_says
	printf 'not ok 1 test_a # exit=1\nvm: run: exit code 0, 1 s\n' >build/says-0
	echo "$pass" >build/says-1
	fork/selftests run mmap >out
	grep -q 'flaky mmap test_a' out
	rm build/n
	printf 'ok 1 test_a\nvm: run: the console shows: BUG: KASAN, 1 s\n' >build/says-0
	fails 'the kernel complained' fork/selftests run mmap
	rm build/n
	printf 'vm: run: no end marker, 1 s\n' >build/says-0
	printf 'not ok 2 test_b # exit=1\nvm: run: exit code 0, 1 s\n' >build/says-1
	cp build/says-1 build/says-2
	fails 'FAIL mmap test_b' fork/selftests run mmap
	rm build/n
	rm build/says-1 build/says-2
	fails 'no test was run' fork/selftests run mmap
}

test_clean_removes_what_fork_made_only() {
	fresh
	printf '# arch: x86_64\nCONFIG_KEPT=y\n' >fork/configs/tiny.config
	CONFIG=tiny fork/kernel
	mkdir build/photos build/linux.old build/saved
	fork/clean
	[ -d build/photos ]
	[ -d build/linux.old ]
	[ -d build/saved ]
	[ -d build/linux ]
	[ ! -e build/tiny ]
	[ ! -e build/logs ]
}

test_a_hooks_git_dir_is_left_alone() {
	GIT_DIR=$repo/.git GIT_INDEX_FILE=$repo/.git/index KSRC=$tarball fork/base
	GIT_DIR=$repo/.git GIT_WORK_TREE=$repo fork/series.py prepare
	same "$(git status --porcelain)" ''
	same "$(git branch --list lf)" ''
	check
}

test_what_a_mail_cannot_say() {
	fresh
	for subject in '[RFC] mm: b' 'Re: mm: b'; do
		sed -i 's/line 20/line twenty/' build/linux/mm/b.c
		linux commit -qam "$subject"
		fails 'a mail would change its message' refresh
		linux reset -q --hard HEAD^
	done
	sed -i 's/line 20/line twenty/' build/linux/mm/b.c
	linux commit -qam "mm: b

From: Somebody Else <s@example.org>

Text."
	fails 'a mail would change its author' refresh
	linux reset -q --hard HEAD^
	linux commit -q --allow-empty -m 'mm: nothing'
	fails 'changes nothing' refresh
	linux reset -q --hard HEAD^
	echo x >'build/linux/mm/my file.c'
	linux add mm
	linux commit -qm 'mm: a file with a space'
	fails 'no spaces' refresh
	linux reset -q --hard HEAD^
	same "$(git status --porcelain)" ''
	refresh
	check
}

test_a_binary_change_is_carried() {
	fresh
	printf '\000\001\002' >build/linux/tools/blob
	linux add -f tools/blob
	linux commit -qm 'tools: a blob'
	refresh
	check
}

test_a_changed_pin_is_noticed() {
	fresh
	sed -i '1s/sha256:.*/sha256:0123/' patches/series
	fails 'pins another base now' fork/base
}

test_check_sync_looks_at_head() {
	fresh
	linux checkout -q --detach base
	fails 'not on the branch lf' check
}

test_sync_stops_when_both_sides_moved() {
	fresh
	sed -i 's/line 20/line twenty/' build/linux/mm/b.c
	linux commit -qam 'mm: b'
	echo 'int edited;' >mm/new.c
	fails 'the queue changed here, but build/linux is busy' fork/series.py sync
}

test_rebase_keeps_edits_that_were_not_prepared() {
	fresh
	kernel_tree 's/^PATCHLEVEL.*/PATCHLEVEL = 4/'
	sed -i 's/long story/short story/' patches/mm-change-the-tenth-line.patch
	KSRC=$repo/upstream fork/base --rebase
	fails 'patches/ changed since the last prepare' fork/series.py rebase
	grep -q 'short story' patches/mm-change-the-tenth-line.patch
}

test_a_dropped_new_file_that_was_edited_stops() {
	fresh
	linux rebase -q --onto lf~2 lf~1 lf
	echo 'int edited;' >mm/new.c
	fails 'changed both|no commit of lf brings it' refresh
	KEEP=repo fails 'no commit of lf brings it' refresh
	grep -q edited mm/new.c
}
