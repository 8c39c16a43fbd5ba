package oci

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/wording"
)

// The types of an Expert and of a signature, of their manifests and of their only layers.
const (
	ExpertType    = "application/vnd.perstack.expert.v1+json"
	SignatureType = "application/vnd.perstack.expert.signature.v1+sshsig"

	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
	emptyType    = "application/vnd.oci.empty.v1+json"
)

// The names of what a manifest says about its content, as other programs know them.
const (
	titleAnnotation    = "org.opencontainers.image.title"
	versionAnnotation  = "org.opencontainers.image.version"
	createdAnnotation  = "org.opencontainers.image.created"
	sourceAnnotation   = "org.opencontainers.image.source"
	licensesAnnotation = "org.opencontainers.image.licenses"
)

const (
	maxManifest  = 256 << 10 // ours have some hundred bytes
	maxSignature = 16 << 10
	maxPages     = 4 // of a list of signatures
	// maxSignatures is how many signatures of an Expert are looked at. Everyone who can write to a repository
	// can add some.
	maxSignatures = 16
)

// emptyConfig is the text of the config of a manifest that needs none.
var emptyConfig = []byte("{}")

// A descriptor names a text in a registry.
type descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	URLs         []string          `json:"urls,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// A manifest names the parts of what is stored under one digest. The order of the members counts: the digest
// is one of the text.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// describe is the descriptor of a text.
func describe(mediaType string, text []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: definition.Digest(text), Size: int64(len(text))}
}

// newManifest writes the manifest of one layer. The same arguments make the same text.
func newManifest(artifactType string, layer descriptor, subject *descriptor, annotations map[string]string) ([]byte, error) {
	return json.Marshal(manifest{
		SchemaVersion: 2, MediaType: manifestType, ArtifactType: artifactType, Config: describe(emptyType, emptyConfig),
		Layers: []descriptor{layer}, Subject: subject, Annotations: annotations,
	}, json.Deterministic(true))
}

// annotations say to programs that show container registries what the Expert is. They are not believed when
// it is read.
func annotations(d *definition.Definition, created time.Time) map[string]string {
	all := map[string]string{
		titleAnnotation: d.Name, versionAnnotation: d.Version,
		createdAnnotation: created.UTC().Format(time.RFC3339),
	}
	if d.Extensions.Repository != "" {
		all[sourceAnnotation] = d.Extensions.Repository
	}
	if d.Extensions.License != "" {
		all[licensesAnnotation] = d.Extensions.License
	}
	return all
}

// readManifest reads a manifest of ours, and returns its layer. Members that it does not know are left out:
// other programs add some, and nothing but the layer counts.
func readManifest(text []byte, artifactType string, most int64) (layer descriptor, subject *descriptor, err error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return layer, nil, fmt.Errorf("the manifest cannot be read: %s", shown(err.Error()))
	}
	switch {
	case m.SchemaVersion != 2 || m.MediaType != manifestType:
		return layer, nil, fmt.Errorf("the manifest has the type %s, not %s", wording.Quote(m.MediaType), manifestType)
	case m.ArtifactType != artifactType:
		return layer, nil, fmt.Errorf("it is an artifact of the type %s, not %s", wording.Quote(m.ArtifactType), artifactType)
	case len(m.Layers) != 1:
		return layer, nil, fmt.Errorf("the manifest has %s, not one", wording.Count(len(m.Layers), "layer"))
	}
	layer = m.Layers[0]
	switch {
	case layer.MediaType != artifactType:
		return layer, nil, fmt.Errorf("the layer has the type %s, not %s", wording.Quote(layer.MediaType), artifactType)
	case !definition.IsDigest(layer.Digest):
		return layer, nil, fmt.Errorf("the layer has the digest %s, which is not one of SHA-256", wording.Quote(layer.Digest))
	case layer.Size <= 0 || layer.Size > most:
		return layer, nil, fmt.Errorf("the layer has %d bytes; 1 to %d are possible", layer.Size, most)
	case len(layer.URLs) > 0:
		return layer, nil, errors.New("the layer names other addresses")
	}
	return layer, m.Subject, nil
}
