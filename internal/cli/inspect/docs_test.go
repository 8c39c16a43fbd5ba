package inspect

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Every field of the JSON is on the page.
func TestFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "inspect.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				field := of.Field(i)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if seen++; !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%s.%s: `%s` is not on the page", of.Name(), field.Name, name)
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[Card]())
	if seen < 50 {
		t.Errorf("only %d fields were looked at", seen)
	}
}
