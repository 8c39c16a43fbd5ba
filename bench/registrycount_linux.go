package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// counts are what does not depend on the machine: commits of a publication, and requests of a user who resolves
// ten Experts on three levels, for the first time and again. It is called before anything else is published.
func (s *served) counts(ctx context.Context, dir, data string) ([]figure, error) {
	lead := definitionOf("@acme/lead", "1.0.0")
	var team []*definition.Definition
	for _, middle := range []string{"@acme/middle-a", "@acme/middle-b", "@acme/middle-c"} {
		m := definitionOf(middle, "1.0.0")
		for _, leaf := range []string{middle + "-1", middle + "-2"} {
			team = append(team, definitionOf(leaf, "1.0.0"))
			m.Delegates = append(m.Delegates, leaf)
		}
		team = append(team, m)
		lead.Delegates = append(lead.Delegates, middle)
	}
	team = append(team, lead)
	before, err := commits(data)
	if err != nil {
		return nil, err
	}
	for _, d := range team {
		if _, err := s.send(ctx, "/experts", api.Publish{Content: d.Encode()}); err != nil {
			return nil, err
		}
	}
	after, err := commits(data)
	if err != nil {
		return nil, err
	}

	asked := &countingTransport{}
	c, err := client.New(client.Options{
		BaseURL: s.url, Insecure: true, HTTP: &http.Client{Transport: asked}, Trust: trust.Open(filepath.Join(dir, "..", "counted")), Clock: time.Now,
	})
	if err != nil {
		return nil, err
	}
	found, err := c.Resolve(ctx, "@acme/lead")
	if err == nil && len(found.Experts) != len(team) {
		err = fmt.Errorf("the closure has %d Experts instead of %d", len(found.Experts), len(team))
	}
	if err != nil {
		return nil, err
	}
	cold := asked.n.Swap(0)
	e := found.Experts["@acme/lead@1.0.0"]
	if found, err = c.Offline(ctx, client.Pin{Key: e.Key, Digest: e.Digest}); err == nil && len(found.Experts) != len(team) {
		err = errors.New("the pinned closure is not whole")
	}
	const levels, none = 3, 0.1
	return []figure{
		{"registry: commits of one publication", float64(after-before) / float64(len(team)), 2, "%.1f"},
		{"registry: requests to resolve 10 Experts on 3 levels for the first time", float64(cold), 2 * levels, "%.0f"},
		{"registry: requests to resolve them from their pins", float64(asked.n.Load()), none, "%.0f"},
	}, err
}

// countingTransport counts requests.
type countingTransport struct{ n atomic.Int64 }

func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// commits counts the transactions in the write-ahead log of SQLite. It grows until it has a thousand pages, so
// this is for the first of them.
func commits(data string) (n int, err error) {
	log, err := os.ReadFile(filepath.Join(data, "registry.db-wal"))
	const header, frameHeader = 32, 24
	if err != nil || len(log) < header {
		return 0, errors.Join(err, errors.New("the registry has no write-ahead log"))
	}
	page, salts := int(binary.BigEndian.Uint32(log[8:])), string(log[16:24])
	for at := header; at+frameHeader+page <= len(log); at += frameHeader + page {
		if string(log[at+8:at+16]) != salts {
			break // of an earlier round
		}
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			n++
		}
	}
	return n, nil
}
