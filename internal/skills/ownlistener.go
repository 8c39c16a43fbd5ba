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

// listeners are a proxy in this process, for the skills of one Expert that are locked in where
// nobody else has put a proxy. It ends with them.
type listeners struct {
	addresses map[string]string // by skill, with the tokens
	end       context.CancelCauseFunc
	ended     chan struct{}
}

var errListenersClosed = errors.New("the skills have ended")

// openListeners opens a listener for each skill. What its allowedDomains do not name it does not
// reach.
func (s *set) openListeners(ctx context.Context, expertKey string, skills []*expert.Skill) (*listeners, error) {
	var policy egress.Listeners
	for _, k := range skills {
		token := rand.Text()
		s.site.Parts.Secrets.Add("PROXY_TOKEN", token) // programs print their variables
		policy.Listeners = append(policy.Listeners, egress.Listener{
			Name: expertKey + " " + k.Name, Address: "127.0.0.1:0", Allow: k.AllowedDomains, Token: token,
		})
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx)) // the skills outlive who starts them
	proxy, err := egress.Listen(ctx, policy, egress.ProxyOptions{Report: s.passed})
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("open the listeners of skills: %w", err)
	}
	g := &listeners{addresses: make(map[string]string, len(skills)), end: end, ended: make(chan struct{})}
	for i, open := range proxy.Listeners() {
		address := url.URL{Scheme: "http", User: url.UserPassword(egress.TokenUser, policy.Listeners[i].Token), Host: open.Address}
		g.addresses[skills[i].Name] = address.String()
	}
	go func() {
		defer close(g.ended)
		if err := proxy.Serve(ctx); !errors.Is(err, errListenersClosed) {
			s.site.Parts.Log.Error("skills cannot reach anything any more", "error", err)
		}
	}()
	return g, nil
}

// passed tells the Run what a listener decided.
func (s *set) passed(line egress.Line) error {
	a := line.Access
	if a == nil {
		return nil
	}
	action := "blocked"
	if a.Allowed {
		action = "allowed"
	}
	s.req.Report(event.ProxyAccess{Action: action, Domain: a.Host, Port: a.Port, Reason: a.Reason, Listener: a.Listener})
	return nil
}

// close closes the listeners, and returns when the last decision is told.
func (g *listeners) close() {
	if g == nil {
		return
	}
	g.end(errListenersClosed)
	<-g.ended
}
