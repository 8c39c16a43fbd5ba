package evil

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed repositories/*.txtar
var repositories embed.FS

// An Incident is a kind of repository that did harm to those who cloned it.
type Incident struct {
	Name string
	Doc  string // one line
}

// Repositories lists them. Each is a text archive in the directory repositories. Its
// first line, a comment, says what it is; the lines after it can make what an archive
// cannot hold:
//
//	link PATH TARGET     a symbolic link
//	pipe PATH            a named pipe
//	repeat PATH N TEXT   N times the text, in which # is the number, added to the file
//
// In files and texts, {{NAME}} stands for what the test gives, {{hidden TEXT}} for
// [Hidden] and {{escapes}} for [Escapes]: our own source hides nothing from its readers.
func Repositories() []Incident {
	names, err := fs.Glob(repositories, "repositories/*.txtar")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var all []Incident
	for _, name := range names {
		archive := parseRepository(name)
		doc, _, _ := strings.Cut(string(archive.Comment), "\n")
		all = append(all, Incident{Name: strings.TrimSuffix(path.Base(name), ".txtar"), Doc: strings.TrimPrefix(doc, "# ")})
	}
	return all
}

func parseRepository(name string) *txtar.Archive {
	data, err := repositories.ReadFile(name)
	if err != nil {
		panic(err) // it was listed
	}
	return txtar.Parse(data)
}

// Repository unpacks a repository and returns its directory. Beside it is a directory
// elsewhere, which its links lead to and in which nothing may appear. The pairs are names
// and values for what the archive leaves open.
func Repository(tb testing.TB, name string, pairs ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := Unpack(dir, name, pairs...); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "repository")
}

// Unpack is [Repository] for programs that are no tests: it fills dir, which is empty,
// with the directories repository and elsewhere.
func Unpack(dir, name string, pairs ...string) error {
	known := slices.ContainsFunc(Repositories(), func(i Incident) bool { return i.Name == name })
	if !known {
		return fmt.Errorf("hostile repository %q is unknown", name)
	}
	if err := os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700); err != nil {
		return err
	}
	archive := parseRepository("repositories/" + name + ".txtar")
	u := &unpacking{root: filepath.Join(dir, "repository"), pairs: pairs}
	for _, f := range archive.Files {
		u.write(f.Name, f.Data)
	}
	for line := range bytes.Lines(archive.Comment) {
		u.make(strings.TrimSuffix(string(line), "\n"))
	}
	if u.err != nil {
		return fmt.Errorf("unpack the hostile repository %s: %w", name, u.err)
	}
	return nil
}

// unpacking stops at the first error.
type unpacking struct {
	root  string
	pairs []string
	err   error
}

func (u *unpacking) write(name string, data []byte) {
	if u.err == nil {
		target := u.place(name)
		if u.err == nil {
			u.err = os.WriteFile(target, []byte(u.fill(string(data))), 0o644)
		}
	}
}

// place returns the path of a name, in a directory that exists.
func (u *unpacking) place(name string) string {
	target := filepath.Join(u.root, filepath.FromSlash(name))
	u.err = os.MkdirAll(filepath.Dir(target), 0o755)
	return target
}

// make carries out a line of the comment.
func (u *unpacking) make(line string) {
	if u.err != nil {
		return
	}
	words := strings.SplitN(line, " ", 4)
	switch {
	case line == "" || words[0] == "#":
	case words[0] == "link" && len(words) == 3:
		if target := u.place(words[1]); u.err == nil {
			u.err = os.Symlink(filepath.FromSlash(words[2]), target)
		}
	case words[0] == "pipe" && len(words) == 2:
		if target := u.place(words[1]); u.err == nil {
			u.err = makePipe(target)
		}
	case words[0] == "repeat" && len(words) == 4:
		u.repeat(words[1], words[2], words[3])
	default:
		u.err = fmt.Errorf("line %q is not understood", line)
	}
}

func (u *unpacking) repeat(name, times, text string) {
	n, err := strconv.Atoi(times)
	if err != nil {
		u.err = err
		return
	}
	target := u.place(name)
	if u.err != nil {
		return
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		u.err = err
		return
	}
	defer f.Close()
	text = strings.ReplaceAll(u.fill(text), `\n`, "\n")
	w := bufio.NewWriter(f)
	for i := range n {
		if _, u.err = w.WriteString(strings.ReplaceAll(text, "#", strconv.Itoa(i))); u.err != nil {
			return
		}
	}
	u.err = w.Flush()
}

// fill puts in what the archive leaves open.
func (u *unpacking) fill(text string) string {
	for i := 0; i+1 < len(u.pairs); i += 2 {
		text = strings.ReplaceAll(text, "{{"+u.pairs[i]+"}}", u.pairs[i+1])
	}
	text = strings.ReplaceAll(text, "{{escapes}}", Escapes)
	for {
		before, rest, found := strings.Cut(text, "{{hidden ")
		secret, after, closed := strings.Cut(rest, "}}")
		if !found || !closed {
			return text
		}
		text = before + Hidden(secret) + after
	}
}
