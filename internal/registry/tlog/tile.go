package tlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	merkle "golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight = 8
	// TileWidth is how many hashes, or leaves, a whole tile has.
	TileWidth = 1 << tileHeight
)

// Entries is the level of tiles that have leaves instead of hashes.
const Entries = -1

// A Tile is a part of a log that never changes once it is whole, so that any server or cache can keep it:
// hashes of one level, or leaves.
type Tile struct {
	Level int   // 0 to 7, or Entries
	Index int64 // of the tile in its level
	Width int   // how much of it there is: 1 to TileWidth
}

// Path is where the tile lies below the address of a log, as C2SP has it: tile/0/x001/234, or
// tile/entries/005.p/17 for one that is not whole.
func (t Tile) Path() string {
	level := strconv.Itoa(t.Level)
	if t.Level == Entries {
		level = "entries"
	}
	number := fmt.Sprintf("%03d", t.Index%1000)
	for n := t.Index / 1000; n > 0; n /= 1000 {
		number = fmt.Sprintf("x%03d/%s", n%1000, number)
	}
	path := "tile/" + level + "/" + number
	if t.Width < TileWidth {
		path += fmt.Sprintf(".p/%d", t.Width)
	}
	return path
}

// ParseTile reads a path that [Tile.Path] writes.
func ParseTile(path string) (Tile, error) {
	fail := func() (Tile, error) { return Tile{}, fmt.Errorf("%q is not the path of a tile", path) }
	rest, ok := strings.CutPrefix(path, "tile/")
	level, number, more := strings.Cut(rest, "/")
	if !ok || !more || len(path) > 100 {
		return fail()
	}
	t := Tile{Level: Entries, Width: TileWidth}
	var err error
	if level != "entries" {
		if t.Level, err = strconv.Atoi(level); err != nil || t.Level < 0 || t.Level > 63/tileHeight {
			return fail()
		}
	}
	if whole, width, partial := strings.Cut(number, ".p/"); partial {
		number = whole
		if t.Width, err = strconv.Atoi(width); err != nil || t.Width < 1 || t.Width >= TileWidth {
			return fail()
		}
	}
	for digits := range strings.SplitSeq(strings.ReplaceAll(number, "x", ""), "/") {
		n, err := strconv.Atoi(digits)
		if err != nil || len(digits) != 3 || n < 0 || t.Index > 1<<50 {
			return fail()
		}
		t.Index = t.Index*1000 + int64(n)
	}
	if t.Path() != path {
		return fail()
	}
	return t, nil
}

// In reports whether a log of this size has the tile.
func (t Tile) In(size int64) bool {
	if t.Level > 0 {
		size >>= t.Level * tileHeight
	}
	return t.Index <= size/TileWidth && t.Index*TileWidth+int64(t.Width) <= size
}

// Hashes returns the hashes of a tile, one after the other.
func (t Tile) Hashes(hashes HashReader) ([]byte, error) {
	return merkle.ReadTileData(merkle.Tile{H: tileHeight, L: t.Level, N: t.Index, W: t.Width}, hashes)
}

// TilesOf returns the tiles that together have all leaves from number first on of a log of this size.
func TilesOf(first, size int64) iter.Seq[Tile] {
	return func(yield func(Tile) bool) {
		for index := first / TileWidth; index*TileWidth < size; index++ {
			if !yield(Tile{Level: Entries, Index: index, Width: int(min(size-index*TileWidth, TileWidth))}) {
				return
			}
		}
	}
}

// EncodeEntries writes leaves as a tile has them: each after its length in two bytes.
func EncodeEntries(leaves [][]byte) ([]byte, error) {
	var out []byte
	for _, leaf := range leaves {
		if len(leaf) > maxEntry {
			return nil, fmt.Errorf("a leaf of %d bytes does not fit into a tile", len(leaf))
		}
		out = binary.BigEndian.AppendUint16(out, uint16(len(leaf)))
		out = append(out, leaf...)
	}
	return out, nil
}

const maxEntry = 1<<16 - 1

// DecodeEntries reads the leaves of a tile.
func DecodeEntries(data []byte, width int) (leaves [][]byte, err error) {
	for len(data) > 0 {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			return nil, errors.New("a tile of leaves ends too early")
		}
		n := int(binary.BigEndian.Uint16(data))
		leaves, data = append(leaves, data[2:2+n]), data[2+n:]
	}
	if len(leaves) != width {
		return nil, fmt.Errorf("a tile has %d leaves instead of %d", len(leaves), width)
	}
	return leaves, nil
}
