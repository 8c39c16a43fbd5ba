// Package secret knows the secrets of a run and takes them out of text.
//
// A [Set] holds values: keys of providers, the key of the registry, what a skill asked for.
// [Set.Redact] replaces each with its name, also where it was escaped, encoded, wrapped,
// coloured, dumped or cut. TestRedactForms, TestRedactPrinted and TestNotRedacted show
// which forms are found and which are not. It is for accidents: a program that prints its
// environment, a provider that repeats the key in an error, a file that was left in the
// workspace. It does not stop an attacker: a program that runs commands can encode a secret
// in a form that no list covers. What must not be read has to be out of reach in the first
// place.
//
// The package opens nothing and prints nothing. Start reading at [Set].
package secret

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// minLength is the shortest value that is hidden. A shorter one occurs in ordinary text,
// which would become unreadable and reveal the secret.
const minLength = 8

// A Set is the secrets that must not be shown. The zero Set is empty; a nil Set is empty
// and stays so. It may be used from several goroutines.
type Set struct {
	adding sync.Mutex
	// Behind a pointer, so that printing a struct that holds a Set prints an address.
	table atomic.Pointer[table]
}

// A table is the state of a Set. It is never changed after it was made.
type table struct {
	values []namedValue
	// matcher looks for them. It is made when the first text is searched: secrets are
	// added one after the other, and each of them would need another one.
	matcher func() *matcher
}

// A namedValue is a secret, and the name that replaces it.
type namedValue struct{ name, value string }

func (n namedValue) marker() string { return "[redacted: " + n.name + "]" }

// Add hides a value, unless it is too short to be a secret. Blanks and line ends around
// it do not count: env files and shells add and lose them.
func (s *Set) Add(name, value string) {
	value = strings.TrimSpace(value)
	s.add(name, append([]string{value}, inside(value)...))
}

// AddKey is [Set.Add] for the key of a service. Servers that want no key are given a
// word in its place, like placeholder or not-needed; hiding it would damage every text
// and file in which it occurs.
func (s *Set) AddKey(name, value string) {
	if !isWord(strings.TrimSpace(value)) {
		s.Add(name, value)
	}
}

// AddIfRandom hides what is secret in a value of which nothing is known but the name: all
// of it if it looks like a key, the password if it is a URL, nothing if it is a word, a
// path or a number.
func (s *Set) AddIfRandom(name, value string) {
	s.add(name, secretsIn(name, value))
}

func (s *Set) add(name string, values []string) {
	if s == nil {
		return
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	all := slices.Clone(s.values())
	before := len(all)
	for _, v := range values {
		v = strings.TrimSpace(v)
		known := slices.ContainsFunc(all, func(n namedValue) bool { return n.value == v })
		if len(v) >= minLength && !known {
			all = append(all, namedValue{label(name), v})
		}
	}
	if len(all) > before {
		s.table.Store(&table{all, sync.OnceValue(func() *matcher { return newMatcher(all) })})
	}
}

func (s *Set) values() []namedValue {
	if s == nil || s.table.Load() == nil {
		return nil
	}
	return s.table.Load().values
}

// label makes a name fit for a marker that may stand inside JSON and on a terminal.
func label(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, name)
	if clean == "" {
		return "secret"
	}
	return clean[:min(len(clean), 64)]
}

// Redact returns text with every secret replaced by "[redacted: NAME]". Text without
// one is returned as it is, and costs no memory.
func (s *Set) Redact(text string) string {
	if s == nil {
		return text
	}
	t := s.table.Load()
	if t == nil {
		return text
	}
	// Text around a marker can form a secret together with it. That needs an unusual secret,
	// so one round is nearly always enough, and four are always.
	m := t.matcher()
	for range 4 {
		redacted, found, dump := m.redact(text)
		if dump { // of the text as it was: a dump with a marker in it cannot be read
			if shown, dumped := m.redactDumps(text); dumped {
				redacted, _, _ = m.redact(shown)
				found = true
			}
		}
		if !found {
			break
		}
		text = redacted
	}
	return text
}

// Writer returns a writer that redacts each Write by itself, for streams whose writers
// write whole lines, like logs and messages.
func (s *Set) Writer(w io.Writer) io.Writer { return &writer{s, w} }

type writer struct {
	set *Set
	w   io.Writer
}

func (w *writer) Write(data []byte) (int, error) {
	text := string(data)
	if redacted := w.set.Redact(text); redacted != text {
		data = []byte(redacted)
	}
	if _, err := w.w.Write(data); err != nil {
		return 0, err
	}
	return len(text), nil
}

// String returns how many secrets there are and nothing about them.
func (s *Set) String() string {
	return fmt.Sprintf("%d secrets", len(s.values()))
}

// Within returns the secrets that occur literally in one of the texts, by name. A process
// that receives these texts must hide them too; it need not know the others.
func (s *Set) Within(texts ...string) map[string]string {
	found := make(map[string]string)
	for _, n := range s.values() {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, n.value) }) {
			continue
		}
		name := n.name
		for i := 2; found[name] != ""; i++ {
			name = n.name + "." + strconv.Itoa(i)
		}
		found[name] = n.value
	}
	return found
}
