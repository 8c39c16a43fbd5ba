// Package web shows a registry as pages: a search, Experts with their versions, abilities and delegates, the
// difference between two versions, organizations, and the log. It only reads, and shows what is public.
//
// Everything that was published is hostile. Templates escape it, pages have no script, and a policy forbids
// the browser to run or to load anything from elsewhere. Start reading at [New], then pages.go.
package web

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/server"
)

// Options are what the pages need.
type Options struct {
	Registry *server.Registry
	Logger   *slog.Logger
	// URL is the address of the registry, which commands on the pages name; empty to leave it out.
	URL string
}

//go:embed templates static
var files embed.FS

// policy is what a browser may do on a page: show it, with our style sheet, and search.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type pages struct {
	opts      Options
	templates map[string]*template.Template
}

// New returns the pages of a registry.
func New(opts Options) (http.Handler, error) {
	p := &pages{opts: opts, templates: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"home", "expert", "compare", "organization", "log", "error"} {
		one, err := layout.Clone()
		if err == nil {
			one, err = one.ParseFS(files, "templates/"+name+".html")
		}
		if err != nil {
			return nil, err
		}
		p.templates[name] = one
	}
	return p, nil
}

// A page is what a template shows.
type page struct {
	Title string
	Query string // of the search, which every page has
	URL   string
	Data  any
}

// A found is a page that was found, and the template for it.
type found struct {
	template string
	page
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		p.fail(w, r, &server.Error{Status: http.StatusMethodNotAllowed, Reason: "This page can only be read"})
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/static/"); ok {
		p.static(w, r, name)
		return
	}
	if owner, ok := feedOwner(r.URL.Path); ok {
		p.writeFeed(w, r, owner)
		return
	}
	found, err := p.find(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	header.Set("Cache-Control", "public, max-age=60")
	p.write(w, http.StatusOK, found)
}

// find returns the page at an address. Names of Experts contain slashes, so addresses are cut here.
func (p *pages) find(r *http.Request) (found, error) {
	ctx, path := r.Context(), r.URL.Path
	switch {
	case path == "/":
		return p.home(ctx, r.URL.Query().Get("q"), r.URL.Query().Get("after"))
	case path == "/log":
		before, err := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
		if err != nil || before < 0 {
			before = -1
		}
		return p.log(ctx, before)
	}
	if name, ok := strings.CutPrefix(path, "/o/"); ok {
		return p.organization(ctx, name, r.URL.Query().Get("after"))
	}
	if rest, ok := strings.CutPrefix(path, "/e/"); ok {
		if name, versions, ok := strings.Cut(rest, "/compare/"); ok {
			before, after, _ := strings.Cut(versions, "...")
			return p.compare(ctx, name, before, after)
		}
		return p.expert(ctx, rest)
	}
	return found{}, &server.Error{Status: http.StatusNotFound, Reason: "There is no such page"}
}

// write sends a page. It is made whole first: half a page cannot become an error.
func (p *pages) write(w http.ResponseWriter, status int, f found) {
	f.URL = p.opts.URL
	var out bytes.Buffer
	if err := p.templates[f.template].Execute(&out, f.page); err != nil {
		p.opts.Logger.Error("a page could not be made", "page", f.template, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the reader has left
}

// fail shows why there is no page. Faults of the registry are logged, not shown.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, reason := http.StatusInternalServerError, "The registry has a fault"
	if known, ok := errors.AsType[*server.Error](err); ok {
		status, reason = known.Status, known.Reason
		if status == http.StatusUnprocessableEntity {
			status = http.StatusNotFound // an address that cannot be one
		}
	} else if r.Context().Err() == nil {
		p.opts.Logger.Error("a page failed", "path", r.URL.Path, "error", err)
	}
	p.write(w, status, found{"error", page{Title: http.StatusText(status), Data: reason}})
}

// static serves our own files.
func (p *pages) static(w http.ResponseWriter, r *http.Request, name string) {
	types := map[string]string{"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
	file, err := files.Open("static/" + name)
	if err != nil || types[name] == "" {
		p.fail(w, r, &server.Error{Status: http.StatusNotFound, Reason: "There is no such page"})
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", types[name])
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = io.Copy(w, file) // the reader has left
}

var functions = template.FuncMap{
	"day":    func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"moment": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"short":  func(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] },
	"expert": func(key string) string { return (&url.URL{Path: "/e/" + key}).EscapedPath() },
	"owner":  func(name string) string { return (&url.URL{Path: "/o/" + name}).EscapedPath() },
	"add":    func(a, b int64) int64 { return a + b },
}
