package web

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/server"
)

// A feed is what changed last, in the form of RFC 4287.
type feed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Link    feedLink    `xml:"link"`
	Entries []feedEntry `xml:"entry"`
}

type feedLink struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type feedEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  string   `xml:"author>name"`
	Link    feedLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// feedOwner returns the organization that the feed at a path is of; "" is that of all of them.
func feedOwner(path string) (owner string, ok bool) {
	if path == "/feed.atom" {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, "/o/")
	owner, isFeed := strings.CutSuffix(rest, "/feed.atom")
	return owner, ok && isFeed && owner != ""
}

// newFeed lists the Experts that changed last.
func (p *pages) newFeed(ctx context.Context, path, owner string) (*feed, error) {
	title := "Experts"
	if owner != "" {
		found, err := p.opts.Registry.Organization(ctx, owner)
		if err != nil {
			return nil, err
		}
		title = "Experts of " + found.Name
	}
	result, err := p.opts.Registry.Search(ctx, anyone, server.Search{Owner: owner, Take: pageSize, Newest: true})
	if err != nil {
		return nil, err
	}
	site := cmp.Or(strings.TrimSuffix(p.opts.URL, "/"), "urn:perstack-registry")
	f := &feed{ID: site + path, Title: title, Link: feedLink{"self", strings.TrimSuffix(p.opts.URL, "/") + path}}
	last := time.Unix(0, 0)
	for _, e := range result.Experts {
		key := e.Name + "@" + e.Latest
		at := (&url.URL{Path: "/e/" + key}).EscapedPath()
		f.Entries = append(f.Entries, feedEntry{
			ID: site + at, Title: key, Updated: e.UpdatedAt.UTC().Format(time.RFC3339), Author: e.Owner,
			Link: feedLink{Href: strings.TrimSuffix(p.opts.URL, "/") + at}, Summary: e.Description,
		})
		if e.UpdatedAt.After(last) {
			last = e.UpdatedAt
		}
	}
	f.Updated = last.UTC().Format(time.RFC3339)
	return f, nil
}

// writeFeed answers with a feed.
func (p *pages) writeFeed(w http.ResponseWriter, r *http.Request, owner string) {
	found, err := p.newFeed(r.Context(), (&url.URL{Path: r.URL.Path}).EscapedPath(), owner)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	data, err := xml.Marshal(found)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	data = append([]byte(xml.Header), data...)
	header := w.Header()
	header.Set("Cache-Control", "public, max-age=60")
	header.Set("Content-Type", "application/atom+xml; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(data) // the reader has left
}
