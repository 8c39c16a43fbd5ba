package inspect

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
)

func cardOf(t *testing.T, text string) *Card {
	t.Helper()
	c, problems := manifest.Parse(filepath.Join(t.TempDir(), "perstack.toml"), []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	return newCard(c, c.Experts[0], nil, nil, env.Env{}, t.TempDir(), "")
}

const walled = `
[experts.a]
instruction = "x"
[experts.a.skills."@perstack/base"]
type = "mcpStdioSkill"
allowedDomains = ["a.example"]
[experts.a.skills.s]
type = "mcpStdioSkill"
command = "./server"
requiredEnv = ["KEY"]
`

// In a container, what no list names is not reached, and commands have a list too. Without
// one, the card does not pretend that there is.
func TestContainer(t *testing.T) {
	card := cardOf(t, "runtime = 'docker'\n[docker]\nmemory = '1GiB'\ncpus = 1.5\nbaseImage = 'debian:12'\nreadOnlyWorkspace = true\nnetwork = 'n'\ndns = ['10.0.0.53']\n"+walled)
	text := card.text()
	for _, want := range []string{
		"runtime    docker\n",
		"isolation  a container of 1GiB, 1.5 processors, 256 processes, at most 24h, the workspace cannot be changed, programs of the image debian:12, connections through the network n, name servers 10.0.0.53\n",
		"hosts      commands can reach a.example\n",
		"hosts      none\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "may reach any host") || strings.Contains(text, "not enforced") {
		t.Errorf("a finding that does not hold:\n%s", text)
	}
	if card.Docker.MemoryReservation != 256<<20 || card.Docker.IdleTimeoutMS != 120_000 {
		t.Errorf("defaults are not filled in: %+v", card.Docker)
	}

	text = cardOf(t, "[sandbox]\nmode = 'off'\n[docker]\nmemory = '1GiB'\n"+walled).text()
	if strings.Contains(text, "container of") || !strings.Contains(text, "hosts      any\n") || !strings.Contains(text, "gets KEY and can reach any host") {
		t.Errorf("without a container:\n%s", text)
	}
}
