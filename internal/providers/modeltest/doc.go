// Package modeltest holds the tests that the model of every provider must pass, and the
// providers themselves as tests reach them.
//
// A [Case] says nothing about a wire. What wires can and cannot do stands in one table,
// [Traits]; a case that a wire cannot have is left out with a reason, and the table that
// [Run] prints shows it. Cases that are conversations, [Talk], are used twice: package
// test/wire holds the same ones against the official SDKs.
//
// Start reading at [Cases] and [Run].
package modeltest
