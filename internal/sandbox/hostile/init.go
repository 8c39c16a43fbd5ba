package hostile

import (
	"context"
	"fmt"
	"os"
)

// Word is the first argument of the hostile program. It is no command of perstack.
const Word = "perstack-hostile-program"

// Init does not return in a process that was started to be the hostile program. A main function
// calls it before it protects itself: the hostile program is not protected, and could not be in a
// sandbox.
func Init() {
	if len(os.Args) < 2 || os.Args[1] != Word {
		return
	}
	dir, err := os.Getwd()
	if err == nil {
		err = Run(context.Background(), Process{
			Program: os.Args[0], Args: os.Args[2:], Environ: os.Environ(), Dir: dir,
			Stdin: os.Stdin, Stdout: os.Stdout, Prefix: []string{Word},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
