package web

import (
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A graph shows what an Expert delegates to. Each column has what is one delegation further away.
type graph struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
}

type node struct {
	Key, Name, Version string // Name is cut
	X, Y, TextX        int
	NameY, VersionY    int
}

type edge struct{ X1, Y1, X2, Y2 int }

// The measures of the drawing, in pixels.
const (
	nodeWidth, nodeHeight = 200, 48
	gapX, gapY            = 48, 16
	maxName               = 24 // columns of a name
)

// drawGraph returns the graph below an Expert; nil if it delegates to none.
func drawGraph(root string, delegates map[string][]tlog.Delegate) *graph {
	if len(delegates[root]) == 0 {
		return nil
	}
	g := &graph{}
	places := map[string]node{}
	level := []string{root}
	for column := 0; len(level) > 0; column++ {
		var next []string
		for row, key := range level {
			name, version, _ := cutVersion(key)
			n := node{Key: key, Name: columns.Shorten(name, maxName), Version: version, X: column * (nodeWidth + gapX), Y: row * (nodeHeight + gapY)}
			n.TextX, n.NameY, n.VersionY = n.X+10, n.Y+20, n.Y+38
			places[key] = n
			g.Nodes = append(g.Nodes, n)
			g.Width, g.Height = max(g.Width, n.X+nodeWidth), max(g.Height, n.Y+nodeHeight)
		}
		for _, key := range level {
			for _, d := range delegates[key] {
				if _, placed := places[d.Exact]; !placed {
					places[d.Exact] = node{}
					next = append(next, d.Exact)
				}
			}
		}
		level = next
	}
	for _, n := range g.Nodes {
		for _, d := range delegates[n.Key] {
			to := places[d.Exact]
			g.Edges = append(g.Edges, edge{n.X + nodeWidth, n.Y + nodeHeight/2, to.X, to.Y + nodeHeight/2})
		}
	}
	return g
}

// cutVersion cuts an exact key.
func cutVersion(key string) (name, version string, ok bool) {
	at := strings.LastIndexByte(key, '@')
	if at <= 0 {
		return key, "", false
	}
	return key[:at], key[at+1:], true
}

// sizeOf reads the size in the text of a checkpoint, for display; 0 if it has none.
func sizeOf(checkpoint string) (size int64) {
	lines := strings.SplitN(checkpoint, "\n", 3)
	if len(lines) < 3 {
		return 0
	}
	for _, c := range lines[1] {
		size = size*10 + int64(c-'0')
	}
	return size
}
