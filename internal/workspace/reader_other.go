//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// A reader is a regular file that is open for reading.
type reader struct{ *os.File }

// read opens a file for reading that was seen in the folder.
func (d folder) read(name string, _ fs.FileInfo) (*reader, fs.FileInfo, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = d.still(name, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &reader{f}, info, nil
}

// names returns how many names the file has.
func (r *reader) names(info fs.FileInfo) int { return linkCount(r.File, info) }
