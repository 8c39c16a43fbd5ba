package log

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// docs/log.md names every flag and every member. Its transcript is one that is printed, and its tree
// is one that is drawn.
func TestPageOfLog(t *testing.T) {
	data, err := os.ReadFile("../../../docs/log.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	New(nil, nil).Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(page, "--"+f.Name) {
			t.Errorf("docs/log.md does not mention --%s", f.Name)
		}
	})
	for i := range reflect.TypeFor[runLine]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[runLine]().Field(i).Tag.Get("json"), ",")
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/log.md does not mention the member %s", name)
		}
	}
	printed, err := os.ReadFile("testdata/transcript.golden")
	if err != nil {
		t.Fatal(err)
	}
	_, screen, _ := strings.Cut(page, "```\n── run ")
	screen, _, _ = strings.Cut(screen, "```\n")
	if screen == "" || !strings.Contains(string(printed), "\n── run "+screen) {
		t.Errorf("the transcript of docs/log.md is none that is printed:\n%s", screen)
	}
	tree, err := os.ReadFile("testdata/tree.golden")
	if err != nil {
		t.Fatal(err)
	}
	_, drawn, _ := strings.Cut(string(tree), "\n\n")
	drawn, _, _ = strings.Cut(drawn, "perstack log")
	if !strings.Contains(page, "```\n"+drawn+"```\n") {
		t.Errorf("docs/log.md has another tree than testdata/tree.golden:\n%s", drawn)
	}
}
