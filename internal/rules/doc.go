// Package rules checks the architecture: which package can import which, what only one
// package can do, such as starting a process, and what every file and page must follow.
//
// It holds no code of the program, and nothing imports it. The rules are tables. Start
// reading at imports_test.go (the import rules), then reserved_test.go (what only one package
// can use), starts_test.go (what can start programs, and with which policy) and words_test.go
// (the words that we do not write; codewords_test.go applies them to comments and names).
// canfail_test.go gives each rule a small tree that breaks it, because a rule that cannot fail
// proves nothing.
package rules
