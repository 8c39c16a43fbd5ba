package protect

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/workspace"
)

// The form of a record in its file. Paths are text, see encode.
type (
	savedRecord struct {
		Version   int         `json:"version"`
		Job       string      `json:"job"`
		Workspace string      `json:"workspace"`
		Root      identity    `json:"root,omitzero"`
		Owner     string      `json:"owner"`
		Started   int64       `json:"started"`
		Closed    int64       `json:"closed,omitzero"`
		Trusted   []string    `json:"trusted,omitempty"`
		Files     []savedFile `json:"files,omitempty"`
		Git       []savedFile `json:"git,omitempty"`
		Dirs      []savedDir  `json:"unsearched,omitempty"`
		Accepted  []savedFile `json:"accepted,omitempty"`
		Marks     []Mark      `json:"marks,omitempty"`
	}
	savedDir struct {
		Path   string `json:"path"`
		Device uint64 `json:"device"`
		Inode  uint64 `json:"inode"`
	}
	savedFile struct {
		Path string `json:"path"`
		File File   `json:"file"`
	}
)

// encode writes the form that decode reads. It does so token by token: preparing the library for
// these types would take more time than the rest of the record.
func (r *record) encode() ([]byte, error) {
	var out bytes.Buffer
	w := writer{to: jsontext.NewEncoder(&out, jsontext.WithIndent(" "))}
	w.put(jsontext.BeginObject)
	w.number("version", version)
	w.text("job", strings.ToValidUTF8(r.Job, "\uFFFD"))
	w.text("workspace", encode(r.Workspace))
	if r.Root != (identity{}) {
		w.put(jsontext.String("root"), jsontext.BeginObject)
		w.identity(r.Root.Device, r.Root.Inode)
		w.put(jsontext.EndObject)
	}
	w.text("owner", r.Owner)
	w.number("started", r.Started)
	if r.Closed != 0 {
		w.number("closed", r.Closed)
	}
	w.paths("trusted", r.Trusted)
	w.files("files", r.Before.Files)
	w.files("git", r.Before.Git)
	if len(r.Before.Closed) > 0 {
		w.put(jsontext.String("unsearched"), jsontext.BeginArray)
		for _, dir := range r.Before.Closed {
			w.put(jsontext.BeginObject)
			w.text("path", encode(dir.Path))
			w.identity(dir.Device, dir.Inode)
			w.put(jsontext.EndObject)
		}
		w.put(jsontext.EndArray)
	}
	w.files("accepted", r.Accepted)
	if len(r.Marks) > 0 {
		w.put(jsontext.String("marks"), jsontext.BeginArray)
		for _, m := range r.Marks {
			w.put(jsontext.BeginObject)
			w.text("path", encode(m.Path))
			w.text("change", string(m.Change))
			w.file("before", m.Before)
			w.file("now", m.Now)
			w.node("file", m.File)
			w.node("dir", m.Dir)
			if m.Undone != 0 {
				w.number("undone", m.Undone)
			}
			w.put(jsontext.EndObject)
		}
		w.put(jsontext.EndArray)
	}
	w.put(jsontext.EndObject)
	return append(out.Bytes(), '\n'), w.err
}

// A writer writes members of objects, until something fails.
type writer struct {
	to  *jsontext.Encoder
	err error
}

func (w *writer) put(tokens ...jsontext.Token) {
	for _, t := range tokens {
		if w.err == nil {
			w.err = w.to.WriteToken(t)
		}
	}
}

func (w *writer) text(name, value string) { w.put(jsontext.String(name), jsontext.String(value)) }

func (w *writer) number(name string, value int64) { w.put(jsontext.String(name), jsontext.Int(value)) }

func (w *writer) identity(device, inode uint64) {
	w.put(jsontext.String("device"), jsontext.Uint(device), jsontext.String("inode"), jsontext.Uint(inode))
}

func (w *writer) node(name string, n node) {
	if n == (node{}) {
		return
	}
	w.put(jsontext.String(name), jsontext.BeginObject, jsontext.String("id"), jsontext.BeginObject)
	w.identity(n.ID.Device, n.ID.Inode)
	w.put(jsontext.EndObject)
	w.number("born", n.Born)
	w.put(jsontext.EndObject)
}

func (w *writer) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	w.put(jsontext.String(name), jsontext.BeginArray)
	for _, v := range values {
		w.put(jsontext.String(v))
	}
	w.put(jsontext.EndArray)
}

func (w *writer) paths(name string, paths []string) {
	texts := make([]string, len(paths))
	for i, p := range paths {
		texts[i] = encode(p)
	}
	w.list(name, texts)
}

func (w *writer) files(name string, files map[string]File) {
	if len(files) == 0 {
		return
	}
	w.put(jsontext.String(name), jsontext.BeginArray)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		w.put(jsontext.BeginObject)
		w.text("path", encode(path))
		w.file("file", files[path])
		w.put(jsontext.EndObject)
	}
	w.put(jsontext.EndArray)
}

func (w *writer) file(name string, f File) {
	w.put(jsontext.String(name), jsontext.BeginObject)
	w.text("kind", string(f.Kind))
	w.list("links", f.Links)
	if f.Real != "" {
		w.text("real", f.Real)
	}
	if f.Sum != "" {
		w.text("sum", f.Sum)
	}
	if s := f.Stat; s != (stat{}) {
		w.put(jsontext.String("stat"), jsontext.BeginObject)
		w.number("size", s.Size)
		w.number("modTime", s.ModTime)
		w.number("changeTime", s.ChangeTime)
		w.identity(s.Device, s.Inode)
		w.put(jsontext.EndObject)
	}
	w.put(jsontext.EndObject)
}

func decode(data []byte) (*record, error) {
	var s savedRecord
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Version != version {
		return nil, fmt.Errorf("it is of version %d, and this perstack knows %d", s.Version, version)
	}
	r := &record{Job: s.Job, Root: s.Root, Owner: s.Owner, Started: s.Started, Closed: s.Closed}
	paths := func(to *[]string, from ...string) (err error) {
		for _, text := range from {
			path, wrong := decodePath(text)
			*to, err = append(*to, path), errors.Join(err, wrong)
		}
		return err
	}
	var ws, marked []string
	for _, m := range s.Marks {
		marked = append(marked, m.Path)
	}
	var marks []string
	err := errors.Join(paths(&ws, s.Workspace), paths(&r.Trusted, s.Trusted...), paths(&marks, marked...))
	for _, dir := range s.Dirs {
		path, wrong := decodePath(dir.Path)
		r.Before.Closed, err = append(r.Before.Closed, workspace.Closed{Path: path, Device: dir.Device, Inode: dir.Inode}), errors.Join(err, wrong)
	}
	for to, from := range map[*map[string]File][]savedFile{&r.Before.Files: s.Files, &r.Before.Git: s.Git, &r.Accepted: s.Accepted} {
		*to = make(map[string]File, len(from))
		for _, f := range from {
			path, wrong := decodePath(f.Path)
			(*to)[path], err = f.File, errors.Join(err, wrong)
		}
	}
	if err != nil {
		return nil, err
	}
	r.Workspace, r.Marks = ws[0], s.Marks
	for i := range r.Marks {
		m := &r.Marks[i]
		m.Path = marks[i]
		if s := m.Now.Stat; m.File == (node{}) && m.Dir == (node{}) && m.Now.Kind == Regular && s.Inode != 0 {
			m.File = node{identity{s.Device, s.Inode}, r.Closed} // an older perstack wrote no nodes
		}
	}
	return r, nil
}

// hexPrefix begins a path that is not UTF-8. No absolute path begins like this.
const hexPrefix = "hex:"

func encode(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return hexPrefix + hex.EncodeToString([]byte(path))
}

func decodePath(text string) (string, error) {
	path := text
	if digits, ok := strings.CutPrefix(text, hexPrefix); ok {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			return "", err
		}
		path = string(raw)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is not an absolute path", text)
	}
	return path, nil
}
