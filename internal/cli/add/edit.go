package add

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
)

// errByHand says that a file is written in a way that is not changed here.
var errByHand = errors.New("the file cannot be changed automatically")

// withDelegate returns the text of a perstack.toml in which an Expert has one more delegate. Everything else
// stays as it is, comments included. The new text is read again: if it says anything but what it should,
// the error is errByHand.
func withDelegate(text, name, key string) (string, error) {
	changed, ok := insertDelegate(text, name, key)
	if !ok {
		return "", errByHand
	}
	return changed, check(text, changed, func(before []*expert.Expert) []*expert.Expert {
		for _, e := range before {
			if e.Name == name {
				e.Delegates = append(e.Delegates, key)
			}
		}
		return before
	})
}

// withTable returns the text with one more Expert at its end.
func withTable(text, name, table string) (string, error) {
	line := ending(text)
	changed := text
	if changed != "" && !strings.HasSuffix(changed, "\n") {
		changed += line
	}
	if changed != "" {
		changed += line
	}
	changed += strings.ReplaceAll(table, "\n", line)
	return changed, check(text, changed, func(before []*expert.Expert) []*expert.Expert {
		if after, problems := manifest.Parse(manifest.FileName, []byte(table)); problems.Err() == nil && len(after.Experts) == 1 && after.Experts[0].Name == name {
			return append(before, after.Experts[0])
		}
		return nil
	})
}

// check reads both texts. The second must have the Experts of the first after a change, and nothing else.
func check(before, after string, change func([]*expert.Expert) []*expert.Expert) error {
	old, problems := manifest.Parse(manifest.FileName, []byte(before))
	if err := problems.Err(); err != nil {
		return err
	}
	changed, problems := manifest.Parse(manifest.FileName, []byte(after))
	if err := problems.Err(); err != nil {
		return fmt.Errorf("%w: %w", errByHand, err)
	}
	if !reflect.DeepEqual(change(old.Experts), changed.Experts) || !reflect.DeepEqual(old.Settings, changed.Settings) {
		return errByHand
	}
	return nil
}

// ending is how the lines of a text end.
func ending(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// insertDelegate adds a key to the list of delegates, or a list to the table. It reports whether it found
// a place.
func insertDelegate(text, name, key string) (string, bool) {
	_, root := toml.ReadTree(manifest.FileName, []byte(text))
	if root == nil || root.Fields["experts"] == nil {
		return "", false
	}
	table := root.Fields["experts"].Fields[name]
	if table == nil {
		return "", false
	}
	if list := table.Fields["delegates"]; list != nil {
		return insertItem(text, list.KeyAt, toml.String(key))
	}
	at := lineEnd(text, table.KeyAt)
	return text[:at] + ending(text) + "delegates = [" + toml.String(key) + "]" + text[at:], true
}

// lineEnd is where the line ends in which an offset is.
func lineEnd(text string, at int) int {
	end := len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > at && text[end-1] == '\r' {
		end--
	}
	return end
}

// insertItem adds an item to the list whose key is at an offset.
func insertItem(text string, keyAt int, item string) (string, bool) {
	equals := strings.IndexByte(text[keyAt:], '=')
	if equals < 0 {
		return "", false
	}
	list, ok := scanList(text, keyAt+equals+1)
	switch {
	case !ok:
		return "", false
	case list.last == list.open:
		return text[:list.open+1] + item + text[list.open+1:], true
	}
	comma := ","
	if list.comma {
		comma = ""
	}
	start := strings.LastIndexByte(text[:list.lastItem], '\n') + 1
	indent := text[start:list.lastItem]
	if start <= list.open || strings.TrimSpace(indent) != "" { // the items are on one line
		return text[:list.last] + comma + " " + item + text[list.last:], true
	}
	if end := lineEnd(text, list.last); end < list.end { // what follows on the line is a comment of the item
		after := ending(text) + indent + item
		if list.comma {
			after += ","
		}
		return text[:list.last] + comma + text[list.last:end] + after + text[end:], true
	}
	return text[:list.last] + comma + ending(text) + indent + item + text[list.last:], true
}

// A span is where the parts of a list of texts are.
type span struct {
	open, end int  // the brackets
	lastItem  int  // where the last item begins
	last      int  // behind the last item, or the comma after it; open if there is none
	comma     bool // there is one after the last item
}

// scanList finds the parts of a list that begins after an offset. Its items are texts.
func scanList(text string, from int) (s span, ok bool) {
	i := from
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i >= len(text) || text[i] != '[' {
		return s, false
	}
	s.open, s.last = i, i
	for i++; i < len(text); {
		switch c := text[i]; c {
		case ']':
			s.end = i
			return s, true
		case '#':
			i = lineEnd(text, i)
		case ',':
			i++
			s.comma, s.last = true, i
		case '"', '\'':
			s.lastItem, s.comma = i, false
			if i = textEnd(text, i); i < 0 {
				return s, false
			}
			s.last = i
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return s, false
		}
	}
	return s, false
}

// textEnd is behind the text that begins at an offset; -1 if it does not end on its line.
func textEnd(text string, at int) int {
	quote := text[at]
	for i := at + 1; i < len(text) && text[i] != '\n'; i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// hasDelegate reports whether an Expert has a delegate.
func hasDelegate(e *expert.Expert, key string) bool { return slices.Contains(e.Delegates, key) }
