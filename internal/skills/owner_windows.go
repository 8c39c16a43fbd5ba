package skills

import "io/fs"

// isOwner is true: Docker's virtual machine decides who owns what it mounts.
func isOwner(fs.FileInfo, int) bool { return true }
