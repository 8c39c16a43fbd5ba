package grants

import (
	"errors"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/rawjson"
)

// encode writes the text of a file.
func encode(all []Grant) []byte {
	var b strings.Builder
	b.WriteString("# Answers of the user that hold longer than one job.\n")
	for _, g := range all {
		b.WriteString("\n[[grants]]\n")
		for _, field := range g.fields() {
			if *field.value != "" {
				b.WriteString(field.name + " = " + toml.String(*field.value) + "\n")
			}
		}
		if len(g.Command) > 0 {
			var words []string
			for _, word := range g.Command {
				words = append(words, toml.String(word))
			}
			b.WriteString("command = [" + strings.Join(words, ", ") + "]\n")
		}
		b.WriteString("when = " + toml.String(g.When.Format(time.RFC3339)) + "\n")
	}
	return []byte(b.String())
}

type field struct {
	name  string
	value *string
	most  int // characters
}

// fields are the texts of a grant.
func (g *Grant) fields() []field {
	return []field{
		{"id", &g.ID, 64}, {"expert", &g.Expert, 1024}, {"skill", &g.Skill, 1024}, {"tool", &g.Tool, 1024},
		{"args", &g.Args, maxFile}, {"digest", &g.Digest, 256}, {"job", &g.Job, 256},
		{"host", &g.Host, 1024}, {"path", &g.Path, 4096},
	}
}

// parse reads the text of a file.
func parse(path string, data []byte) (all []Grant, _ toml.Problems) {
	r, root := toml.ReadTree(path, data)
	if root == nil {
		return nil, r.Problems
	}
	top := r.Table(root)
	top.EachItem("grants", maxGrants, func(t *toml.Table) {
		var g Grant
		t.Knows("when", "command")
		for _, field := range g.fields() {
			t.Knows(field.name)
			*field.value = t.Str(field.name, toml.Length(0, field.most))
		}
		if words := t.Strs("command", 3); len(words) > 0 {
			g.Command = words
		}
		when, err := time.Parse(time.RFC3339, t.Require("when"))
		if err == nil {
			g.When = when.UTC()
			err = g.check()
		}
		if err != nil {
			r.Fault(t.Node.At, t.Node.Path(), "is not a grant: "+err.Error(), "remove it, or the file")
		}
		t.Finish()
		all = append(all, g)
	})
	top.Finish()
	r.Problems.Sort()
	if r.Problems.Err() != nil {
		return nil, r.Problems
	}
	return all, nil
}

// check refuses a grant that would cover another call than its words say.
func (g *Grant) check() error {
	args, canon := canonical(rawjson.Value(g.Args))
	switch {
	case g.ID == "" || g.Expert == "" || g.Tool+g.Host+g.Path == "":
		return errors.New("it needs id, expert and tool")
	case g.Host != "" || g.Path != "":
		if g.Host != "" && g.Path != "" || g.Skill == "" || g.Tool+g.Args+g.Digest != "" || len(g.Command) > 0 {
			return errors.New("it needs a skill, and host or path alone")
		}
		return nil
	case (g.Args == "") == (len(g.Command) == 0):
		return errors.New("it needs args or command, and not both")
	case g.Args != "" && (!canon || args != g.Args):
		return errors.New("args is not canonical JSON")
	case len(g.Command) > 0 && (len(g.Command) != 3 || !isProgram(g.Command[0]) || !subcommand().MatchString(g.Command[1]) || g.Command[2] != everything || g.Digest != ""):
		return errors.New("command is not a program, its subcommand and **")
	}
	return nil
}
