package egress

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
)

// Every field of the lines and of the policy, and every reason, is on the page; the
// examples there can be read.
func TestPage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "egress.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, of := range []reflect.Type{reflect.TypeFor[egress.Line](), reflect.TypeFor[egress.Access](), reflect.TypeFor[egress.Closed](), reflect.TypeFor[egress.Listener](), reflect.TypeFor[egress.ProxyConfig]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, `"`+name+`":`) {
				t.Errorf("%s: %s is not on the page", of.Name(), name)
			}
		}
	}
	for _, reason := range egress.Reasons() {
		if !strings.Contains(page, "\n| `"+reason+"` |") {
			t.Errorf("reason %s is not on the page", reason)
		}
	}
	blocks := strings.Split(page, "```json\n")
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks)-1)
	}
	lines, _, _ := strings.Cut(blocks[1], "```")
	for text := range strings.Lines(lines) {
		var l egress.Line
		if err := json.Unmarshal([]byte(text), &l, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	policy, _, _ := strings.Cut(blocks[2], "```")
	if _, err := egress.ParseProxyConfig([]byte(policy)); err != nil {
		t.Error(err)
	}
}
