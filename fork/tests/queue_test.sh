# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
# Tests of fork/base and fork/series.py: there and back. Sourced by tests/run.

edit() { sed -i "$1" "build/linux/$2"; }
commit() { linux commit -qam "$1"; }

test_prepare_gives_the_same_ids_everywhere() {
	fresh
	first=$(linux rev-parse lf)
	mkdir other
	cp -r fork patches mm .gitignore other/
	(cd other && git init -q && TZ=Asia/Tokyo LANG=C GIT_AUTHOR_NAME=Else GIT_COMMITTER_NAME=Else \
		KSRC=$tarball fork/base && fork/series.py prepare)
	same "$first" "$(git -C other/build/linux rev-parse lf)"
	same "$(linux log -1 --format=%an base..lf)" 'Ünï Cödé'
	same "$(linux rev-list --count base..lf)" 3
}

test_prepare_does_not_touch_what_stays() {
	fresh
	before=$(stat -c %Y.%Z build/linux/mm/a.c build/linux/mm/new.c)
	sleep 1.1
	prepare
	same "$before" "$(stat -c %Y.%Z build/linux/mm/a.c build/linux/mm/new.c)"
}

test_refresh_without_change_writes_nothing() {
	fresh
	refresh
	same "$(diff_of_repo)" ''
	check
}

test_refresh_ignores_the_users_git_configuration() {
	cat >"$HOME/.gitconfig" <<-'END'
	[diff]
		noprefix = true
		mnemonicPrefix = true
		algorithm = patience
		context = 7
		renames = copies
		orderFile = /nonexistent
		external = /bin/false
	[format]
		signOff = true
		subjectPrefix = RFC
		signature = bye
		attach = true
		numbered = true
		thread = deep
		headers = "X-Odd: yes"
		notes = true
		coverLetter = true
		from = true
	[core]
		abbrev = 40
		autocrlf = true
		quotePath = false
	[i18n]
		logOutputEncoding = ISO-8859-1
	[commit]
		gpgSign = true
	END
	fresh
	for key in 'diff.noprefix true' 'format.signOff true' 'diff.algorithm histogram' 'core.abbrev 8' \
		'format.subjectPrefix X' 'format.cc someone@example.org' 'format.to b@example.org'; do
		# shellcheck disable=SC2086
		linux config $key
	done
	refresh
	rm "$HOME/.gitconfig"
	same "$(diff_of_repo)" ''
	check
}

test_round_trip_of_a_new_commit() {
	fresh
	edit 's/line 20 of b/line twenty of b/' mm/b.c
	commit 'mm: change b as well'
	tree=$(linux rev-parse 'lf^{tree}')
	refresh
	check
	grep -q '^mm-change-b-as-well.patch$' patches/series
	same "$(tail -1 patches/series)" mm-change-b-as-well.patch
	prepare
	same "$tree" "$(linux rev-parse 'lf^{tree}')"
	grep -q 'A comment that stays' patches/series
	grep -q 'Why this one is here' patches/series
}

test_round_trip_of_a_commit_in_the_middle() {
	fresh
	linux checkout -q -b work lf~1
	edit 's/line 20 of b/line twenty of b/' mm/b.c
	commit 'mm: in the middle'
	linux cherry-pick lf >/dev/null
	linux checkout -q lf
	linux reset -q --hard work
	refresh
	check
	same "$(sed -n '/^mm-/p' patches/series | cut -d' ' -f1 | xargs)" \
		'mm-change-the-tenth-line.patch mm-add-new.c.patch mm-in-the-middle.patch mm-change-the-thirtieth-line.patch'
	# it belongs to the topic of the patch before it
	same "$(grep -n 'in-the-middle\|two (needs' patches/series | cut -d: -f2 | cut -c1-8 | xargs)" 'mm-in-th # --- tw'
}

test_a_dropped_commit_takes_its_files_along() {
	fresh
	linux rebase -q --onto lf~2 lf~1 lf
	refresh
	check
	[ ! -e mm/new.c ]
	[ ! -e patches/mm-add-new.c.patch ]
	hasnt new.c patches/series
}

test_a_new_subject_is_a_new_name() {
	fresh
	linux commit -q --amend -m 'mm: another subject' -m 'And another file.'
	refresh
	check
	[ -e patches/mm-another-subject.patch ]
	[ ! -e patches/mm-change-the-thirtieth-line.patch ]
}

test_an_executable_new_file_stays_one() {
	fresh
	mkdir build/linux/tools/mm
	echo '#!/bin/sh' >build/linux/tools/mm/run.sh
	chmod +x build/linux/tools/mm/run.sh
	linux add tools/mm/run.sh
	commit 'tools/mm: add run.sh'
	refresh
	check
	[ -x tools/mm/run.sh ]
	same "$(linux ls-tree lf tools/mm/run.sh | cut -c1-6)" 100755
}

test_a_new_file_edited_in_the_repo_is_carried() {
	fresh
	echo 'int newer;' >mm/new.c
	prepare
	same "$(cat build/linux/mm/new.c)" 'int newer;'
	same "$(linux show lf~1:mm/new.c)" 'int newer;'
	check
}

test_a_new_file_edited_in_the_repo_survives_a_refresh() {
	fresh
	echo 'int newer;' >mm/new.c
	edit 's/line 20 of b/line twenty of b/' mm/b.c
	commit 'mm: change b as well'
	refresh
	same "$(cat mm/new.c)" 'int newer;'
	same "$(linux show lf:mm/new.c)" 'int newer;'
	same "$(cat build/linux/mm/new.c)" 'int newer;'
	check
}

test_a_new_file_edited_in_build_is_carried() {
	fresh
	echo 'int newest;' >build/linux/mm/new.c
	prepare
	same "$(cat mm/new.c)" 'int newest;'
	same "$(linux show lf~1:mm/new.c)" 'int newest;'
	echo 'int again;' >build/linux/mm/new.c
	refresh
	same "$(cat mm/new.c)" 'int again;'
	same "$(cat build/linux/mm/new.c)" 'int again;'
	check
}

test_a_new_file_edited_on_both_sides_stops() {
	fresh
	echo 'int here;' >mm/new.c
	echo 'int there;' >build/linux/mm/new.c
	for command in prepare refresh; do
		fails 'changed both here and in build/linux: mm/new.c' fork/series.py $command
		fails "make $command KEEP=linux" fork/series.py $command
		same "$(cat mm/new.c)" 'int here;'
		same "$(cat build/linux/mm/new.c)" 'int there;'
	done
	KEEP=linux prepare
	same "$(cat mm/new.c)" 'int there;'
	same "$(cat build/saved/*/mm/new.c)" 'int here;'
	check
	echo 'int here;' >mm/new.c
	echo 'int elsewhere;' >build/linux/mm/new.c
	sleep 1
	KEEP=repo refresh
	same "$(cat build/linux/mm/new.c)" 'int here;'
	grep -q 'int elsewhere;' build/saved/*/mm/new.c
	check
}

test_the_same_edit_on_both_sides_is_none() {
	fresh
	echo 'int same;' >mm/new.c
	echo 'int same;' >build/linux/mm/new.c
	prepare
	check
}

test_a_patch_edited_by_hand_is_prepared() {
	fresh
	sed -i 's/Which is a long story/Which is a short story/' patches/mm-change-the-tenth-line.patch
	fails 'mm-change-the-tenth-line.patch changed since the last prepare' refresh
	prepare
	linux log -1 --format=%B lf~2 | grep -q 'short story'
	check
}

test_patches_and_commits_that_both_changed_stop() {
	fresh
	sed -i 's/long story/short story/' patches/mm-change-the-tenth-line.patch
	edit 's/line 20 of b/line twenty of b/' mm/b.c
	commit 'mm: change b as well'
	fails 'both sides changed: patches/mm-change-the-tenth-line.patch here' refresh
	fails 'commits that are not exported' prepare
	grep -q 'short story' patches/mm-change-the-tenth-line.patch
	KEEP=linux refresh
	check
	grep -q 'long story' patches/mm-change-the-tenth-line.patch
	grep -q 'short story' build/saved/*/patches/mm-change-the-tenth-line.patch
}

test_sync_leaves_work_alone() {
	fresh
	edit 's/line 20 of b/line twenty of b/' mm/b.c
	fork/series.py sync
	grep -q twenty build/linux/mm/b.c
	commit 'mm: change b as well'
	tip=$(linux rev-parse lf)
	fork/series.py sync
	same "$tip" "$(linux rev-parse lf)"
}

# newer VERSION-LINE SED: a git tree with another base
newer() {
	mkdir upstream
	tar -C upstream --strip-components=1 -xf "$tarball"
	(cd upstream && sed -i "$1" Makefile && sed -i "$2" mm/a.c && rm .gitignore && git init -q && git add -A &&
		git commit -qm "Linux, another" && git tag v7.4)
}

test_rebase_to_another_base() {
	fresh
	newer 's/^PATCHLEVEL.*/PATCHLEVEL = 4/' '1i line 0 of a'
	export KSRC="$repo/upstream" BASE=v7.4
	KSRC='' BASE='' fork/base
	fork/base --rebase
	fork/series.py rebase
	unset KSRC BASE
	same "$(head -1 patches/series)" "# base: git v7.4 commit:$(git -C upstream rev-parse v7.4)"
	same "$(linux rev-parse base)" "$(git -C upstream rev-parse v7.4)"
	same "$(linux rev-list --count base..lf)" 3
	check
	same "$(git -C upstream status --porcelain)" ''
	# and a machine that has neither tree nor build starts from there
	rm -rf build
	fails 'make prepare KSRC=THAT-TREE' fork/base
	KSRC=$repo/upstream prepare
	check
}

test_rebase_that_conflicts_can_go_on() {
	fresh
	newer 's/^PATCHLEVEL.*/PATCHLEVEL = 4/' 's/^line 10 of a/line 10 of another/'
	export KSRC="$repo/upstream" BASE=v7.4
	fork/base --rebase
	fails "'mm: change the tenth line' conflicts on the new base, in: mm/a.c" fork/series.py rebase
	unset KSRC BASE
	fails 'in the middle of a git rebase' refresh
	seq -f 'line %g of a' 1 40 | sed 's/^line 10 of a/line ten of another/' >build/linux/mm/a.c
	linux add mm/a.c
	GIT_EDITOR=true linux rebase --continue
	refresh
	check
	grep -q '^+line ten of another' patches/mm-change-the-tenth-line.patch
	head -1 patches/series | grep -q 'git v7.4'
}

test_rebase_given_up_changes_nothing() {
	fresh
	newer 's/^PATCHLEVEL.*/PATCHLEVEL = 4/' 's/^line 10 of a/line 10 of another/'
	KSRC=$repo/upstream BASE=v7.4 fork/base --rebase
	fails 'conflicts on the new base' fork/series.py rebase
	linux rebase --abort
	refresh
	git diff --exit-code
	check
}
