package lockfile

import (
	"strconv"
	"strings"
)

func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// skillWith is a file with one expert that has one skill.
func skillWith(kind, keys string) string {
	return "[experts.a]\ninstruction = \"x\"\n[experts.a.skills.s]\ntype = '" + kind + "'\n" + keys
}
