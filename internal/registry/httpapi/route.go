package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// An effect is what a request does to the registry. Limits and the read-only mode depend on it.
type effect int

const (
	free      effect = iota // for the operator: neither limited nor refused
	reads                   //
	changes                 //
	publishes               //
	reports                 // a change that needs no key
	exchanges               // a token for a key
)

// A route is one row of the table.
type route struct {
	method  string
	pattern string // segments; {key} and {name} can be two of them, {rest...} takes all that follow
	effect  effect
	do      func(*call) error
	heavy   bool // its answers can be large, so a few are made at once
	urgent  bool // a change that never waits for others of its organization

	segments []string
}

// match returns the parameters of a path. A key of the form @scope/name can come as one segment or, if a
// proxy has unescaped it, as two.
func (r *route) match(path []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, want := range r.segments {
		name, isParam := strings.CutPrefix(want, "{")
		name = strings.TrimSuffix(name, "}")
		if rest, ok := strings.CutSuffix(name, "..."); isParam && ok {
			params[rest] = strings.Join(path, "/")
			return params, len(path) > 0
		}
		if len(path) == 0 {
			return nil, false
		}
		got := path[0]
		path = path[1:]
		switch {
		case !isParam && got != want:
			return nil, false
		case isParam && got == "":
			return nil, false
		case isParam:
			if (name == "key" || name == "name") && strings.HasPrefix(got, "@") && !strings.Contains(got, "/") && len(path) > 0 {
				got, path = got+"/"+path[0], path[1:]
			}
			params[name] = got
		}
		if i == len(r.segments)-1 {
			return params, len(path) == 0
		}
	}
	return params, len(path) == 0
}

// split cuts an escaped path into segments, each unescaped. A slash at the end counts for nothing.
func split(escaped string) ([]string, bool) {
	all := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	if len(all) > 1 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	for i, segment := range all {
		text, err := url.PathUnescape(segment)
		if err != nil {
			return nil, false
		}
		all[i] = text
	}
	return all, true
}

// find returns the route of a request with its parameters. If others have the path and none the method, it
// returns their methods.
func (h *Handler) find(r *http.Request) (found *route, params map[string]string, allowed []string) {
	path, ok := split(r.URL.EscapedPath())
	if !ok {
		return nil, nil, nil
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, route := range h.routes {
		p, ok := route.match(path)
		switch {
		case !ok:
		case route.method == method:
			return route, p, nil
		case !slices.Contains(allowed, route.method):
			allowed = append(allowed, route.method)
		}
	}
	return nil, nil, allowed
}
