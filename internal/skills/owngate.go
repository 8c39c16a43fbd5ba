package skills

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
)

// gates are a proxy in this process, for the skills of one Expert that are locked in where
// nobody else has put a proxy. It ends with them.
type gates struct {
	addresses map[string]string // by skill, with the tokens
	end       context.CancelCauseFunc
	ended     chan struct{}
}

var errGatesClosed = errors.New("the skills have ended")

// openGates opens a gate for each skill. What its allowedDomains do not name it does not
// reach.
func (s *set) openGates(ctx context.Context, expertKey string, skills []*expert.Skill) (*gates, error) {
	var policy egress.Gates
	for _, k := range skills {
		token := rand.Text()
		s.site.Parts.Secrets.Add("PROXY_TOKEN", token) // programs print their variables
		policy.Gates = append(policy.Gates, egress.Gate{
			Name: expertKey + " " + k.Name, Address: "127.0.0.1:0", Allow: k.AllowedDomains, Token: token,
		})
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx)) // the skills outlive who starts them
	proxy, err := egress.Listen(ctx, policy, egress.ProxyOptions{Report: s.passed})
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("open the gates of skills: %w", err)
	}
	g := &gates{addresses: make(map[string]string, len(skills)), end: end, ended: make(chan struct{})}
	for i, open := range proxy.Gates() {
		address := url.URL{Scheme: "http", User: url.UserPassword(egress.TokenUser, policy.Gates[i].Token), Host: open.Address}
		g.addresses[skills[i].Name] = address.String()
	}
	go func() {
		defer close(g.ended)
		if err := proxy.Serve(ctx); !errors.Is(err, errGatesClosed) {
			s.site.Parts.Log.Error("skills cannot reach anything any more", "error", err)
		}
	}()
	return g, nil
}

// passed tells the Run what a gate decided.
func (s *set) passed(line egress.Line) error {
	a := line.Access
	if a == nil {
		return nil
	}
	action := "blocked"
	if a.Allowed {
		action = "allowed"
	}
	s.req.Report(event.ProxyAccess{Action: action, Domain: a.Host, Port: a.Port, Reason: a.Reason, Gate: a.Gate})
	return nil
}

// close closes the gates, and returns when the last decision is told.
func (g *gates) close() {
	if g == nil {
		return
	}
	g.end(errGatesClosed)
	<-g.ended
}
