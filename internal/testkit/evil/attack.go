package evil

import (
	"maps"
	"slices"
	"unicode/utf8"
)

// An Op is a class of what a tool does with a path.
type Op string

// The classes. A tool belongs to one of them, or for moves to two.
const (
	Read   Op = "read"   // text, images, PDFs, and files that are about to be edited
	Write  Op = "write"  // create or replace a file, with the directories above it
	List   Op = "list"   // the names in a directory
	Info   Op = "info"   // size and times
	Create Op = "create" // a directory
	Delete Op = "delete" // the file or the link itself
	From   Op = "from"   // the source of a move: the file or the link itself
	To     Op = "to"     // the destination of a move
	Cwd    Op = "cwd"    // the working directory of a command
)

// Works is the expectation that an operation succeeds.
const Works = "ok"

// An Attack is one path to try.
type Attack struct {
	ID   string
	Path string // relative to the root, or absolute
	What string // what is there: file, directory, link, pipe, socket or nothing

	// Expect is the code of the error by the class of the operation, or Works. What is
	// not listed may end in any way that leaks nothing and changes nothing outside;
	// that holds for all.
	Expect map[Op]string
}

// Raw reports whether the path cannot be written in JSON, so that a model cannot name
// it. A tool may still come across it.
func (a Attack) Raw() bool { return !utf8.ValidString(a.Path) }

// Attacks lists what to try on this tree.
func (t *Tree) Attacks() []Attack { return slices.Clone(t.attacks) }

func (t *Tree) attack(id, path, what string, expect map[Op]string) {
	t.attacks = append(t.attacks, Attack{ID: id, Path: path, What: what, Expect: expect})
}

// all expects one code from all operations.
func all(code string) map[Op]string {
	expect := map[Op]string{}
	for _, op := range []Op{Read, Write, List, Info, Create, Delete, From, To, Cwd} {
		expect[op] = code
	}
	return expect
}

// through expects one code from all operations that follow a link. Deleting and moving
// act on the link itself, which is the user's own.
func through(code string) map[Op]string {
	expect := all(code)
	for _, op := range []Op{Delete, From, To, Create} {
		delete(expect, op)
	}
	return expect
}

// but replaces some expectations; "" drops one.
func but(expect map[Op]string, pairs map[Op]string) map[Op]string {
	expect = maps.Clone(expect)
	for op, code := range pairs {
		if code == "" {
			delete(expect, op)
			continue
		}
		expect[op] = code
	}
	return expect
}
