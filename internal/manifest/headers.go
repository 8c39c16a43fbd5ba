package manifest

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// The most headers of a skill, and the longest name and value. Servers accept little more.
const (
	maxHeaders     = 64
	maxHeaderName  = 255
	maxHeaderValue = 8192
)

// unusedEnv warns about variables that no header uses: the server never gets them. If a name
// or a header is wrong, it says nothing.
func (r *reader) unusedEnv(t *toml.Table, s *expert.Skill) {
	names, headers := t.Node.Fields["requiredEnv"], t.Node.Fields["headers"]
	wrongHeaders := headers != nil && (headers.Kind != toml.KindTable || len(headers.Keys) != len(s.Headers))
	if names == nil || len(names.Items) != len(s.RequiredEnv) || wrongHeaders {
		return
	}
	used := map[string]bool{}
	for _, h := range s.Headers {
		names, _ := h.Variables()
		for _, name := range names {
			used[name] = true
		}
	}
	for i, name := range s.RequiredEnv {
		if !used[name] {
			r.Warn(names.Items[i].At, names.Items[i].Path(), wording.Quote(name)+" is not used", "write ${"+name+"} into a value of headers, or remove it")
		}
	}
}

// skillHeaders reads the headers of a remote skill in the order of the file. Values may
// be secrets and are never quoted in a message.
func (r *reader) skillHeaders(t *toml.Table, s *expert.Skill) {
	h := t.Sub("headers")
	if h == nil {
		return
	}
	r.AtMost(h.Node, len(h.Node.Keys), maxHeaders, "headers")
	taken := map[string]bool{}
	for _, name := range h.Node.Keys {
		n, lower := h.Node.Fields[name], strings.ToLower(name)
		fault, hint := headerFault(name)
		switch {
		case fault != "":
			r.Fault(n.KeyAt, n.Path(), fault, hint)
		case taken[lower]:
			r.Fault(n.KeyAt, n.Path(), "is there already, in other letters", "keep one of them")
		case r.Is(n, toml.KindString) && r.Check(n, toml.Length(0, maxHeaderValue), headerText, references(s.RequiredEnv)):
			s.Headers = append(s.Headers, expert.Header{Name: name, Value: n.Text})
		}
		taken[lower] = true
	}
}

// ownHeaders are set by the client itself: they say where a request goes, how long it is
// and to which session it belongs. With another value, one request could be read as two.
var ownHeaders = []string{
	"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "cookie", "cookie2", "set-cookie", "last-event-id",
	"accept",
}

// ownHeaderFamilies are the beginnings of names that the client sets itself.
var ownHeaderFamilies = []string{"content-", "accept-", "mcp-", "proxy-", "sec-"}

// keyHeaders say whose request it is to some provider, or how the request is signed, and
// keyHeaderFamily is the beginning of others. A file must not replace the key of the user: the
// conversation would be in the account of its author.
var keyHeaders = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key", "anthropic-version"}

const keyHeaderFamily = "x-amz-"

// sendsKey reports whether a provider always gets a key of the user.
func sendsKey(provider string) bool {
	facts := model.ProviderNamed(provider)
	return len(facts.KeyEnv) > 0 && !facts.KeyOptional
}

func isKeyHeader(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(keyHeaders, lower) || strings.HasPrefix(lower, keyHeaderFamily)
}

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
	if !expert.ValidHeaderValue(s) {
		return "has a control character in its value", "remove it"
	}
	return "", ""
}

// references accepts a value whose variables are all declared. What begins like a
// variable and is none is refused too: a default or a command in it would not be
// expanded, and the server would get the text.
func references(declared []string) toml.Rule {
	return func(s string) (string, string) {
		names, wellFormed := expert.Header{Value: s}.Variables()
		for _, name := range names {
			if !slices.Contains(declared, name) {
				return "uses " + wording.Quote(name) + ", which is not in requiredEnv", "add it there"
			}
		}
		if !wellFormed {
			return "has ${ without a variable name and }", "write ${NAME}; nothing else is expanded"
		}
		return "", ""
	}
}

func skillHeadersSchema() *jsonSchema {
	names := &jsonSchema{Pattern: headerName, MaxLength: maxHeaderName, Not: &jsonSchema{Pattern: ownHeader()}}
	value := described(matching(headerValue, maxHeaderValue, "").schema, "Value of the header; ${NAME} is the value of a variable in requiredEnv.")
	return &jsonSchema{
		Type:                 "object",
		PropertyNames:        names,
		AdditionalProperties: value,
		MaxProperties:        maxHeaders,
	}
}

// ownHeader matches, in any letter case, the names of headers that perstack sets itself.
func ownHeader() string { return matchHeaders(ownHeaders, ownHeaderFamilies...) }

// keyHeader matches, in any letter case, the names of headers that go with a key.
func keyHeader() string { return matchHeaders(keyHeaders, keyHeaderFamily) }

func matchHeaders(names []string, families ...string) string {
	var b strings.Builder
	for _, c := range "^(?:(?:" + strings.Join(names, "|") + ")$|" + strings.Join(families, "|") + ")" {
		if c >= 'a' && c <= 'z' {
			b.WriteString("[" + string(c) + strings.ToUpper(string(c)) + "]")
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
