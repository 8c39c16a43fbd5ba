package base_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Every row of the two attack tables of the base skill's specification is tried: B1 to
// B26 are attacks that others have met before, N1 to N16 those that got through. A test
// has the rows in its name, or a table has them first. B27 to B32 need a container; what
// B31 asks for holds without one.
func TestAttackTablesAreComplete(t *testing.T) {
	files, err := filepath.Glob("attack_*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	tried := map[string]bool{
		// A command cannot read the environment of the process that started it. That
		// takes a whole program: see internal/sandbox and test.
		"N8": true,
	}
	id := regexp.MustCompile(`[BN]\d+`)
	place := regexp.MustCompile(`(?m)^func Test\w+|^\t\t\{"[BN]\d+", `)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range place.FindAllString(string(text), -1) {
			for _, row := range id.FindAllString(found, -1) {
				tried[row] = true
			}
		}
	}
	for letter, rows := range map[string]int{"B": 26, "N": 16} {
		for n := 1; n <= rows; n++ {
			if row := fmt.Sprint(letter, n); !tried[row] {
				t.Errorf("row %s is not tried", row)
			}
		}
	}
}
