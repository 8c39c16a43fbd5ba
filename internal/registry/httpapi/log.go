package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// logRoutes lists the routes of the log.
func (h *Handler) logRoutes() []*route {
	return []*route{
		{method: http.MethodGet, pattern: api.LogPath + "/checkpoint", effect: reads, do: h.checkpoint},
		{method: http.MethodGet, pattern: api.LogPath + "/lookup/{key}", effect: reads, do: h.lookup},
		{method: http.MethodGet, pattern: api.LogPath + "/proof", effect: reads, do: h.proof},
		{method: http.MethodGet, pattern: api.LogPath + "/consistency", effect: reads, do: h.consistency},
		{method: http.MethodGet, pattern: api.LogPath + "/keys", effect: reads, do: h.logKeys},
		{method: http.MethodGet, pattern: api.LogPath + "/tile/{tile...}", effect: reads, do: h.tile},
	}
}

// tagOf is the entity tag of bytes.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	const enough = 16
	return hex.EncodeToString(sum[:enough])
}

func (h *Handler) checkpoint(c *call) error {
	count, err := c.number("cosignatures", 0, 0, math.MaxInt16)
	if err != nil {
		return err
	}
	from, err := c.number("from", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	note, err := h.opts.Registry.CosignedCheckpoint(c.ctx(), server.Cosigned{Witnesses: c.r.URL.Query()["witness"], Count: int(count), From: from})
	if err != nil {
		return err
	}
	return c.static("text/plain; charset=utf-8", tagOf(note), fresh, note)
}

func (h *Handler) lookup(c *call) error {
	found, err := h.opts.Registry.Lookup(c.ctx(), c.by, c.params["key"])
	if err != nil {
		return err
	}
	return c.json(found)
}

// A leafProof proves that a leaf is in a log of a size.
type leafProof struct {
	Index int64       `json:"index"`
	Size  int64       `json:"size"`
	Proof []tlog.Hash `json:"proof"`
}

// sized checks that the query names a size of the log, which an answer that caches keep depends on.
func (c *call) sized(first, second string) (a, b int64, err error) {
	for _, name := range []string{first, second} {
		if c.query(name) == "" {
			return 0, 0, invalid(name, name+" is missing")
		}
	}
	if a, err = c.number(first, 0, 0, math.MaxInt64); err != nil {
		return 0, 0, err
	}
	b, err = c.number(second, 0, 1, math.MaxInt64)
	return a, b, err
}

func (h *Handler) proof(c *call) error {
	index, size, err := c.sized("index", "size")
	if err != nil {
		return err
	}
	proof, err := h.opts.Registry.ProveLeaf(c.ctx(), index, size)
	if err != nil {
		return err
	}
	return c.json(leafProof{index, size, notNil(proof)})
}

// A growthProof proves that a log grew from one size to another.
type growthProof struct {
	From  int64       `json:"from"`
	To    int64       `json:"to"`
	Proof []tlog.Hash `json:"proof"`
}

func (h *Handler) consistency(c *call) error {
	from, to, err := c.sized("from", "to")
	if err != nil {
		return err
	}
	proof, err := h.opts.Registry.ProveGrowth(c.ctx(), from, to)
	if err != nil {
		return err
	}
	return c.json(growthProof{from, to, notNil(proof)})
}

// logKeys says how the log got its key.
func (h *Handler) logKeys(c *call) error {
	all, err := h.opts.Registry.Rotations(c.ctx())
	if err != nil {
		return err
	}
	return c.json(api.LogKeys{Rotations: notNil(all)})
}

// tile answers with a tile, which never changes.
func (h *Handler) tile(c *call) error {
	tile, err := tlog.ParseTile("tile/" + c.params["tile"])
	if err != nil {
		return &server.Error{Status: http.StatusNotFound, Reason: "This is not the path of a tile"}
	}
	data, err := h.opts.Registry.Tile(c.ctx(), tile)
	if err != nil {
		return err
	}
	return c.static("application/octet-stream", tagOf(data), immutable, data)
}

// ready says whether requests can be answered.
func (h *Handler) ready(c *call) error {
	if _, err := h.opts.Registry.Checkpoint(c.ctx()); err != nil {
		h.opts.Logger.ErrorContext(c.ctx(), "the database cannot be used", "request", c.id, "error", err.Error())
		return notReady()
	}
	return h.health(c)
}
