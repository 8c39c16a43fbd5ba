package toml

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// T15: a file with millions of separators is refused before the parser builds a tree of one line. What
// is in texts and comments does not count, however the text ends.
func TestTooManyMarks(t *testing.T) {
	many := strings.Repeat(",.=[{", maxMarks/5+1)
	lines := strings.Repeat("\n", maxMarks+1)
	for name, tt := range map[string]struct {
		text    string
		refused bool
	}{
		"array":                         {"a = [" + strings.Repeat("1,", maxMarks) + "]", true},
		"inline table":                  {"a = {" + strings.Repeat("a=1,", maxMarks) + "}", true},
		"dotted key":                    {strings.Repeat("a.", maxMarks+1) + "a = 1", true},
		"header":                        {"[" + strings.Repeat("a.", maxMarks+1) + "a]", true},
		"nesting":                       {"a = " + strings.Repeat("[", maxMarks), true},
		"lines":                         {lines, true},
		"lines of a text":               {"a = '''" + lines + "'''", true},
		"lines that are escaped":        {`a = """` + strings.Repeat("\\\n", maxMarks+1) + `"""`, true},
		"comments":                      {strings.Repeat("#\n", maxMarks+1), true},
		"after an escaped quote":        {`a = "\"" # "` + "\nb = [" + many, true},
		"after a literal backslash":     {`a = '\'` + "\nb = [" + many, true},
		"after an empty text":           {`a = ["", ` + many, true},
		"after a quote before the end":  {`a = ["""x"""", ` + many, true},
		"after quotes before the end":   {`a = ["""x""""", ` + many, true},
		"after literal quotes":          {`a = ['''x''''', ` + many, true},
		"after a text without its end":  {"a = \"x\nb = [" + many, true},
		"in a text":                     {`a = "` + many + `"`, false},
		"in a text after a quote":       {`a = "\"` + many + `"`, false},
		"in a literal text":             {`a = '` + many + `'`, false},
		"in a long text":                {`a = """` + "\n\"" + many + `"""`, false},
		"in a long literal text":        {"a = '''\n'" + many + "'''", false},
		"in a comment":                  {"# ' \" " + many, false},
		"in a quoted key":               {`'` + many + `' = 1`, false},
		"a backslash at the end":        {`a = "\`, false},
		"as many as are allowed, lines": {lines[1:], false},
	} {
		r, root := ReadTree("f", []byte(tt.text))
		refused := root == nil && len(r.Problems) == 1 && r.Problems[0].Message == "the file has more than 500000 lines and separators"
		if refused != tt.refused {
			t.Errorf("%s: %v", name, r.Problems.First(3))
		}
	}
	attack.Held(t, "T15", 1)
}
