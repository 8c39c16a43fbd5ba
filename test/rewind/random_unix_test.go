//go:build unix

package rewind

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRandomWork lets a job and a user change files by real programs, in several runs, takes work
// back in random ways, and compares every file with a copy. PERSTACK_REWIND_CASES says how many
// cases are tried; a case is the same each time.
func TestRandomWork(t *testing.T) {
	cases := 24
	if raced || testing.Short() {
		cases = 4
	}
	if text := os.Getenv("PERSTACK_REWIND_CASES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		cases = n
	}
	var total counts
	for seed := range uint64(cases) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScene(t, seed)
			s.play()
			total.add(s.counts)
		})
	}
	t.Logf("%+v", total)
	if cases >= 24 && !t.Failed() && (total.Exact == 0 || total.Undone == 0 || total.Refused == 0 || total.Forced == 0 || total.Back == 0 || total.Partial == 0) {
		t.Errorf("some ways to go back were never tried: %+v", total)
	}
}

// counts say what was tried.
type counts struct{ Steps, Edits, Exact, Undone, Refused, Forced, Partial, Back int }

func (c *counts) add(o counts) {
	c.Steps, c.Edits, c.Exact, c.Undone = c.Steps+o.Steps, c.Edits+o.Edits, c.Exact+o.Exact, c.Undone+o.Undone
	c.Refused, c.Forced, c.Partial, c.Back = c.Refused+o.Refused, c.Forced+o.Forced, c.Partial+o.Partial, c.Back+o.Back
}

// A moment is the workspace at one time, and who changed it since the moment before.
type moment struct {
	files listing
	by    author
	// several says that delegates worked: one can have undone what another did, so that the job
	// changed more than there is to see.
	several bool
	target  int // of a restore
}

type author int

const (
	byJob author = iota
	byUser
	byRestore
)

// A scene is a job, a user, and what the workspace was at each moment.
type scene struct {
	*project
	chance *rand.Rand
	git    bool
	// meets says that the user changes the same files as the job.
	meets bool

	moments []moment
	points  map[string]int // moments by the names of checkpoints and snapshots
	order   []string       // those names
	read    int64          // the last record that was looked at
	runs    []int          // moments before the runs that can be undone
	number  int            // of the newest run
	texts   int
	counts  counts
}

func newScene(t *testing.T, seed uint64) *scene {
	s := &scene{project: newProject(t), chance: rand.New(rand.NewPCG(seed, 7)), points: map[string]int{}}
	s.git, s.meets = seed%2 == 0, seed%3 != 0
	s.sh("mkdir -p d/e empty node_modules; echo {} > package.json; echo m > node_modules/m; for f in a b d/a d/e/f 'sp ace'; do seq 20 > \"$f\"; done; ln -s a link; chmod 750 d; printf '\\000\\377' > binary; chmod +x b; chmod 700 empty")
	for i := range 9 {
		s.sh(fmt.Sprintf("echo 'reading %d;' >> marks", i))
	}
	if s.git {
		s.sh(initRepository + "; git add -A; git commit -qm first; git branch other")
	}
	s.note(byUser)
	return s
}

func (s *scene) note(by author) int {
	s.t.Helper()
	s.moments = append(s.moments, moment{files: s.mustList(), by: by})
	return len(s.moments) - 1
}

func (s *scene) noteRestore(target int) {
	s.t.Helper()
	i := s.note(byRestore)
	s.moments[i].target = target
}

func (s *scene) now() int { return len(s.moments) - 1 }

// pick returns one of several.
func pick[T any](s *scene, all []T) T { return all[s.chance.IntN(len(all))] }

// change returns a script that changes something. Some do nothing, because what they change is gone.
func (s *scene) change(names []string, git bool) string {
	s.texts++
	a, b := pick(s, names), pick(s, names)
	text := fmt.Sprintf("text %d", s.texts)
	scripts := []string{
		fmt.Sprintf("mkdir -p '%s'; echo '%s' > '%s'", path.Dir(a), text, a),
		fmt.Sprintf("mkdir -p '%s'; echo '%s' >> '%s'", path.Dir(a), text, a),
		fmt.Sprintf("sed -i 's/1/%s/' '%s'", text, a),
		fmt.Sprintf("rm -rf '%s'", a),
		fmt.Sprintf("mv '%s' '%s'", a, b),
		fmt.Sprintf("cp -a '%s' '%s'", a, b),
		fmt.Sprintf("if [ -d '%s' ]; then chmod %o '%s'; else chmod %o '%s'; fi", a, pick(s, []int{0o700, 0o750, 0o755}), a, pick(s, []int{0o600, 0o644, 0o755, 0o444, 0o700}), a),
		fmt.Sprintf("rm -rf '%s'; ln -s '%s' '%s'", a, text, a),
		fmt.Sprintf("rm -rf '%s'; mkdir -p '%s/sub/empty'", a, a),
		fmt.Sprintf("printf '\\000\\001%s' > '%s'", text, a),
		fmt.Sprintf("head -c 300000 /dev/zero > '%s'; echo '%s' >> '%s'", a, text, a),
		fmt.Sprintf("rm -f '%s'; seq 30 > '%s'; chmod 755 '%s'", a, a, a),
	}
	if git && s.chance.IntN(3) == 0 {
		scripts = []string{
			"git add -A && git commit -qm '" + text + "'",
			"git checkout -q other", "git checkout -q main", fmt.Sprintf("git checkout -qb branch%d", s.texts),
			"git merge -q -m merged other", "git branch -D other", "git reset -q --hard", "git rm -q --cached a",
			"git tag t" + fmt.Sprint(s.texts), "git status", "git stash", "git pack-refs --all",
			"printf '#!/bin/sh\\necho " + text + "\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
		}
	}
	return "(" + pick(s, scripts) + ") > /dev/null 2>&1 || true"
}

const gitIndex = ".git/index"

// The names are few, so that changes meet.
var (
	jobNames  = []string{"a", "b", "d/a", "d/e/f", "d/e", "sp ace", "link", "binary", "empty", "new", "new/x", "d/new", "package.json"}
	userNames = []string{"mine", "mine2", "own/a", "own/b", "d/mine", "empty/mine"}
)

func (s *scene) work() (script string) {
	for range 1 + s.chance.IntN(4) {
		script += s.change(jobNames, s.git) + "\n"
	}
	return script
}

// edit lets the user change files.
func (s *scene) edit() {
	s.t.Helper()
	names := userNames
	if s.meets && s.chance.IntN(3) == 0 {
		names = slices.Concat(jobNames, userNames)
	}
	for range s.chance.IntN(3) {
		s.counts.Edits++
		s.sh(s.change(names, s.git && s.meets))
	}
}

// play lets the scene happen.
func (s *scene) play() {
	s.t.Helper()
	for range 2 + s.chance.IntN(2) {
		s.runJob()
		for range 1 + s.chance.IntN(3) {
			s.edit()
			s.note(byUser)
			s.goBack()
		}
		s.edit()
		s.note(byUser)
	}
}

// runJob lets the coordinator work, with commands, a server and delegates. Between its steps, when the
// model is asked, the user edits files.
func (s *scene) runJob() {
	s.t.Helper()
	s.number++
	n := s.number
	var script strings.Builder
	heard := fmt.Sprintf("query %d!", n)
	effects, several := []bool{}, make([]bool, 3) // of the steps
	turn := func(calls string) {
		fmt.Fprintf(&script, "[[turn]]\nsystem = %q\ncontains = %q\n%s", leadInstruction, heard, calls)
	}
	steps := 1 + s.chance.IntN(3)
	read := false
	for k := range steps {
		s.counts.Steps++
		mark := fmt.Sprintf("<%d.%d>", n, k)
		kind := s.chance.IntN(5)
		if k == 0 && n == 1 {
			kind = 0 // so that there is a state
		}
		switch {
		case kind == 1:
			turn(fmt.Sprintf("[[turn.call]]\ntool = \"work\"\nargs = { script = %q }\n", s.work()+"echo '"+mark+"'"))
		case kind == 2:
			several[k] = true
			part := func(i int) string { return fmt.Sprintf("part %d.%d.%d!", n, k, i) }
			turn(fmt.Sprintf("[[turn.call]]\ntool = \"worker\"\nargs = { query = %q }\n[[turn.call]]\ntool = \"worker\"\nargs = { query = %q }\n", part(0), part(1)))
			for i := range 2 {
				done := fmt.Sprintf("<%d.%d.%d>", n, k, i)
				fmt.Fprintf(&script, "[[turn]]\nsystem = \"worker\"\ncontains = %q\n%s", part(i), command(s.work()+"echo '"+done+"'"))
				fmt.Fprintf(&script, "[[turn]]\nsystem = \"worker\"\ncontains = %q\ntext = %q\n", done, mark)
			}
		case kind == 3 && !read:
			read = true
			turn("[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"marks\" }\n")
			mark = fmt.Sprintf("reading %d;", n)
			effects, heard = append(effects, false), mark
			continue
		default:
			turn(command(s.work() + "echo '" + mark + "'"))
		}
		effects, heard = append(effects, true), mark
	}
	turn("text = \"Done.\"\n")

	asked, first, state := 0, s.now(), s.newestState()
	ask := func() {
		if asked > 0 && asked <= len(effects) {
			if effects[asked-1] {
				state = s.note(byJob)
				s.moments[state].several = several[asked-1]
			}
			before, last, err := s.snapshotBefore(s.read)
			if s.read = last; before != "" && effects[asked-1] && !several[asked-1] {
				s.point(before, state-1)
			}
			id, idErr := s.newestCheckpoint()
			if err = errors.Join(err, idErr); err != nil {
				s.t.Error(err)
			}
			s.point(id, state)
		}
		if asked++; asked <= len(effects) && (asked > 1 || s.chance.IntN(2) == 0) {
			s.edit()
			s.note(byUser)
		}
	}
	args := []string{fmt.Sprintf("query %d!", n)}
	if n == 1 {
		args = append(args, "--job-id", jobID)
	} else {
		args = append(args, "--continue-job", jobID)
	}
	if code, out := s.run(script.String(), ask, args...); code != 0 || s.t.Failed() {
		s.t.Fatalf("exit code %d\n%s\n%s", code, out, script.String())
	}
	s.runs = append(s.runs, first)
}

// point notes what a name of a state means.
func (s *scene) point(name string, at int) {
	if _, known := s.points[name]; !known {
		s.order = append(s.order, name)
	}
	s.points[name] = at
}

// newestState returns the moment of the newest state that the job has stored: that after its last
// work, or after a restore.
func (s *scene) newestState() int {
	for i := s.now(); i > 0; i-- {
		if s.moments[i].by != byUser {
			return i
		}
	}
	return 0
}

func command(script string) string {
	return fmt.Sprintf("[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", %q] }\n", script)
}

// goBack takes work back in one of several ways, and perhaps that, too.
func (s *scene) goBack() {
	s.t.Helper()
	before := s.mustList()
	var target int
	var o restoreOptions
	var args []string
	if len(s.runs) > 0 && s.chance.IntN(2) == 0 {
		target = s.beforeRun(s.runs[len(s.runs)-1])
		args = []string{"undo", jobID}
		o.undo = true
	} else {
		id := pick(s, s.order)
		target = s.points[id]
		args = []string{"restore", jobID, id}
		switch s.chance.IntN(4) {
		case 0:
			o.exact, args = true, append(args, "--exact")
		case 1:
			o.only = pick(s, []string{"a", "d", "d/e", "new", "empty"})
			args = append(args, s.ws+"/"+o.only)
		}
	}
	if o.force = s.chance.IntN(3) == 0; o.force {
		args = append(args, "--force")
	}
	said := strings.Join(args, " ")
	code, out := s.perstack(args...)
	s.t.Logf("%s: exit code %d\n%s", said, code, out)
	s.judge(said, target, o, code, out)
	if code != 0 {
		return
	}
	if o.undo {
		s.runs = s.runs[:len(s.runs)-1]
	}
	again := back(out)
	if again == nil {
		s.same(before, said+" restored nothing")
		return
	}
	s.noteRestore(target)
	after := s.mustList()
	if s.chance.IntN(2) == 0 {
		return
	}
	s.counts.Back++
	undone := s.must(again...)
	s.same(before, said+", and back again")
	s.noteRestore(s.now() - 1)
	if s.chance.IntN(2) == 0 {
		if again = back(undone); again == nil {
			s.t.Fatalf("%s: nothing was brought back\n%s", said, undone)
		}
		s.must(again...)
		s.same(after, said+", back again, and that taken back")
		s.noteRestore(s.now() - 1)
	}
}

// beforeRun returns the moment before a Run changed anything, or a restore after it did.
func (s *scene) beforeRun(first int) int {
	for i := first + 1; i <= s.now(); i++ {
		if s.moments[i].by != byUser && len(s.moments[i-1].files.changed(s.moments[i].files)) > 0 {
			return i - 1
		}
	}
	return s.now()
}

type restoreOptions struct {
	undo, force, exact bool
	only               string
}

func (o restoreOptions) wants(path string) bool {
	return o.only == "" || path == o.only || strings.HasPrefix(path, o.only+"/")
}

// related reports whether a path is one of those, lies in one, or has one in it.
func related(path string, all map[string]bool) bool {
	for other := range all {
		if path == other || strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/") {
			return true
		}
	}
	return false
}

// authors returns the paths that the job changed since a moment, and those that the user changed. What
// a restore brought back has the authors that it had at that time.
func (s *scene) authors(since int) (job, user map[string]bool, several bool) {
	type authors struct{ job, user map[string]bool }
	at := []authors{{map[string]bool{}, map[string]bool{}}} // from the moment on
	for i := since + 1; i <= s.now(); i++ {
		m, last := s.moments[i], at[len(at)-1]
		next := authors{maps.Clone(last.job), maps.Clone(last.user)}
		earliest := slices.IndexFunc(s.moments[since:i], func(e moment) bool { return maps.Equal(e.files, s.moments[m.target].files) })
		for path := range s.moments[i-1].files.changed(m.files) {
			switch {
			case m.by == byUser:
				next.user[path] = true
			case m.by == byRestore && earliest >= 0 && m.files[path] == s.moments[m.target].files[path]:
				delete(next.job, path)
				delete(next.user, path)
				if at[earliest].job[path] {
					next.job[path] = true
				}
				if at[earliest].user[path] {
					next.user[path] = true
				}
			default:
				next.job[path] = true
			}
		}
		several = several || m.several
		at = append(at, next)
	}
	last := at[len(at)-1]
	return last.job, last.user, several
}

// judge says whether a restore did what it has to do, and nothing else.
func (s *scene) judge(said string, target int, o restoreOptions, code int, out string) {
	s.t.Helper()
	was, goal, is := s.moments[s.now()].files, s.moments[target].files, s.mustList()
	job, user, several := s.authors(target)
	index := user[gitIndex]
	delete(user, gitIndex) // git writes it when it looks
	wrong := func(format string, args ...any) {
		s.t.Helper()
		s.t.Fatalf("%s: %s\n%s\njob: %v\nuser: %v", said, fmt.Sprintf(format, args...), out, slices.Sorted(maps.Keys(job)), slices.Sorted(maps.Keys(user)))
	}
	switch {
	case code == 1:
		s.counts.Refused++
		if changed := was.changed(is); len(changed) > 0 {
			wrong("it was refused, and changed %v", changed)
		}
		meet := false
		for path := range job {
			meet = meet || o.wants(path) && related(path, user)
		}
		if o.force || o.exact || !meet && !several {
			wrong("it was refused without a reason")
		}
		return
	case code != 0:
		wrong("exit code %d", code)
	case o.exact && o.only == "":
		s.counts.Exact++
		s.same(goal, said)
		return
	case o.only != "":
		s.counts.Partial++
	case o.force:
		s.counts.Forced++
	default:
		s.counts.Undone++
	}
	for path := range was.changed(is) {
		switch {
		case !o.wants(path) && !strings.HasPrefix(o.only, path+"/"):
			wrong("it changed %s, which was not asked for", path)
		case !job[path] && !(o.force && (several || related(path, job))) && !strings.HasPrefix(o.only, path+"/"):
			wrong("it changed %s, which the job did not", path)
		case !o.force && user[path]:
			wrong("it changed %s, which the user changed, too", path)
		}
	}
	for path := range job {
		if path == gitIndex && index {
			continue // it can be from both
		}
		want, there := goal[path]
		if got, ok := is[path]; o.wants(path) && !related(path, user) && (got != want || ok != there) {
			wrong("%s is %q, want %q", path, got, want)
		}
	}
	if s.git && !o.force && o.only == "" {
		s.sh("git fsck --no-dangling")
	}
}
