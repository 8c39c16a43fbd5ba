package lockfile

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Version is the format of perstack.lock that this package reads and writes.
const Version = "1"

// Encode returns the text of the lockfile. Everything is sorted, so that the same content
// gives the same bytes on every machine.
func (l *Lock) Encode() []byte {
	w := &lockWriter{}
	w.line("# Written when the Experts were installed; do not edit it, and keep it under version control.")
	w.text("version", Version)
	w.line("generatedAt = " + strconv.FormatInt(l.GeneratedAt, 10))
	w.text("configPath", l.ConfigPath)
	w.images(l.Images)
	experts := slices.SortedFunc(slices.Values(l.Experts), func(a, b *Expert) int { return cmp.Compare(a.Key, b.Key) })
	for _, e := range experts {
		w.expert(e)
	}
	return []byte(w.String())
}

// lockWriter writes TOML.
type lockWriter struct{ strings.Builder }

func (w *lockWriter) line(text string)       { w.WriteString(text + "\n") }
func (w *lockWriter) text(key, value string) { w.line(key + " = " + toml.String(value)) }

// optional leaves a key without a value out.
func (w *lockWriter) optional(key, value string) {
	if value != "" {
		w.text(key, value)
	}
}

// lines writes a text of several lines as such, so that a review shows which of them
// changed. It is for text in which the way that lines end means nothing: git may change it.
func (w *lockWriter) lines(key, value string) {
	plain := !strings.Contains(value, "''") && !strings.HasPrefix(value, "'") && !strings.HasSuffix(value, "'") &&
		!strings.ContainsFunc(value, func(c rune) bool { return c != '\n' && toml.IsHidden(c) })
	if strings.Contains(value, "\n") && plain {
		w.line(key + " = '''\n" + value + "'''")
		return
	}
	w.optional(key, value)
}

func (w *lockWriter) texts(key string, values []string) {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = toml.String(v)
	}
	w.line(key + " = [" + strings.Join(quoted, ", ") + "]")
}

func (w *lockWriter) expert(e *Expert) {
	path := "experts." + toml.Key(e.Key)
	w.line("\n[" + path + "]")
	w.WriteString(e.head())
	skills := slices.SortedFunc(slices.Values(e.Skills), func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range skills {
		at := path + ".skills." + toml.Key(s.Name)
		w.line("\n[" + at + "]")
		w.text("digest", s.Digest)
		w.optional("source", s.Source)
		w.lines("program", s.Program)
		if p := s.Package; p != nil {
			w.line("\n[" + at + ".package]")
			w.text("manager", p.Manager)
			w.text("name", p.Name)
			w.text("version", p.Version)
			w.optional("integrity", p.Integrity)
			w.lines("tree", p.Tree)
		}
	}
	for _, s := range skills {
		tools := slices.SortedFunc(slices.Values(s.Tools), func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
		for _, t := range tools {
			w.line("\n[[" + path + ".toolDefinitions]]")
			w.text("skillName", s.Name)
			w.text("name", t.Name)
			w.text("definition", string(t.Definition))
			w.text("digest", t.Digest)
		}
	}
}

// head writes an Expert without its skills.
func (e *Expert) head() string {
	w := &lockWriter{}
	w.text("key", e.Key)
	w.text("name", e.Name)
	w.text("version", e.Version)
	w.optional("description", e.Description)
	w.text("instruction", e.Instruction)
	w.texts("delegates", e.Delegates)
	if len(e.DelegateTools) > 0 {
		w.texts("delegateTools", e.DelegateTools)
	}
	w.texts("tags", e.Tags)
	if len(e.ProviderTools) > 0 {
		w.texts("providerTools", e.ProviderTools)
	}
	if text := toml.Inline(toml.Plain(e.ProviderSkills)); text != "" {
		w.line("providerSkills = " + text)
	}
	if text := toml.Inline(toml.Plain(e.ProviderToolOptions)); text != "" {
		w.line("providerToolOptions = " + text)
	}
	w.text("definition", e.Definition)
	if p := e.Published; p != nil {
		w.text("registry", p.Registry)
		w.text("digest", p.Digest)
		w.line("leafIndex = " + strconv.FormatInt(p.LeafIndex, 10))
		w.text("capabilityHash", p.Capability)
		w.optional("signer", p.Signer)
		w.texts("requested", slices.Sorted(slices.Values(p.Requested)))
	}
	return w.String()
}

// Write puts the lockfile at path, whole or not at all: a reader sees the old file or the
// new one, and a crash leaves one of them. What [ReadFile] would refuse is not written:
// installing again would not help.
func (l *Lock) Write(path string) error {
	data := l.Encode()
	if len(data) > maxLock {
		return fmt.Errorf("cannot write %s: it would be larger than %d MiB, which is what perstack reads; the tools of its skills are described at great length: spread the Experts over several files, or leave out a skill", path, maxLock>>20)
	}
	if _, problems := parseLock(path, data); len(problems) > 0 {
		problems[0].Hint = ""
		return fmt.Errorf("cannot write %s: it could not be read again: %s", path, problems[0])
	}
	if err := writeWhole(path, data); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, userfile.Reason(err))
	}
	return nil
}

// CheckWritable says why a lockfile cannot be written to its directory. It is for those who have
// much to do before they write one.
func CheckWritable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; make its directory writable", path, userfile.Reason(err))
	}
	return nil
}

func writeWhole(path string, data []byte) error {
	var random [8]byte
	rand.Read(random[:]) // it never fails
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+hex.EncodeToString(random[:]))
	// A name that is taken, by a link for instance, is an error: nothing is followed.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
