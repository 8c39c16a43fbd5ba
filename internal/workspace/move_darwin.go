package workspace

import "golang.org/x/sys/unix"

func renameExclusive(from int, old string, to int, name string) error {
	return unix.RenameatxNp(from, old, to, name, unix.RENAME_EXCL)
}
