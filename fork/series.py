#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The patch queue, patches/ and the new files beside it <-> commits in build/linux.

    series.py prepare     make the branch lf of build/linux out of the queue
    series.py refresh     write the commits of lf back into the queue
    series.py check-sync  prove that both say the same, byte for byte
    series.py rebase      move the queue to the base that fork/base fetched
    series.py sync        prepare, for a build: commits that are ahead stay as they are
    series.py list        print the series: topic, commit, subject
    series.py mainline    print the commit to compare with: base and the topic bench

prepare and refresh remember what they last wrote, in build/linux/.git/lf-state.
A new file that has changed on one side since then is carried to the other. If
both sides changed, nothing is written; KEEP=repo or KEEP=linux decides, and the
side that loses is kept in build/saved or on a branch.
"""
import hashlib, json, os, re, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINUX = os.path.join(ROOT, "build/linux")
STATE = os.path.join(LINUX, ".git/lf-state")
# Where the repo holds kernel files; nothing else may lie there.
KERNEL_DIRS = ("mm include tools Documentation scripts arch lib fs kernel init block "
               "net drivers security samples virt usr io_uring ipc crypto rust").split()
IDENT = {"GIT_COMMITTER_NAME": "linux-lf", "GIT_COMMITTER_EMAIL": "linux-lf@localhost"}
# The export may not depend on anybody's git configuration.
FIXED = [x for o in """diff.noprefix=false diff.mnemonicPrefix=false diff.algorithm=myers
    diff.context=3 diff.interHunkContext=0 diff.suppressBlankEmpty=false diff.renames=false
    diff.indentHeuristic=true diff.orderFile=/dev/null diff.wsErrorHighlight=none core.quotePath=true
    core.autocrlf=false core.fileMode=true color.ui=false format.signOff=false
    format.subjectPrefix=PATCH format.encodeEmailHeaders=false format.mboxrd=false
    format.useAutoBase=false i18n.logOutputEncoding=UTF-8 core.commentChar=#
    i18n.commitEncoding=UTF-8 mailinfo.scissors=false apply.whitespace=nowarn core.attributesFile=/dev/null""".split()
    for x in ("-c", o)]


# What names another repository (a hook's GIT_DIR, say) or changes the output
LOCAL_ENV = subprocess.run(["git", "rev-parse", "--local-env-vars"], stdout=subprocess.PIPE,
                           text=True).stdout.split() + ["GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"]


def die(*lines):
    print("series: error: " + "\n    ".join(lines), file=sys.stderr)
    sys.exit(1)


def say(line):
    print("series: " + line, flush=True)


def run(*args, input=None, env=None, ok=(0,), cwd=LINUX):
    e = {k: v for k, v in os.environ.items() if k not in LOCAL_ENV}
    e.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
             LC_ALL="C.UTF-8", TZ="UTC", **(env or {}))
    p = subprocess.run(["git", *FIXED, *args], cwd=cwd, env=e, input=input,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ok and p.returncode not in ok:
        die("git %s failed: %s" % (" ".join(args[:3]), p.stderr.decode(errors="replace").strip()))
    return p


def git(*args, **kw):
    return run(*args, **kw).stdout.decode(errors="surrogateescape").rstrip("\n")


def read(path, none=False):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        if none:
            return None
        raise
    except (IsADirectoryError, NotADirectoryError):
        die("%s is a directory, or lies in what is a file: move it away" % os.path.relpath(path, ROOT))


def write(path, data):
    if read(path, none=True) != data:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        executable = os.access(path, os.X_OK)
        with open(path + ".lf-new", "wb") as f:
            f.write(data)
        if executable:
            os.chmod(path + ".lf-new", 0o755)
        os.replace(path + ".lf-new", path)      # whole or not at all
        return True
    return False


def sha(data):
    return None if data is None else hashlib.sha256(data).hexdigest()


def repo(path):
    return os.path.join(ROOT, path)


class Patch:
    def __init__(self, name, files=(), line=None, lead=()):
        self.name, self.files, self.line, self.lead = name, list(files), line, list(lead)


class Queue:
    """patches/series: base line, topics (heading lines + patches), last lines."""

    def __init__(self):
        path = repo("patches/series")
        text = (read(path, none=True) or die("patches/series is missing: git checkout patches/series")
                ).decode()
        lines = text.splitlines()
        if not lines or not re.match(r"# base: \S+ \S+ \w+:\S+$", lines[0]):
            die("patches/series: the first line must be '# base: NAME VERSION sha256:SUM'")
        self.base, self.topics, lead = lines[0], [([], [])], []
        for line in lines[1:]:
            body = line.split("#")[0].split()
            if body:
                self.topics[-1][1].append(Patch(body[0], body[1:], line, lead))
                lead = []
            elif line.startswith("# ---"):
                self.topics.append((lead + [line], []))
                lead = []
            else:
                lead.append(line)
        self.tail = lead
        self.lint()

    def patches(self):
        return [p for _, ps in self.topics for p in ps]

    def new_files(self):
        return {f: p for p in self.patches() for f in p.files}

    def lint(self):
        seen, subjects, bad = set(), {}, []
        for p in self.patches():
            if p.name in seen:
                bad.append("patches/series names %s twice" % p.name)
            seen.add(p.name)
            if not os.path.isfile(repo("patches/" + p.name)):
                bad.append("patches/series names %s, which does not exist" % p.name)
            else:
                subject = subject_of(read(repo("patches/" + p.name)))
                if subject in subjects:
                    bad.append("%s and %s have one subject, '%s'" % (subjects[subject], p.name, subject))
                subjects[subject] = p.name
            for f in p.files:
                if f.split("/")[0] not in KERNEL_DIRS or ".." in f:
                    bad.append("%s (of %s) is not a kernel path" % (f, p.name))
                elif not os.path.isfile(repo(f)):
                    bad.append("patches/series brings %s, which does not exist" % f)
        files = [f for p in self.patches() for f in p.files]
        bad += ["%s is brought by two patches: one of them only" % f
                for f in sorted({f for f in files if files.count(f) > 1})]
        for f in sorted(os.listdir(repo("patches"))):
            if f.endswith(".patch") and f not in seen:
                bad.append("patches/%s is not in patches/series: add its line, or remove it" % f)
        topics = []
        for head, _ in self.topics[1:]:
            m = re.match(r"# --- ([a-z0-9-]+)(?: \(needs ([a-z0-9 -]+)\))? ---$", head[-1])
            if not m:
                bad.append("patches/series: '%s' is not '# --- topic (needs a b) ---'" % head[-1])
                continue
            bad += ["topic %s needs %s, which does not come before it" % (m[1], n)
                    for n in (m[2] or "").split() if n not in topics]
            topics.append(m[1])
        if bad:
            die(*bad)

    def strangers(self):
        """Files at kernel paths that no patch brings."""
        listed = git("ls-files", "-co", "--exclude-standard", "--", *KERNEL_DIRS, cwd=ROOT)
        return [f for f in listed.splitlines()
                if f not in self.new_files() and os.path.isfile(repo(f))]

    def text(self, base=None):
        out = [base or self.base]
        width = max([40] + [len(p.name) for p in self.patches()]) + 1
        for head, ps in self.topics:
            out += head
            for p in ps:
                line = (p.name.ljust(width) + " ".join(p.files)).rstrip()
                same = p.line is not None and p.line.split("#")[0].split() == [p.name] + p.files
                out += p.lead + [p.line if same else line]
        return ("\n".join(out + self.tail) + "\n").encode()

    def digest(self):
        """What counts as a change of the queue, new files apart."""
        d = {"series": sha(self.text())}
        for p in self.patches():
            d[p.name] = sha(read(repo("patches/" + p.name)))
        return d


def full_mail(p):
    """The patch with the new files it brings as hunks, as git am wants it."""
    mail = read(repo("patches/" + p.name))
    for f in p.files:
        mail += run("diff", "--no-index", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/",
                    "--", "/dev/null", f, cwd=ROOT, ok=(0, 1)).stdout
    return mail


class Failed(Exception):
    def __init__(self, index, patch, why):
        self.index, self.patch, self.why = index, patch, why


def import_queue(q):
    """Make the commits of the queue, touching no work tree. Returns their ids."""
    index = {"GIT_INDEX_FILE": os.path.join(LINUX, ".git/lf-index")}
    msgf, difff = (os.path.join(LINUX, ".git/lf-" + n) for n in ("msg", "diff"))
    parent = git("rev-parse", "base^{commit}")
    git("read-tree", parent, env=index)
    old, commits = git("rev-parse", "base^{tree}"), []
    for i, p in enumerate(q.patches()):
        head = git("mailinfo", msgf, difff, input=read(repo("patches/" + p.name)))
        info = dict(l.split(": ", 1) for l in head.splitlines() if ": " in l)
        if not {"Author", "Email", "Subject", "Date"} <= set(info):
            raise Failed(i, p, "it has no From:, Date: or Subject: line")
        message = (info["Subject"] + "\n\n" + read(msgf).decode()).strip() + "\n"
        if re.search(r"^signed-off-by:", message, re.I | re.M):
            raise Failed(i, p, "it carries a Signed-off-by: the queue has none, the sender signs")
        diff = read(difff)
        # git apply refuses these too, but does not say what to do about it
        for m in re.finditer(rb"^new file mode.*\n(?:.*\n)*?\+\+\+ b/(.*)", diff, re.M):
            raise Failed(i, p, "its hunks create %s: a new file is a file here, at that path, "
                               "named in patches/series" % m[1].decode())
        if re.search(rb"^diff --git ", diff, re.M):
            r = run("apply", "--cached", difff, env=index, ok=None)
            if r.returncode:
                r = run("apply", "--cached", "--3way", difff, env=index, ok=None)
            if r.returncode or b"<<<<<<<" in r.stdout:
                raise Failed(i, p, "; ".join(
                    l[7:] for l in r.stderr.decode().splitlines() if l.startswith("error: ")))
        for f in p.files:
            if run("cat-file", "-e", "base:" + f, ok=None).returncode == 0:
                raise Failed(i, p, "%s exists in the base: change it in build/linux, commit, "
                                   "make refresh; remove it here and in patches/series" % f)
            blob = git("hash-object", "-w", "--no-filters", repo(f))
            mode = "100755" if os.access(repo(f), os.X_OK) else "100644"
            git("update-index", "--add", "--cacheinfo", "%s,%s,%s" % (mode, blob, f), env=index)
        tree = git("write-tree", env=index)
        if tree == old:
            raise Failed(i, p, "it changes nothing: give it a hunk or a new file")
        parent = git("commit-tree", tree, "-p", parent, input=message.encode(), env=dict(
            IDENT, GIT_COMMITTER_DATE=info["Date"], GIT_AUTHOR_DATE=info["Date"],
            GIT_AUTHOR_NAME=info["Author"], GIT_AUTHOR_EMAIL=info["Email"]))
        old = tree
        commits.append(parent)
    return commits


def slug(subject):
    return re.sub(r"[^a-z0-9_]+", "-", subject.lower()).strip("-")[:60].strip("-") + ".patch"


def subject_of(mail):
    m = re.search(r"^Subject: (?:\[PATCH[^]]*\] )?(.*(?:\n[ \t].*)*)", mail.decode(errors="replace"), re.M)
    return re.sub(r"\n[ \t]", " ", m[1]) if m else ""


def hunks(mail):
    m = re.search(rb"^diff --git ", mail, re.M)
    return mail[m.start():] if m else b""


def exact(c, subject, mail):
    """A mail cannot say all that a commit can; stop before anything is lost."""
    msgf = os.path.join(LINUX, ".git/lf-msg")
    head = git("mailinfo", msgf, os.path.join(LINUX, ".git/lf-diff"), input=mail)
    info = dict(l.split(": ", 1) for l in head.splitlines() if ": " in l)
    want = git("log", "-1", "--format=%an%n%ae%n%at%n%B", c).split("\n", 3)
    got = [info.get("Author"), info.get("Email"), git(
        "log", "-1", "--format=%at", git("commit-tree", "base^{tree}", input=b"x", env=dict(
            IDENT, GIT_AUTHOR_NAME="x", GIT_AUTHOR_EMAIL="x", GIT_AUTHOR_DATE=info.get("Date", "")))),
        info.get("Subject", "") + "\n\n" + read(msgf).decode(errors="surrogateescape")]
    for what, a, b in zip(("author", "author's address", "date", "message"), want, got):
        if what == "message":
            a, b = (re.sub(r"[ \t]+$", "", x.strip(), flags=re.M) for x in (a, b))
        if a != b:
            die("commit '%s': a mail would change its %s, from '%s' to '%s': reword it" % (
                subject, what, *[(x or "")[:60].replace("\n", "|") for x in (a, b)]),
                "(no [tag] or Re: before the subject, no From:, Date: or Subject: line at the top of the text)")


def export(q, tip):
    """(queue, {patch: bytes}, {new file: (bytes, executable)}) of base..tip."""
    if git("rev-list", "--merges", "base.." + tip):
        die("lf holds a merge: git -C build/linux rebase base")
    if git("merge-base", "base", tip) != git("rev-parse", "base^{commit}"):
        die("lf does not stand on the tag base: git -C build/linux rebase base lf "
            "(make rebase moves the series to another base)")
    topic_of, name_of, hunks_of = {}, {}, {}
    for t, (_, ps) in enumerate(q.topics):
        for p in ps:
            topic_of[p.name] = t
            data = read(repo("patches/" + p.name), none=True)
            if data:
                name_of[subject_of(data)] = p
                hunks_of[hunks(data), tuple(sorted(p.files))] = p
    brought, patches, files, order, topic, used = {}, {}, {}, [], None, set()
    for c in git("rev-list", "--reverse", "base.." + tip).splitlines():
        subject = git("log", "-1", "--format=%s", c)
        if re.match(r"(fixup|squash|amend)! ", subject):
            die("'%s' is not folded yet: git -C build/linux rebase -i --autosquash base" % subject)
        body = git("log", "-1", "--format=%B", c)
        if re.search(r"^signed-off-by:", body, re.I | re.M):
            die("commit '%s' carries a Signed-off-by; the queue has none, the sender signs:" % subject,
                "git -C build/linux rebase -i base, reword it")
        if re.search(r"^(---|diff |Index: )", body, re.M):
            die("commit '%s': a line of its message starts with '---', 'diff ' or 'Index: ', which "
                "ends a message in a mail: reword it" % subject)
        new = []
        if git("rev-parse", c + "^{tree}") == git("rev-parse", c + "^^{tree}"):
            die("commit '%s' changes nothing: git -C build/linux rebase -i base, drop it" % subject)
        changes = git("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", c).split("\0")
        for meta, f in zip(changes[::2], changes[1::2]):
            _, mode, _, blob, kind = meta.split()
            if f in brought:
                die("%s is changed by two commits, '%s' and '%s'; a new file enters whole:" % (f, brought[f], subject),
                    "git -C build/linux rebase -i base, and make the second a fixup of the first")
            if kind == "T" or mode == "160000":
                die("'%s' turns %s into a link or a submodule, which a queue of patches cannot carry" % (subject, f))
            if kind == "A":
                if re.search(r"[\s#]", f):
                    die("%s: no spaces and no # in the name of a new file" % f)
                if run("cat-file", "-e", "base:" + f, ok=None).returncode == 0:
                    die("'%s' brings back %s, which an earlier commit removed: fold the two" % (subject, f))
                if mode not in ("100644", "100755"):
                    die("%s is not a plain file" % f)
                if f.split("/")[0] not in KERNEL_DIRS:
                    die("%s is no kernel path for a new file: one of %s" % (f, " ".join(KERNEL_DIRS)))
                brought[f] = subject
                new.append(f)
                files[f] = (run("cat-file", "blob", blob).stdout, mode == "100755")
        mail = run("format-patch", "--stdout", "--always", "--sparse", "--zero-commit",
                   "--no-signature", "--no-numbered", "--no-stat", "--abbrev=12", "--no-renames",
                   "--no-base", "--no-notes", "--no-ext-diff", "--no-textconv", "--no-from",
                   "--no-to", "--no-cc", "--no-add-header", "--no-attach", "--no-thread",
                   "--no-cover-letter", "--no-relative", "--no-signoff", "--unified=3", c + "^.." + c, "--", ".",
                   *(":(exclude,top,literal)" + f for f in new)).stdout
        exact(c, subject, mail)
        p = name_of.get(subject)
        if p is None:       # reworded: the place stays, the name follows the subject
            p = hunks_of.get((hunks(mail), tuple(sorted(new))))
            if p and p.name not in used:
                topic, p = topic_of[p.name], Patch(slug(subject), p.files, None, p.lead)
                topic_of[p.name] = topic
        name = p.name if p and p.name not in used else slug(subject)
        if name in used:
            die("two commits would be %s: give '%s' another subject" % (name, subject))
        used.add(name)
        if p and p.name == name:
            topic = topic_of[name]
        elif topic is None:
            topic = min(1, len(q.topics) - 1)
        if order and topic != order[-1][0] and topic in [t for t, _ in order]:
            die("'%s' stands among another topic's commits: reorder with git -C build/linux rebase -i base"
                % subject)
        files_now = p.files if p and sorted(p.files) == sorted(new) else sorted(new)
        order.append((topic, Patch(name, files_now, p and p.name == name and p.line or None,
                                   p.lead if p and p.name == name else [])))
        patches[name] = mail
    done = Queue.__new__(Queue)
    done.base, done.tail = q.base, q.tail
    seen = list(dict.fromkeys(t for t, _ in order))
    rank = list(range(len(q.topics)))           # topics without patches stay where they are
    for slot, t in zip(sorted(seen), seen):
        rank[slot] = t
    done.topics = [(q.topics[t][0], [p for u, p in order if u == t]) for t in rank]
    return done, patches, files


# --- what was written last ---

def load_state():
    data = read(STATE, none=True)
    return json.loads(data) if data else None


def save_state(q, tip):
    write(STATE, json.dumps({
        "tip": tip, "queue": q.digest(),
        "files": {f: sha(read(repo(f))) for f in q.new_files()}}, indent=1).encode())


def on_lf():
    for f, what in (("rebase-merge", "rebase"), ("rebase-apply", "am"), ("MERGE_HEAD", "merge"),
                    ("CHERRY_PICK_HEAD", "cherry-pick")):
        if os.path.exists(os.path.join(LINUX, ".git", f)):
            die("build/linux is in the middle of a git %s: git -C build/linux status, "
                "then --continue or --abort it" % what)
    if git("symbolic-ref", "-q", "HEAD", ok=None) != "refs/heads/lf":
        die("build/linux is not on the branch lf: git -C build/linux checkout lf")


def save_copy(path, data):
    where, n = repo("build/saved/%s/%s" % (time.strftime("%Y%m%d-%H%M%S"), path)), 0
    while os.path.exists(where):
        n += 1
        where = repo("build/saved/%s.%d/%s" % (time.strftime("%Y%m%d-%H%M%S"), n, path))
    write(where, data)
    say("kept the other side: " + os.path.relpath(where, ROOT))


def merge_files(q, state, keep):
    """Compare each new file's two sides with what was written last.
    Returns {path: content that build/linux has and the repo should get}."""
    out = git("diff", "--no-renames", "--diff-filter=A", "--name-only", "-z", "base", "lf")
    tip_files = set(filter(None, out.split("\0")))
    dirty = []
    for line in filter(None, git("status", "--porcelain", "-z", "--no-renames",
                                 "--untracked-files=all").split("\0")):
        flag, f = line[:2], line[3:]
        if flag == "??":
            if f in q.new_files():
                continue
            say("note: %s in build/linux is in no commit; git add it if it is yours" % f)
        elif f not in tip_files and f not in q.new_files():
            dirty.append(f)
    if dirty:
        die("build/linux has changes that are not committed: %s" % " ".join(dirty[:9]),
            "git -C build/linux commit (or stash), then again")
    take, clash = {}, []
    both = sorted(set(tip_files) | set(q.new_files()))
    in_base = git("ls-tree", "-r", "--name-only", "base", "--", *both).splitlines() if both else ()
    for f in both:
        if f in in_base:
            continue        # no new file at all: the import says so
        was = state["files"].get(f)
        here, there = read(repo(f), none=True), read(os.path.join(LINUX, f), none=True)
        if sha(here) == sha(there) or sha(there) == was:
            continue
        if there is None and f not in tip_files:
            continue        # not there yet
        if sha(here) == was and (f in q.new_files() or sys.argv[1] == "refresh"):
            if there is not None:
                take[f] = there
        elif keep == "linux":
            if here is not None:
                save_copy(f, here)
            take[f] = there
        elif keep == "repo":
            save_copy(f, there or b"")
        else:
            clash.append(f)
    if clash:
        die("changed both here and in build/linux: %s" % " ".join(clash),
            "to keep these files of the repo:  make %s KEEP=repo" % sys.argv[1],
            "to keep those of build/linux:     make %s KEEP=linux" % sys.argv[1],
            "(compare: diff FILE build/linux/FILE; the side that loses is kept in build/saved)")
    return {f: d for f, d in take.items() if d is not None}


def move_lf(tip, carried):
    """Branch, index and work tree to tip; files that stay the same keep their time."""
    for f in carried:   # their content is safe in the repo, and comes back with tip
        if run("cat-file", "-e", "HEAD:" + f, ok=None).returncode == 0:
            git("checkout", "-q", "HEAD", "--", f)
    for f in git("ls-files", "-o", "-z", "--", *carried).split("\0") if carried else ():
        if f:
            os.unlink(os.path.join(LINUX, f))
    r = run("reset", "-q", "--keep", tip, ok=None)
    if r.returncode:
        die("build/linux cannot move to the new commits: " + r.stderr.decode().strip())


def stop_at(q, e):
    """Leave the user in a git am with the patch that does not apply."""
    base = git("log", "-1", "--format=%s", "base")
    pinned = q.base.split()[4]
    lines = ["patches/%s does not apply: %s" % (e.patch.name, e.why)]
    if "patch failed" in e.why or "does not apply" in e.why:
        if (read(os.path.join(LINUX, ".git/lf-base"), none=True) or b"").split()[1:2] != [
                pinned.split(":")[1].encode()]:
            lines.append("the base, %s, is not the pinned one: that is the likely reason" % base)
        if load_state() is None:
            save_state(q, git("rev-parse", "base^{commit}"))
        amdir = repo("build/am")
        os.makedirs(amdir, exist_ok=True)
        for f in os.listdir(amdir):
            os.unlink(os.path.join(amdir, f))
        for i, p in enumerate(q.patches()):
            write(os.path.join(amdir, "%04d-%s" % (i + 1, p.name)), full_mail(p))
        lines += ["to mend it: git -C build/linux reset -q --keep base && git -C build/linux am -3 %s/*" % amdir,
                  "  stops there; edit, git add, git am --continue, then: make refresh KEEP=linux",
                  "or mend patches/%s by hand and type: make prepare" % e.patch.name]
    die(*lines)


def imported(q):
    """(number of commits, the last of them or the base)"""
    try:
        commits = import_queue(q)
    except Failed as e:
        stop_at(q, e)
    return len(commits), (commits or [git("rev-parse", "base^{commit}")])[-1]


def local_commits(state):
    tip = git("rev-parse", "refs/heads/lf")
    if state and tip == state["tip"]:
        return []
    since = state["tip"] if state else "base"
    out = git("log", "--format=%h %s", since + "..lf")
    return out.splitlines() or ["(lf was moved to %s)" % tip[:12]]


def prepare():
    q, keep, state = Queue(), os.environ.get("KEEP", ""), load_state()
    if state is None and git("rev-parse", "refs/heads/lf") == git("rev-parse", "base^{commit}"):
        on_lf()
        state = {"tip": git("rev-parse", "base^{commit}"), "queue": {}, "files": {}}
    elif state is None:
        die("build/linux has a branch lf that no prepare made: git -C build/linux branch -m lf mine; "
            "git -C build/linux checkout -b lf base")
    on_lf()
    # Stop before anything is written, or kept apart.
    ahead = local_commits(state)
    if ahead and keep != "repo":
        die("build/linux holds commits that are not exported:", *ahead[:9],
            "make refresh           writes them into patches/",
            "make prepare KEEP=repo drops them (kept on a branch saved-...)")
    take = merge_files(q, state, keep)
    if ahead:
        branch = "saved-%s-%s" % (time.strftime("%Y%m%d-%H%M%S"), git("rev-parse", "--short", "lf"))
        git("branch", "-f", branch, "lf")
        say("kept the commits on the branch %s of build/linux" % branch)
    for f, data in take.items():
        write(repo(f), data)
        say("carried over from build/linux: " + f)
    count, tip = imported(q)
    move_lf(tip, set(q.new_files()) | set(state["files"]))
    save_state(q, tip)
    say("%d patches on %s: build/linux lf is %s" % (
        count, git("log", "-1", "--format=%s", "base"), tip[:12]))


def sync():
    """What a build needs: the queue as commits, or the work that is going on."""
    q, state = Queue(), load_state()
    if state is not None:
        tip_new = set(git("diff", "--no-renames", "--diff-filter=A", "--name-only", "base", "lf").splitlines())
        dirty = [l[3:] for l in git("status", "--porcelain", "--untracked-files=no").splitlines()]
        busy = ("HEAD is not lf" if git("symbolic-ref", "-q", "HEAD", ok=None) != "refs/heads/lf" else
                "%d commits to refresh" % len(local_commits(state)) if local_commits(state) else
                "uncommitted changes" if set(dirty) - tip_new - set(q.new_files()) else "")
        if busy and (q.digest() != state["queue"] or any(
                sha(read(repo(f), none=True)) != was for f, was in state["files"].items())):
            die("the queue changed here, but build/linux is busy (%s): refresh, or finish that, first" % busy,
                "make refresh; make prepare says what both sides changed")
        if busy:
            say("note: build/linux is used as it is (%s)" % busy)
            return
    prepare()


def refresh():
    q, keep, state = Queue(), os.environ.get("KEEP", ""), load_state()
    if state is None:
        die("build/linux was not made by prepare: make prepare")
    on_lf()
    finish_rebase(q)
    state = load_state()
    ahead = local_commits(state)
    now = q.digest()
    edited = sorted(n for n in set(now) | set(state["queue"]) if now.get(n) != state["queue"].get(n))
    if edited and keep != "linux":
        names = " ".join("patches/" + n for n in edited)
        if not ahead:
            die("%s changed since the last prepare, and build/linux has nothing new:" % names,
                "make prepare")
        die("both sides changed: %s here, and in build/linux:" % names, *ahead[:9],
            "make refresh KEEP=linux  writes the commits over the patches (kept in build/saved)",
            "make prepare KEEP=repo   drops the commits (kept on a branch)")
    take = merge_files(q, state, keep)
    done, patches, files = export(q, "lf")
    # A file that left the commits leaves the repo, if nobody changed it there.
    for f in sorted(set(q.new_files()) - set(files)):
        data = read(repo(f), none=True)
        if data is not None and sha(data) != state["files"].get(f):
            if keep != "linux":
                die("%s changed here, but no commit of lf brings it any more" % f,
                    "make prepare KEEP=repo   takes the queue as it is here",
                    "make refresh KEEP=linux  drops the file (kept in build/saved)")
            save_copy(f, data)
        if data is not None:
            os.unlink(repo(f))
            say("removed " + f)
    for n in edited:
        data = read(repo("patches/" + n), none=True)
        if data is not None and patches.get(n) != data and n != "series":
            save_copy("patches/" + n, data)
    changed = []
    for f, (data, executable) in files.items():
        old = read(repo(f), none=True)
        if f in take:
            data = take[f]
        elif old is not None and sha(old) != state["files"].get(f):
            data = old      # edited here: it stays, and goes into its commit below
        if write(repo(f), data):
            changed.append(f)
        if executable != os.access(repo(f), os.X_OK):
            os.chmod(repo(f), 0o755 if executable else 0o644)
    for p in q.patches():
        if p.name not in patches and os.path.exists(repo("patches/" + p.name)):
            os.unlink(repo("patches/" + p.name))
            changed.append("patches/%s (gone)" % p.name)
    for name, data in patches.items():
        if write(repo("patches/" + name), data):
            changed.append("patches/" + name)
    if write(repo("patches/series"), done.text()):
        changed.append("patches/series")
    # The proof, and commits with the ids that everybody gets.
    q = Queue()
    count, tip = imported(q)
    # Nothing but the new files that were carried may differ from lf.
    differ = [f for f in git("diff", "--no-renames", "--name-only", "lf", tip).splitlines()
              if f not in files or files[f][0] == read(repo(f))]
    if differ:
        die("the patches do not give lf back, in: %s; lf and build/linux are as they were" % " ".join(differ),
            "please report this, with git -C build/linux log -p base..lf")
    move_lf(tip, set(q.new_files()) | set(state["files"]))
    save_state(q, tip)
    say("%d patches; %s" % (count, "wrote " + " ".join(changed) if changed
                            else "nothing to write, the queue says it all"))


def check_sync():
    on_lf()
    q = Queue()
    bad = ["%s lies at a kernel path but no patch in patches/series brings it" % f for f in q.strangers()]
    count, tip = imported(q)
    done, patches, files = export(q, tip)
    index = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+", re.M)
    pinned = q.base.split(":")[-1].encode() in read(os.path.join(LINUX, ".git/lf-base")).split(b"\n")[0]
    for name, data in patches.items():
        old = read(repo("patches/" + name), none=True)
        if not pinned:      # another base has other blob ids
            data, old = index.sub(b"index", data), old and index.sub(b"index", old)
        if data != old:
            bad.append("patches/%s is not what refresh writes: make prepare refresh" % name)
    if done.text() != read(repo("patches/series")):
        bad.append("patches/series is not what refresh writes: make prepare refresh")
    if git("rev-parse", "refs/heads/lf") != tip:
        bad.append("build/linux has other commits than the queue: make refresh (or make prepare)")
    if git("status", "--porcelain", "--untracked-files=no"):
        bad.append("build/linux has changes that are not committed: git -C build/linux status")
    if bad:
        die(*bad)
    say("in sync: %d patches, %d new files, lf %s" % (count, len(files), tip[:12]))


def finish_rebase(q):
    """The tag and patches/series follow once lf stands on the new base."""
    new = git("rev-parse", "-q", "--verify", "refs/lf/newbase", ok=None)
    if not new:
        return
    if git("merge-base", new, "lf", ok=None) == new:
        pin, have = read(os.path.join(LINUX, ".git/lf-newbase")).decode().split("\n", 1)
        git("tag", "-f", "base", new)
        write(os.path.join(LINUX, ".git/lf-base"), have.encode())
        text = read(repo("patches/series")).split(b"\n", 1)[1]
        write(repo("patches/series"), b"# base: " + pin.encode() + b"\n" + text)
        q.base = "# base: " + pin
        state = load_state()
        state["queue"]["series"] = q.digest()["series"]
        write(STATE, json.dumps(state).encode())
        say("the base is now " + pin)
    git("update-ref", "-d", "refs/lf/newbase")


def rebase():
    state = load_state()
    if state is None:
        die("build/linux was not made by prepare: make prepare")
    on_lf()
    if local_commits(state):
        die("build/linux holds commits that are not exported: make refresh")
    if git("status", "--porcelain", "--untracked-files=no"):
        die("build/linux has changes that are not committed: git -C build/linux status")
    if Queue().digest() != state["queue"]:
        die("patches/ changed since the last prepare: make prepare")
    new = git("rev-parse", "refs/lf/newbase")
    env = dict(IDENT)
    r = run("rebase", "-q", "--no-autosquash", "--onto", new, "base", "lf", env=env, ok=None)
    if r.returncode and not os.path.exists(os.path.join(LINUX, ".git/rebase-merge")):
        die("git rebase does not start: " + r.stderr.decode(errors="replace").strip())
    if r.returncode:
        where = git("diff", "--name-only", "--diff-filter=U", ok=None).replace("\n", " ")
        die("'%s' conflicts on the new base, in: %s" % (
            git("log", "-1", "--format=%s", "REBASE_HEAD", ok=None), where or "?"),
            "edit, then in build/linux: git add FILE; git rebase --continue; at the end: make refresh",
            "to give up, in build/linux: git rebase --abort")
    refresh()


def listing():
    q, topic, ids = Queue(), "", {}
    if os.path.isdir(os.path.join(LINUX, ".git")):
        for line in git("log", "--abbrev=12", "--format=%h %s", "base..lf").splitlines():
            ids[line[13:]] = line[:12]
    for head, ps in q.topics:
        topic = head[-1].split()[2] if head else topic
        for p in ps:
            subject = subject_of(read(repo("patches/" + p.name)))
            print("%-9s %-12s %s" % (topic, ids.get(subject, "-"), subject))


def mainline():
    """The bench comes first and touches nothing that is measured."""
    bench = {subject_of(read(repo("patches/" + p.name))) for head, ps in Queue().topics
             if head and head[-1].split()[2] == "bench" for p in ps}
    commit = git("rev-parse", "base^{commit}")
    for line in git("log", "--reverse", "--format=%H %s", "base..lf").splitlines():
        if line[41:] not in bench:
            break
        commit = line[:40]
    print(commit)


COMMANDS = {"prepare": prepare, "refresh": refresh, "check-sync": check_sync,
            "rebase": rebase, "sync": sync, "list": listing, "mainline": mainline}
if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
if os.environ.get("KEEP", "") not in ("", "repo", "linux"):
    die("KEEP=%s: repo or linux" % os.environ["KEEP"])
if sys.argv[1] != "list" and not os.path.isdir(os.path.join(LINUX, ".git")):
    die("build/linux is missing: make prepare")
try:
    COMMANDS[sys.argv[1]]()
except (OSError, ValueError, KeyError) as e:    # UnicodeError and JSON's are ValueErrors
    die("%s: %s" % (type(e).__name__, e))
