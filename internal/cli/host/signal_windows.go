package host

import "os"

// brokenPipe is empty: a closed output is an ordinary error on Windows.
var brokenPipe []os.Signal
