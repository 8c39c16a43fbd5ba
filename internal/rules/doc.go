// Package rules is the architecture as a test: which room may import which, who may
// start a process or open a connection, and what every file and page has to obey.
//
// It holds no code of the program and is imported by nothing. The rules are tables;
// start reading at rooms_test.go (the arrows), then reserved_test.go (what belongs to
// one room alone). A rule that no tree can break proves nothing, so canfail_test.go
// feeds each of them a small tree that does.
package rules
