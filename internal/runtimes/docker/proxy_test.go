package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// A decision of the proxy is reported, cleaned, with the listener that it was made at.
func TestDecisionIsReported(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, notes := buildSite(t, d, testPlan(t))
	enter(t, s, jail.Task{Dial: []string{"tcp " + mustURL(t, s.Listeners["expert @base"]).Host}, Hold: true})
	got := notes.until(t, func(b event.Body) bool { _, ok := b.(event.ProxyAccess); return ok })
	want := event.ProxyAccess{Action: "blocked", Domain: "evil.example?]0?", Port: 443, Reason: "domain", Listener: "expert @base"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("reported: %+v", got)
	}
}

// The proxy is perstack egress itself.
func TestRealProxy(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	plan.image = testdaemon.Image(t, map[string]string{
		binaryPath: testdaemon.Program(t, "./internal/testkit/jail/jaild"), "/real": testdaemon.Binary(t),
	})
	plan.listeners[0].Allow = []string{"api.example.com"}
	s, notes := buildSite(t, d, plan)
	engineListener, commands := mustURL(t, s.Listeners["engine"]), mustURL(t, s.Listeners["expert @base"])
	token, _ := engineListener.User.Password()
	if token != "token-of-the-engine" {
		t.Errorf("the engine's token is %q", token)
	}
	own, _ := commands.User.Password()
	if len(own) < 20 {
		t.Errorf("the token of a listener without one is %q", own)
	}
	saw, _ := enter(t, s, jail.Task{
		Connect: []string{engineListener.String() + " evil.example:443", engineListener.Scheme + "://" + engineListener.Host + " api.example.com:443"}, Hold: true,
	})
	for target, answer := range saw.Connected {
		if !strings.Contains(answer, " 403 ") && !strings.Contains(answer, " 407 ") {
			t.Errorf("%s: %q", target, answer)
		}
	}
	notes.until(t, func(b event.Body) bool {
		a, ok := b.(event.ProxyAccess)
		return ok && a.Domain == "evil.example" && a.Reason == egress.ReasonDomain && a.Listener == "engine"
	})
	notes.until(t, func(b event.Body) bool {
		a, ok := b.(event.ProxyAccess)
		return ok && a.Reason == egress.ReasonToken && a.Listener == "engine"
	})
}

// A proxy that dies, or says what it cannot mean, ends the run.
func TestProxyFails(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	for listener, want := range map[string]string{
		jail.Mortal:  "the proxy ended with exit code 3",
		jail.Forger:  "the proxy reports a decision of a listener that it does not have",
		jail.Shouter: "the proxy wrote a line of more than",
	} {
		t.Run(listener, func(t *testing.T) {
			plan := testPlan(t)
			plan.listeners = []egress.Listener{{Name: listener}}
			s, notes := buildSite(t, d, plan)
			enter(t, s, jail.Task{Dial: []string{"tcp " + mustURL(t, s.Listeners[listener]).Host}, Hold: true})
			if err := <-s.Failed; !strings.Contains(err.Error(), want) {
				t.Errorf("it failed with %q, want %q", err, want)
			}
			if got := notes.statuses(roleProxy); got[len(got)-1] != "error" {
				t.Errorf("the proxy was %q", got)
			}
		})
	}
}

// A proxy that does not start leaves nothing.
func TestProxyDoesNotStart(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	for listener, want := range map[string]string{
		jail.Silent:   "did not start within",
		jail.Babble:   "a line that cannot be read",
		jail.Complain: "it ended at once: jaild: no listener today",
	} {
		t.Run(listener, func(t *testing.T) {
			plan := testPlan(t)
			plan.listeners = []egress.Listener{{Name: listener}}
			if listener == jail.Silent {
				plan.container().StartTimeout = 3 * time.Second
			}
			notes := &notebook{}
			s, err := d.build(t.Context(), plan, notes.report)
			if s != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Build = %v, %v; want %q", s, err, want)
			}
			if list := ofJob(t, d, plan.spec.JobID); len(list) != 0 {
				t.Errorf("left: %q", list)
			}
		})
	}
}

// ofJob lists what a job has on the daemon.
func ofJob(t *testing.T, d *Daemon, job string) (list []string) {
	t.Helper()
	containers, networks, err := listed(context.WithoutCancel(t.Context()), d, ofRuns, labelJob+"="+job)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers {
		list = append(list, c.Names...)
	}
	for _, n := range networks {
		list = append(list, n.Name)
	}
	return list
}

func TestDecisions(t *testing.T) {
	s := &Site{listeners: []egress.Listener{{Name: "engine"}}}
	s.plan.log = quiet()
	for _, c := range []struct {
		line string
		want string // event, or the error
	}{
		{`{"access":{"id":1,"listener":"engine","allowed":true,"host":"api.example.com","port":443,"address":"1.2.3.4:443"}}`, "{allowed api.example.com 443  engine  {map[]}}"},
		{`{"access":{"id":1,"listener":"engine","allowed":false,"host":"127.0.0.1","port":80,"reason":"port"}}`, "{blocked 127.0.0.1 80 port engine  {map[]}}"},
		{`{"access":{"id":1,"listener":"engine","allowed":false,"host":"a\u001b[31m\u202e b","port":0,"reason":"host"}}`, "{blocked a?[31m????b 0 host engine  {map[]}}"},
		{`{"closed":{"id":1,"sent":1,"received":2}}`, "EOF"},
		{`{"access":{"id":1,"listener":"other","allowed":false,"host":"a","port":1,"reason":"host"}}`, "reports a decision of a listener that it does not have"},
		{`{"access":{"id":1,"listener":"engine","allowed":false,"host":"a","port":70000,"reason":"host"}}`, "reports a port that does not exist"},
		{`{"access":{"id":1,"listener":"engine","allowed":false,"host":"a","port":1,"reason":"because"}}`, "reports a decision without a reason, or with one that is not known"},
		{`{"access":{"id":1,"listener":"engine","allowed":false,"host":"a","port":1}}`, "reports a decision without a reason, or with one that is not known"},
		{`{"access":{"id":1,"listener":"engine","allowed":true,"host":"a","port":1,"reason":"host"}}`, "reports a decision without a reason, or with one that is not known"},
		{`{"access":{"id":1,"listener":"engine","allowed":true,"host":"A.example","port":443}}`, "let a connection through to an invalid host name"},
		{`{"access":{"id":1,"listener":"engine","allowed":true,"host":"10.0.0.1","port":443}}`, "let a connection through to an invalid host name"},
		{`{"ready":[{"name":"engine","address":"","allow":[]}]}`, "says twice that it is ready"},
		{`{}`, "wrote a line that is neither a decision nor an end"},
		{`{"access":{"id":1,"listener":"engine","allowed":true,"host":"a.b","port":443},"closed":{"id":1,"sent":0,"received":0}}`, "wrote a line that is neither a decision nor an end"},
		{`{"other":1}`, "wrote a line that cannot be read; the image may have another version of perstack"},
		{`[]`, "wrote a line that cannot be read; the image may have another version of perstack"},
		{`{"closed":{"id":1},"closed":{"id":1}}`, "wrote a line that cannot be read; the image may have another version of perstack"},
		{strings.Repeat("x", maxLine+1), fmt.Sprintf("wrote a line of more than %d bytes", maxLine)},
	} {
		var got []string
		s.report = func(b event.Body) { got = append(got, fmt.Sprint(b)) }
		err := s.follow(bufio.NewReaderSize(strings.NewReader(c.line+"\n"), maxLine))
		if !errors.Is(err, io.EOF) || len(got) == 0 {
			got = append(got, err.Error())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%.120s: %q, want %q", c.line, got, c.want)
		}
	}
	if err := s.follow(bufio.NewReader(strings.NewReader(`{"closed":`))); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("half a line: %v", err)
	}
}

func TestCheckReady(t *testing.T) {
	s := &Site{listeners: []egress.Listener{{Name: "a", Address: "10.0.0.2:3128", Token: "t"}, {Name: "b", Address: "10.0.0.2:3129"}}}
	first, second := egress.Listener{Name: "a", Address: "10.0.0.2:3128"}, egress.Listener{Name: "b", Address: "10.0.0.2:3129"}
	for _, c := range []struct {
		name string
		line egress.Line
		want bool
	}{
		{"as told", egress.Line{Ready: []egress.Listener{first, second}}, true},
		{"one is missing", egress.Line{Ready: []egress.Listener{first}}, false},
		{"another address", egress.Line{Ready: []egress.Listener{first, {Name: "b", Address: "0.0.0.0:3129"}}}, false},
		{"a decision", egress.Line{Access: &egress.Access{}}, false},
		{"both", egress.Line{Ready: []egress.Listener{first, second}, Access: &egress.Access{}}, false},
	} {
		if err := s.checkReady(c.line); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSafeHost(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"api.example.com":              "api.example.com",
		"[::1]:443":                    "[::1]:443",
		"a b\tc\x00\x1b[2J":            "a?b?c??[2J",
		"bücher":                       "b??cher",
		"<script>":                     "?script?",
		strings.Repeat("a", maxHost*2): strings.Repeat("a", maxHost),
	} {
		if got := safeHost(in); got != want {
			t.Errorf("safeHost(%q) = %q", in, got)
		}
	}
}

func TestListenerURL(t *testing.T) {
	inner := netip.MustParseAddr("172.18.0.2")
	for want, l := range map[string]egress.Listener{
		"http://perstack:secret@172.18.0.2:3128":   {Address: listenerAddress(inner, 0), Token: "secret"},
		"http://perstack:a%2Fb%40@172.18.0.2:3130": {Address: listenerAddress(inner, 2), Token: "a/b@"},
		"http://172.18.0.2:3129":                   {Address: listenerAddress(inner, 1)},
	} {
		if got := listenerURL(l); got != want {
			t.Errorf("listenerURL = %s, want %s", got, want)
		}
	}
}
