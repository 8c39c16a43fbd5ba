package manifest

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// foreignKey answers keys that other programs have, and that perstack.toml says in another
// way.
func foreignKey(in *toml.Node) func(key string) string {
	return func(key string) string {
		n := in.Fields[key]
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key)) {
		case "mcpservers", "mcp", "servers":
			name := "<server>"
			if len(n.Keys) > 0 {
				name = toml.PathTo("", n.Keys[0])
			}
			return "an MCP server is a skill of an expert: write [experts.<name>.skills." + name + `] with type = "mcpStdioSkill"`
		case "apikey", "apitoken", "token", "secretkey", "accesskey":
			return "a key does not belong in a file that others read: set the variable of the provider in the environment or in .env, like ANTHROPIC_API_KEY"
		case "env", "environment":
			return "values do not belong in a file that others read: name the variables in the skill, like requiredEnv = " + variableList(n) + ", and set them in the environment or in .env"
		}
		return ""
	}
}

// variableList is the requiredEnv for a table of variables.
func variableList(n *toml.Node) string {
	const most = 3
	names := []string{"TOKEN"}
	if len(n.Keys) > 0 {
		names = slices.Clone(n.Keys[:min(len(n.Keys), most)])
	}
	for i, name := range names {
		names[i] = wording.Quote(name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}
