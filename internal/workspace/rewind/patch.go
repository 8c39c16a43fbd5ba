package rewind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/perstack-go/perstack/internal/textdiff"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A file is shown line by line up to this size.
const (
	maxPatchBytes = 1 << 20
	maxPatchLines = 20_000
)

// WritePatch writes changes as git does, so that git can apply them. Like git, it has no directories,
// and of a mode only whether a file can be executed. The content of env files is not shown. A file
// whose content is not shown is named, and git passes it over.
func WritePatch(w io.Writer, store *snapshot.Store, changes []snapshot.Change) error {
	for _, c := range changes {
		before, after := tracked(c.Before), tracked(c.After)
		if before != nil && after != nil && before.Kind != after.Kind { // git removes the one, and adds the other
			if err := writeFile(w, store, c.Path, before, nil); err != nil {
				return err
			}
			before = nil
		}
		if before == nil && after == nil {
			continue
		}
		if err := writeFile(w, store, c.Path, before, after); err != nil {
			return err
		}
	}
	return nil
}

// tracked returns an entry if it is a file or a link.
func tracked(e *snapshot.Entry) *snapshot.Entry {
	if e == nil || e.Kind != snapshot.File && e.Kind != snapshot.Link {
		return nil
	}
	return e
}

// writeFile writes the change of one file or link. One of the two can be nil.
func writeFile(w io.Writer, store *snapshot.Store, path string, before, after *snapshot.Entry) error {
	var head strings.Builder
	from, to := quote("a/"+path), quote("b/"+path)
	fmt.Fprintln(&head, "diff", "--git", from, to)
	switch {
	case before == nil:
		fmt.Fprintf(&head, "new file mode %s\n", gitMode(after))
		from = "/dev/null"
	case after == nil:
		fmt.Fprintf(&head, "deleted file mode %s\n", gitMode(before))
		to = "/dev/null"
	case gitMode(before) != gitMode(after):
		fmt.Fprintf(&head, "old mode %s\nnew mode %s\n", gitMode(before), gitMode(after))
	}
	old, err := shown(store, before)
	var now []byte
	if err == nil {
		now, err = shown(store, after)
	}
	var hidden *hiddenError
	switch {
	case errors.As(err, &hidden):
		head.Reset() // git passes over what has no head; with one, it would make an empty file
		fmt.Fprintf(&head, "Files %s and %s differ: %s\n", from, to, hidden.why)
	case err != nil:
		return err
	case bytes.Equal(old, now): // the mode differs, or the file is empty
	case textdiff.IsBinary(old) || textdiff.IsBinary(now):
		head.Reset()
		fmt.Fprintf(&head, "Binary files %s and %s differ\n", from, to)
	default:
		fmt.Fprintf(&head, "--- %s\n+++ %s\n%s", withTab(from), withTab(to), textdiff.Hunks(old, now))
	}
	_, err = io.WriteString(w, head.String())
	return err
}

func gitMode(e *snapshot.Entry) string {
	switch {
	case e.Kind == snapshot.Link:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// A hiddenError says why content is not shown.
type hiddenError struct{ why string }

func (e *hiddenError) Error() string { return e.why }

// shown returns the content of a file or a link, nothing if there is none.
func shown(store *snapshot.Store, e *snapshot.Entry) (content []byte, err error) {
	switch {
	case e == nil:
		return nil, nil
	case e.Flags&snapshot.Private != 0:
		return nil, &hiddenError{"the content of env files is not shown"}
	case !e.Captured():
		return nil, &hiddenError{"the content is not in the snapshots"}
	case e.Kind == snapshot.Link:
		target, err := store.Target(*e)
		return []byte(target), err
	case e.Size > maxPatchBytes:
		return nil, &hiddenError{"the file is too large to be shown"}
	}
	err = store.Content(*e, func(piece []byte) error {
		content = append(content, piece...)
		return nil
	})
	if err == nil && bytes.Count(content, []byte("\n")) > maxPatchLines {
		err = &hiddenError{"the file has too many lines to be shown"}
	}
	return content, err
}

// quote writes a path as git does: characters that could be taken for something else are escaped,
// and then the path is in quotes.
func quote(path string) string {
	var out strings.Builder
	plain := true
	for i := range len(path) {
		switch b := path[i]; {
		case b == '"' || b == '\\':
			out.WriteString(`\` + string(b))
			plain = false
		case b < ' ' || b >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, b)
			plain = false
		default:
			out.WriteByte(b)
		}
	}
	if plain {
		return path
	}
	return `"` + out.String() + `"`
}

// withTab ends a name that has spaces, so that what follows it is not taken for a part of it.
func withTab(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}
