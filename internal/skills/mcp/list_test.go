package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/skill"
)

// A list is read page by page, to its end.
func TestPages(t *testing.T) {
	connection, _ := play(t, func(m message, send func(string, ...any)) {
		if m.Method != "tools/list" {
			polite(ignore)(m, send)
			return
		}
		page := 0
		for i := range 3 {
			if strings.Contains(string(m.Params), fmt.Sprintf(`"cursor":"page %d"`, i)) {
				page = i
			}
		}
		next := fmt.Sprintf(`,"nextCursor":"page %d"`, page+1)
		if page == 2 {
			next = `,"nextCursor":null`
		}
		send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}]%s}}`, m.ID, page, next)
	})
	s, err := join(t, connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 3 || tools[0].Name != "tool0" || tools[2].Name != "tool2" {
		t.Errorf("%+v, %v", tools, err)
	}
}

// A list that is none is an error; a tool that is none is left out.
func TestBadLists(t *testing.T) {
	for result, want := range map[string]string{
		`7`:                      "no list of tools",
		`{}`:                     "no list of tools",
		`{"tools":null}`:         "no list of tools",
		`{"tools":{"a":1}}`:      "no list of tools",
		`{"tools":[]}`:           "",
		`{"tools":[5,null,"a"]}`: "",
		`{"tools":[` + strings.Repeat("0,", maxTools) + `0]}`:                                  "more than 1000 tools",
		`{"tools":[{"name":"a","inputSchema":{"type":"object"},"description":{"no":"text"}}]}`: "",
	} {
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			if m.Method == "tools/list" {
				send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				return
			}
			polite(ignore)(m, send)
		})
		_, err := join(t, connection, nil)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", result, err, want)
		}
	}
}

// However many tools a server makes up, the log names a few of them and counts the rest.
func TestWarningsAreFew(t *testing.T) {
	var log strings.Builder
	s := newSkill(Options{Name: "s", Log: textLog(&log)})
	for range 2 { // the server says that the list has changed, and it has not
		many := &lister{skill: s, all: &listing{}, seen: make(map[string]bool)}
		for i := range 100 {
			many.take(fmt.Appendf(nil, `{"name":"bad%d"}`, i))
		}
		many.done(t.Context())
	}
	if n := strings.Count(log.String(), " left out"); n != 1 || !strings.Contains(log.String(), "and 80 more") {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
	log.Reset()
	s.listed = &listing{}
	now := &listing{}
	for i := range 100 {
		now.tools = append(now.tools, skill.Tool{Name: fmt.Sprintf("new%d", i)})
	}
	if err := s.compare(now); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "+ new"); n != maxWarnings || !strings.Contains(log.String(), "and 80 more") {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
