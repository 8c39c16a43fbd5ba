package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
)

// An Image describes an image of one layer.
type Image struct {
	Arch   string // as Go names it
	Config Config
}

// Config is the default configuration of containers.
type Config struct {
	User       string              `json:"User,omitzero"`
	Env        []string            `json:"Env,omitzero"`
	Entrypoint []string            `json:"Entrypoint,omitzero"`
	WorkingDir string              `json:"WorkingDir,omitzero"`
	Labels     map[string]string   `json:"Labels,omitzero"`
	Volumes    map[string]struct{} `json:"Volumes,omitzero"`
}

// epoch is the creation time of all images, so that equal images have equal bytes.
const epoch = "1970-01-01T00:00:00Z"

type description struct {
	Architecture string  `json:"architecture"`
	OS           string  `json:"os"`
	Created      string  `json:"created"`
	Config       Config  `json:"config"`
	RootFS       rootFS  `json:"rootfs"`
	History      []event `json:"history"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type event struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// Describe returns the description of the image that has this layer. Its digest is the id
// of the image on daemons that identify images by their description.
func (i *Image) Describe(layer *Layer) ([]byte, error) {
	return json.Marshal(description{
		Architecture: i.Arch,
		OS:           "linux",
		Created:      epoch,
		Config:       i.Config,
		RootFS:       rootFS{Type: "layers", DiffIDs: []string{layer.DiffID}},
		History:      []event{{Created: epoch, CreatedBy: "perstack"}},
	}, json.Deterministic(true))
}

type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the image as an archive for docker load, under the name tag.
func (i *Image) Write(w io.Writer, tag string, layer *Layer) error {
	config, err := i.Describe(layer)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(config)
	configName := hex.EncodeToString(sum[:]) + ".json"
	layerDir := strings.TrimPrefix(layer.DiffID, "sha256:")
	list, err := json.Marshal([]manifest{{
		Config:   configName,
		RepoTags: []string{tag},
		Layers:   []string{layerDir + "/layer.tar"},
	}})
	if err != nil {
		return err
	}

	t := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{{"manifest.json", list}, {configName, config}} {
		header := entry(f.name, 0o644)
		header.Size = int64(len(f.data))
		if err := writeEntry(t, header, bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	dir := entry(layerDir+"/", 0o755)
	dir.Typeflag = tar.TypeDir
	if err := t.WriteHeader(dir); err != nil {
		return err
	}
	header := entry(layerDir+"/layer.tar", 0o644)
	header.Size = layer.Size
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	if err := WriteTar(t, layer.Files); err != nil {
		return err
	}
	return t.Close()
}
