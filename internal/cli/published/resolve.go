package published

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Resolve asks the registry what a key means, with the checks of a run: nothing that is disabled, that is
// younger than the user wants, or that has a delegate of another registry.
func (r *Registry) Resolve(ctx context.Context, key string) (*resolve.Root, error) {
	resolver := resolve.Resolver{
		Decide:  r.registries.For,
		Connect: func(context.Context, scopes.Decision) (resolve.Source, error) { return r.Client, nil },
		Now:     func() time.Time { return r.host.Source.Now() },
	}
	found, err := resolver.Resolve(ctx, []string{key}, nil)
	if err != nil {
		return nil, r.Explain(err)
	}
	r.host.TellDiscouraged(found)
	return &found.Roots[0], nil
}

// Abilities says what an Expert can do, a line for each thing; "" if it can do nothing.
func Abilities(c card.Card) string {
	if len(c.Abilities) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("What it can do:\n")
	for _, a := range c.Abilities {
		fmt.Fprintf(&text, "  %s: %s\n", a.Kind, terminal.RevealLine(a.Text))
	}
	return text.String()
}
