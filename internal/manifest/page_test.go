package manifest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The tables of keys in the reference are made from the rows. go test -update writes them.
func TestReferenceTables(t *testing.T) {
	const path = "../../docs/perstack-toml.md"
	all := allTables
	before := referencePage(t)
	page := before
	for _, table := range []struct{ heading, header, rows string }{
		{"## Top level", "| key | value | meaning | when absent |", pageRows(all.top(), nil)},
		{"### Prices", "| key | value | meaning | when absent |", pageRows(all.prices(), nil)},
		{"### Models", "| key | value | meaning | when absent |", pageRows(all.models(), nil)},
		{"### Docker", "| key | value | meaning | when absent |", pageRows(all.docker(), nil)},
		{"### Sandbox", "| key | value | meaning | when absent |", pageRows(all.sandbox(), nil)},
		{"### Rules", "| key | value | meaning | when absent |", pageRows(all.rules(), nil)},
		{"### Snapshots", "| key | value | meaning | when absent |", pageRows(all.stored(), nil)},
		{"### Registries", "| key | value | meaning | when absent |", pageRows(registryKeys(false), nil)},
		{"## Experts", "| key | value | meaning | when absent |", pageRows(all.expert(), nil)},
		{"## Skills", "| key | types | value | meaning | when absent |", pageRows(all.skill(), skillTypes)},
	} {
		start := strings.Index(page, "\n"+table.heading+"\n")
		if start < 0 {
			t.Fatalf("no heading %q", table.heading)
		}
		start += strings.Index(page[start:], "\n| key | ") + 1
		end := start + strings.Index(page[start:], "\n\n") + 1
		page = page[:start] + table.header + "\n" + strings.Repeat("|---", strings.Count(table.header, "|")-1) + "|\n" + table.rows + page[end:]
	}
	if page == before {
		return
	}
	if !*testkit.Update {
		t.Errorf("the tables of docs/perstack-toml.md are not those of the code; go test ./internal/manifest -update writes them")
		return
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pageRows are the rows of a table of the reference. Types is the column about kinds, if
// there is one.
func pageRows[T any](keys []key[T], types func(k []string) string) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "| `%s` |", k.name)
		if types != nil {
			fmt.Fprintf(&b, " %s |", types(k.kinds))
		}
		absent := k.absent
		if k.described().Default != nil && absent == "" {
			absent = pageDefault(k.form, k.described().Default)
		}
		if absent != "" {
			absent += " "
		}
		fmt.Fprintf(&b, " %s | %s | %s|\n", pageForm(k), pageMeaning(k), absent)
	}
	return b.String()
}

// pageForm says what a key may hold.
func pageForm[T any](k key[T]) string {
	if k.hint != "" {
		return k.form + "; required"
	}
	return k.form
}

// pageMeaning says what a key is for.
func pageMeaning[T any](k key[T]) string {
	text := strings.TrimSuffix(k.about, ".")
	if k.see != "" {
		text += "; " + k.see
	}
	return text
}

func pageDefault(form string, value any) string {
	s, isText := value.(string)
	switch {
	case !isText:
		return fmt.Sprint(value)
	case strings.HasPrefix(form, "`") || strings.Contains(form, "image") || strings.Contains(form, "address") || strings.Contains(form, "1.0.0"):
		return "`" + s + "`"
	}
	return "`\"" + s + "\"`"
}

func skillTypes(kinds []string) string {
	switch {
	case kinds == nil:
		return "all"
	case slices.Equal(kinds, mcpKinds):
		return "MCP"
	}
	short := map[string]string{skillKinds[0]: "stdio", skillKinds[1]: "SSE", skillKinds[2]: "HTTP", skillKinds[3]: "interactive"}
	var names []string
	for _, kind := range kinds {
		names = append(names, short[kind])
	}
	return strings.Join(names, ", ")
}
