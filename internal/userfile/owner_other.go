//go:build !unix

package userfile

import "os"

// Foreign is not known here: owners are no numbers that could be compared.
func Foreign(*os.File) bool { return false }

// ForeignPath is not known either.
func ForeignPath(string) bool { return false }

func foreign(os.FileInfo) bool { return false }

func rootOwns(os.FileInfo) bool { return false }

// shared is not known either: the bits of a mode do not say it.
func shared(os.FileInfo) bool { return false }
