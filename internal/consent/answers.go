package consent

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Answers are the lists of requests that the user allowed in a project. They lie in its state
// directory, which no project contains and no setting of a project moves.
type Answers struct {
	Dir string // "" to remember nothing
}

const (
	answersName = "consent.json"
	maxAnswers  = 1 << 20 // bytes of the file
	maxLists    = 100
)

// answers is the content of the file.
type answers struct {
	// Allowed are lists of the digests of requests, each sorted, the newest last.
	Allowed [][]string `json:"allowed"`
}

// Allow reports whether the user allowed these requests together: the same list, or one with
// more in it. Two lists that were allowed one after the other do not add up.
func (a Answers) Allow(list []Request) bool {
	want := digests(list)
	return slices.ContainsFunc(a.read().Allowed, func(allowed []string) bool {
		return !slices.ContainsFunc(want, func(d string) bool { _, found := slices.BinarySearch(allowed, d); return !found })
	})
}

// Remember records that the user allowed a list. An answer about code that is pinned now replaces
// those from before: a project that loses its pins asks again.
func (a Answers) Remember(list []Request) error {
	if a.Dir == "" {
		return nil
	}
	known := a.read()
	for _, r := range list {
		if loose := r.Unpinned().Digest(); r.Digest() != loose {
			known.Allowed = slices.DeleteFunc(known.Allowed, func(allowed []string) bool { return slices.Contains(allowed, loose) })
		}
	}
	known.Allowed = append(known.Allowed, digests(list))
	var data []byte
	for {
		var err error
		if data, err = json.Marshal(known); err != nil {
			return err
		}
		if len(known.Allowed) <= 1 || len(known.Allowed) <= maxLists && len(data) <= maxAnswers {
			break
		}
		known.Allowed = known.Allowed[1:]
	}
	if err := privatefile.Replace(filepath.Join(a.Dir, answersName), append(data, '\n')); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}

// read returns what is remembered. A file that cannot be used is no answer: the user is asked
// again, and the file is replaced.
func (a Answers) read() (known answers) {
	if a.Dir == "" {
		return known
	}
	data, err := userfile.Read(filepath.Join(a.Dir, answersName), maxAnswers)
	if err != nil || json.Unmarshal(data, &known) != nil {
		return answers{}
	}
	return known
}

func digests(list []Request) []string {
	all := []string{}
	for _, r := range list {
		all = append(all, r.Digest())
	}
	slices.Sort(all)
	return all
}
