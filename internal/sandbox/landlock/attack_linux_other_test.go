//go:build linux && !amd64

package landlock_test

// foreignAttacks need the machine code of the processor.
func foreignAttacks() []attack { return nil }

func int80() int32 { return 0 }
