// Package test runs perstack as a user does: every script in testdata/script is one
// behaviour, with all the files it needs. The tests beside it do what a script cannot,
// like killing a process at a random instant.
package test
