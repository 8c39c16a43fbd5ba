//go:build unix

package workspace

import "os"

// Rename renames without replacing: as the file system does it or, slowly, as if it
// could not.
func Rename(dir, old, name string, isDir, slowly bool) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if slowly {
		return renameInTwoSteps(d, old, d, name, isDir)
	}
	return renameNew(d, old, d, name, isDir)
}
