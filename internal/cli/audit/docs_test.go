package audit

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/audit"
)

// Every field of the JSON and every kind of finding is on the page.
func TestPage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	seen := 0
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if seen++; !strings.Contains(page, "`"+name+"`") {
					t.Errorf("%s: `%s` is not on the page", of.Name(), name)
				}
				visit(of.Field(i).Type)
			}
		}
	}
	visit(reflect.TypeFor[audit.Report]())
	if seen < 40 {
		t.Errorf("only %d fields were looked at", seen)
	}
	for _, k := range audit.Kinds() {
		if !strings.Contains(page, "| `"+k.Name+"` | "+string(k.Severity)) {
			t.Errorf("%s is not on the page with its severity %s", k.Name, k.Severity)
		}
	}
}
