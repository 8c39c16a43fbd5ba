// Package filelock takes locks on open files. A lock belongs to the open file, not to the process:
// two opens in one process exclude each other. The system releases it when the process dies.
package filelock
