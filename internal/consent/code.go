package consent

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/wording"
)

// A Program is what a skill is started from in the workspace, as it is now.
type Program struct {
	Digest  string   // a line for each file, as a lockfile has them
	Named   string   // the same for a program that PATH leads to, which no lockfile has
	Alone   []string // files of it that are compared without those beside them
	Modules []string // directories of packages that it can load and that are not compared
	Loads   []string // programs that find more code by themselves
}

// code says what decides which code a skill runs beside its command line: what identifies this
// code, "" if nothing does, and words for the user. An answer about a skill is one about its code:
// the next commit of a project can bring another one under the same command line.
func (l *lister) code(e *expert.Expert, s *expert.Skill) (id, words string) {
	locked, _ := l.project.Lock.Expert(e.Key)
	pinned, ok := locked.Skill(s.Name)
	ok = ok && pinned.Holds(s)
	program := l.project.Programs[s]
	all := program.Digest + program.Named
	_, isPackage := s.Package()
	switch {
	case s.Endpoint != "":
		return "", ""
	case isPackage && ok && pinned.Package.Integrity != "":
		p := pinned.Package
		return p.ID(), fmt.Sprintf("pinned by %s: %s@%s", l.lockName(), p.Name, p.Version)
	case isPackage:
		return "", "not pinned: the registry decides"
	}
	same := ok && programs.Compare(pinned.Program, program.Digest) == ""
	words = wording.Count(programs.Count(program.Digest)+programs.Count(program.Named), "file") + " in the workspace"
	switch {
	case programs.Count(all) == 0 && (same || !ok):
		words = "a program of this machine"
	case same && program.Named == "":
		words = "pinned by " + l.lockName() + ": " + words
	case ok && !same:
		words = "not what " + l.lockName() + " pins: " + words
	default:
		words = "not pinned: " + words
	}
	if len(program.Alone) > 0 {
		words += ", without those beside " + wording.And(program.Alone)
	}
	if len(program.Modules) > 0 && programs.Count(all) > 0 {
		words += ", without those in " + wording.And(program.Modules)
	}
	if len(program.Loads) > 0 {
		words += ", and what " + wording.And(program.Loads) + " can load beside that"
	}
	return all, words
}

// lockName is how the user calls the lockfile.
func (l *lister) lockName() string { return filepath.Base(l.project.Config.LockFile()) }

// commandLine is what a skill starts, or the address that it uses: all of it, so that nothing
// can be out of sight. Words are quoted so that none looks like two, or like words of perstack.
func commandLine(s *expert.Skill) string {
	if s.Endpoint != "" {
		u, err := url.Parse(s.Endpoint)
		if err != nil {
			return "an address that cannot be read"
		}
		return u.Scheme + "://" + u.Host // the rest can be a key
	}
	words := append([]string{s.Command}, s.Args...)
	if s.PackageName != "" {
		words = []string{s.Command, s.PackageName}
	}
	return joinWords(words)
}

// joinWords writes words so that none looks like two.
func joinWords(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		if word == "" || strings.Trim(word, plain) != "" {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// plain are the characters that need no quotes in a command line.
const plain = "*:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@%+=,-"
