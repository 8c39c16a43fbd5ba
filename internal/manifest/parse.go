package manifest

import (
	"bytes"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/toml"
)

// maxFile bounds perstack.toml: 1 MiB.
const maxFile = 1 << 20

// Parse reads the text of a perstack.toml. The path says where the text comes
// from: it names the file in problems, and relative paths in the file are
// relative to its directory.
//
// All problems are reported together. The Config is nil if one of them is an
// error, that is if Problems.Err is not nil.
func Parse(path string, data []byte) (*Config, toml.Problems) {
	if len(data) > maxFile {
		return nil, toml.Problems{{File: path, Line: 1, Column: 1, Message: "the file is larger than 1 MiB", Hint: "keep long texts out of it"}}
	}
	source := data
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows put it there
	base, root := toml.ReadTree(path, data)
	if root == nil {
		return nil, base.Problems
	}
	r := &reader{Reader: base}
	cfg := r.config(root)
	r.Problems.Sort()
	if r.Problems.Err() != nil {
		return nil, r.Problems
	}
	cfg.file, cfg.Path, cfg.source = path, path, source
	if abs, err := filepath.Abs(path); err == nil {
		cfg.Path = abs
	}
	cfg.Dir = filepath.Dir(cfg.Path)
	if s := &cfg.Provider.Setting; s.Cassette != "" && !filepath.IsAbs(s.Cassette) {
		s.Cassette = filepath.Join(cfg.Dir, s.Cassette)
	}
	cfg.positions = r.Positions
	return cfg, r.Problems
}

// reader turns the tree into a Config.
type reader struct {
	*toml.Reader
	delegates []delegateRef
}
