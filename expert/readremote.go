package expert

import (
	"slices"
	"strconv"
	"strings"
)

// The most headers of a skill, and the longest name and value. Servers accept little more.
const (
	maxHeaders     = 64
	maxHeaderName  = 255
	maxHeaderValue = 8192
)

// remoteSkill reads what a server is reached with.
func (r *reader) remoteSkill(t *table, s *Skill) {
	s.AllowPrivateEndpoint = t.boolean("allowPrivateEndpoint")
	s.Endpoint = t.require("endpoint", "give the URL of the server", length(1, 2048), endpointURL(s.AllowPrivateEndpoint))
	s.Headers = r.skillHeaders(t, s)
	r.unusedEnv(t, s)
}

// unusedEnv warns about variables that no header uses: the server never gets them. While
// a name or a header is wrong, nobody knows what it was meant to be.
func (r *reader) unusedEnv(t *table, s *Skill) {
	names, headers := t.n.fields["requiredEnv"], t.n.fields["headers"]
	wrongHeaders := headers != nil && (headers.kind != kindTable || len(headers.keys) != len(s.Headers))
	if names == nil || len(names.items) != len(s.RequiredEnv) || wrongHeaders {
		return
	}
	used := map[string]bool{}
	for _, h := range s.Headers {
		for _, name := range h.variables() {
			used[name] = true
		}
	}
	for i, name := range s.RequiredEnv {
		if !used[name] {
			r.warn(names.items[i].at, pathTo(t.at("requiredEnv"), strconv.Itoa(i)), quote(name)+" is not used", "write ${"+name+"} into a value of headers, or remove it")
		}
	}
}

// skillHeaders reads the headers of a remote skill in the order of the file. Values may
// be secrets and are never quoted in a message.
func (r *reader) skillHeaders(t *table, s *Skill) []Header {
	h := t.sub("headers")
	if h == nil {
		return nil
	}
	r.atMost(h.n, h.path, len(h.n.keys), maxHeaders, "headers")
	var out []Header
	taken := map[string]bool{}
	for _, name := range h.n.keys {
		n, path, lower := h.n.fields[name], h.at(name), strings.ToLower(name)
		fault, hint := headerFault(name)
		switch {
		case fault != "":
			r.fault(n.keyAt, path, fault, hint)
		case taken[lower]:
			r.fault(n.keyAt, path, "is there already, in other letters", "keep one of them")
		case r.is(n, kindString, path) && r.check(n, path, []rule{length(0, maxHeaderValue), headerText, references(s.RequiredEnv)}):
			out = append(out, Header{name, n.text})
		}
		taken[lower] = true
	}
	return out
}

// ownHeaders are set by the client itself: they say where a request goes, how long it is
// and to which session it belongs. With another value, one request could be read as two.
var ownHeaders = []string{
	"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "cookie", "cookie2", "set-cookie", "last-event-id",
	"accept",
}

// ownHeaderFamilies are the beginnings of names that the client sets itself.
var ownHeaderFamilies = []string{"content-", "accept-", "mcp-", "proxy-", "sec-"}

// headerFault says what is wrong with the name of a header.
func headerFault(name string) (message, hint string) {
	lower := strings.ToLower(name)
	switch {
	case !tokenText(name):
		return "is not a header name", "use letters, digits and -"
	case len(name) > maxHeaderName:
		return "is too long for a header name", "shorten it"
	case slices.Contains(ownHeaders, lower),
		slices.ContainsFunc(ownHeaderFamilies, func(f string) bool { return strings.HasPrefix(lower, f) }):
		return "is a header that perstack sets itself", "remove it"
	}
	return "", ""
}

// tokenText reports whether s is a token of HTTP.
func tokenText(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
}

// headerText refuses control characters: a line break would start another header.
func headerText(s string) (string, string) {
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return "has a control character in its value", "remove it"
	}
	return "", ""
}
