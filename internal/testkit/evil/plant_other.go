//go:build !unix

package evil

import "errors"

var errNoSpecial = errors.New("this system has no pipes and sockets among its files")

func makePipe(string) error   { return errNoSpecial }
func makeSocket(string) error { return errNoSpecial }
