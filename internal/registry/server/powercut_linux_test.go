package server

import (
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A step is something that a program did to a file of a database, or what it printed.
type step struct {
	kind   stepKind
	file   string // suffix after the path of the database
	offset int64
	data   []byte // that was written
	said   string
}

type stepKind int

const (
	wrote stepKind = iota
	cut            // to a length, which is the offset
	synced
	removed
	printed
)

var (
	callLine  = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (-?\d+)`)
	openLine  = regexp.MustCompile(`^(\d+) +(\w+\(.*) <unfinished \.\.\.>$`)
	closeLine = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)
	fileOf    = regexp.MustCompile(`^\d+<((?:\\x[0-9a-f]{2})*)>`)
	textOf    = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
)

// readTrace reads what strace recorded about the files of a database.
func readTrace(t *testing.T, path, database string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begun := map[string]string{} // calls of threads that have not returned
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := openLine.FindStringSubmatch(line); m != nil {
			begun[m[1]] = m[1] + " " + m[2]
			continue
		}
		if m := closeLine.FindStringSubmatch(line); m != nil {
			line = begun[m[1]] + m[2]
		}
		m := callLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[4], "-") {
			continue
		}
		if s, ok := stepOf(m[2], m[3], database); ok {
			steps = append(steps, s)
		}
	}
	return steps
}

// stepOf reads a call that succeeded.
func stepOf(name, args, database string) (s step, ok bool) {
	unescape := func(hex string) string {
		out, _ := strconv.Unquote(`"` + hex + `"`) // the patterns accept hexadecimal digits only
		return out
	}
	file, text := "", ""
	if m := fileOf.FindStringSubmatch(args); m != nil {
		file = unescape(m[1])
	}
	if m := textOf.FindStringSubmatch(args); m != nil {
		text = unescape(m[1])
	}
	last, _ := strconv.ParseInt(strings.TrimSpace(args[strings.LastIndexByte(args, ',')+1:]), 10, 64)
	if name == "unlink" || name == "unlinkat" {
		file = text
	}
	suffix, ours := strings.CutPrefix(file, database)
	switch {
	case name == "write" && strings.HasPrefix(text, "published "):
		return step{kind: printed, said: strings.TrimSpace(strings.TrimPrefix(text, "published "))}, true
	case !ours || suffix == "-shm": // which is made again from the others
		return step{}, false
	case name == "pwrite64":
		return step{kind: wrote, file: suffix, offset: last, data: []byte(text)}, true
	case name == "ftruncate":
		return step{kind: cut, file: suffix, offset: last}, true
	case name == "fsync" || name == "fdatasync":
		return step{kind: synced, file: suffix}, true
	case name == "unlink" || name == "unlinkat":
		return step{kind: removed, file: suffix}, true
	}
	return step{}, false
}

// sector is what a disk writes wholly or not at all.
const sector = 512

// replay returns the files after some steps, and what was printed by then. What was not synchronised is on
// the disk in part, sector by sector.
func replay(steps []step, before []byte, random *rand.Rand) (files map[string][]byte, said []string) {
	lastSync := map[string]int{}
	for i, s := range steps {
		if s.kind == synced {
			lastSync[s.file] = i
		}
	}
	files = map[string][]byte{"": slices.Clone(before)}
	for i, s := range steps {
		last, ok := lastSync[s.file]
		safe := ok && i < last
		switch s.kind {
		case printed:
			said = append(said, s.said)
		case removed:
			delete(files, s.file)
		case cut:
			if safe || random.IntN(2) == 0 {
				files[s.file] = resize(files[s.file], s.offset)
			}
		case wrote:
			for from := 0; from < len(s.data); from += sector {
				if !safe && random.IntN(2) == 0 {
					continue
				}
				to, at := min(from+sector, len(s.data)), s.offset+int64(from)
				if end := at + int64(to-from); end > int64(len(files[s.file])) {
					files[s.file] = resize(files[s.file], end)
				}
				copy(files[s.file][at:], s.data[from:to])
			}
		case synced:
		}
	}
	return maps.Clone(files), said
}

func resize(content []byte, size int64) []byte {
	return append(content[:min(int64(len(content)), size)], make([]byte, max(0, size-int64(len(content))))...)
}
