package host

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Address writes where a URL leads: scheme and host. Everything else in it may be a key.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return terminal.CleanLine(u.Scheme + "://" + u.Host)
}

// Behind says who is behind a skill: the program that is started, or the address that is
// reached, safe to print.
func Behind(k *expert.Skill) string {
	if k.Endpoint != "" {
		return Address(k.Endpoint)
	}
	var who string
	if p, ok := k.Package(); ok {
		who = p.Manager + " " + p.Spec()
	} else if argv, err := k.CommandLine(); err == nil {
		who = ShellJoin(argv...)
	}
	return terminal.CleanLine(who)
}

// HandedKeys has a line for each skill of an Expert that is handed the key of a provider.
func HandedKeys(e *expert.Expert) (lines []string) {
	for _, k := range e.Servers() {
		if keys := manifest.ProviderKeys(k); len(keys) > 0 {
			lines = append(lines, fmt.Sprintf("skill %q (%s) gets your %s", terminal.CleanLine(k.Name), Behind(k), strings.Join(keys, ", ")))
		}
	}
	return lines
}
