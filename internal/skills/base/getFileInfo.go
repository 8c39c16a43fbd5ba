package base

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/workspace"
)

type getFileInfoArgs struct {
	Path string `json:"path" jsonschema:"file or directory inside the workspace"`
}

var _ = tools.add(define("getFileInfo", (*Skill).getFileInfo, readOnly))

// A fileInfo has null for what only files have, and leaves out times that the file
// system does not keep.
type fileInfo struct {
	Exists        bool            `json:"exists"`
	Path          string          `json:"path"`
	AbsolutePath  string          `json:"absolutePath"`
	Name          string          `json:"name"`
	Directory     string          `json:"directory"`
	Extension     *string         `json:"extension"`
	Type          string          `json:"type"`
	MIMEType      *string         `json:"mimeType"`
	Size          int64           `json:"size"`
	SizeFormatted string          `json:"sizeFormatted"`
	Created       string          `json:"created,omitzero"`
	Modified      string          `json:"modified,omitzero"`
	Accessed      string          `json:"accessed,omitzero"`
	Permissions   filePermissions `json:"permissions"`
	Link          bool            `json:"link,omitzero"`
}

type filePermissions struct {
	Readable   bool `json:"readable"`
	Writable   bool `json:"writable"`
	Executable bool `json:"executable"`
}

func (s *Skill) getFileInfo(ctx context.Context, args getFileInfoArgs) answer {
	info, err := s.opts.Workspace.Stat(ctx, args.Path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: describeFile(info)}
}

func describeFile(info workspace.Info) fileInfo {
	path, name := clean(info.Path), clean(filepath.Base(info.Path))
	out := fileInfo{
		Exists:        true,
		Path:          path,
		AbsolutePath:  path,
		Name:          name,
		Directory:     clean(filepath.Dir(info.Path)),
		Type:          "directory",
		Size:          info.Size,
		SizeFormatted: formatSize(info.Size),
		Created:       formatTime(info.Created),
		Modified:      formatTime(info.Modified),
		Accessed:      formatTime(info.Accessed),
		Permissions: filePermissions{
			Readable: info.Readable,
			// The bits of the owner, as the other tools use them.
			Writable:   info.Mode.Perm()&0o200 != 0,
			Executable: info.Mode.Perm()&0o100 != 0,
		},
		Link: info.Link,
	}
	if !info.Dir {
		ext := extension(name)
		kind := typeOf(ext)
		out.Type, out.Extension, out.MIMEType = "file", &ext, &kind
		if !info.Mode.IsRegular() {
			out.Type = "other" // a pipe, a socket, a device: no tool opens it
		}
	}
	return out
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// extension returns the part of a name from its last dot on. A name that only begins
// with a dot, like .bashrc, has none.
func extension(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[dot:]
	}
	return ""
}

// typeOf returns the type of files with an extension. The table is our own: those of operating
// systems differ from machine to machine, and take TypeScript for a video format.
func typeOf(ext string) string {
	for _, row := range fileTypes {
		for known := range strings.FieldsSeq(row.extensions) {
			if strings.EqualFold(ext, "."+known) {
				return strings.Replace(row.mimeType, "*", known, 1)
			}
		}
	}
	return "application/octet-stream"
}

// fileTypes has "*" for the extension.
var fileTypes = []struct{ mimeType, extensions string }{
	// prose and data
	{"text/plain", "txt text log ini conf cfg properties diff patch"},
	{"text/markdown", "md markdown"},
	{"text/tab-separated-values", "tsv"},
	{"text/html", "html htm"},
	{"text/yaml", "yaml yml"},
	{"text/*", "css csv"},
	{"application/json", "json map"},
	{"application/jsonl", "jsonl ndjson"},
	{"application/xml", "xml xsd xsl"},
	{"application/*", "toml sql pdf rtf zip wasm"},
	// code
	{"text/javascript", "js mjs cjs jsx"},
	{"text/typescript", "ts tsx mts cts"},
	{"text/x-python", "py pyi"},
	{"text/x-ruby", "rb"},
	{"text/x-rust", "rs"},
	{"text/x-c", "c h"},
	{"text/x-c++", "cc cpp cxx hh hpp"},
	{"text/x-csharp", "cs"},
	{"text/x-kotlin", "kt kts"},
	{"text/x-*", "go java swift php lua"},
	{"application/x-sh", "sh bash zsh"},
	// images, sound, film, documents
	{"image/jpeg", "jpg jpeg jpe"},
	{"image/svg+xml", "svg"},
	{"image/tiff", "tif tiff"},
	{"image/vnd.microsoft.icon", "ico"},
	{"image/*", "png gif webp avif bmp"},
	{"audio/mpeg", "mp3"},
	{"audio/ogg", "ogg oga"},
	{"audio/*", "wav flac"},
	{"video/quicktime", "mov"},
	{"video/*", "mp4 webm"},
	{"application/epub+zip", "epub"},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
	{"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"},
	// archives and fonts
	{"application/gzip", "gz tgz"},
	{"application/x-tar", "tar"},
	{"application/x-bzip2", "bz2"},
	{"application/x-xz", "xz"},
	{"application/zstd", "zst"},
	{"application/x-7z-compressed", "7z"},
	{"font/*", "woff woff2 ttf otf"},
}

// formatSize writes a number of bytes for people.
func formatSize(n int64) string {
	if n == 0 {
		return "0 B"
	}
	units := []string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	value, unit := float64(n), 0
	// By what will be shown: 1023.999 KB would read 1024.00 KB.
	for math.Round(value*100) >= 1024*100 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	return fmt.Sprintf("%.2f %s", value, units[unit])
}
