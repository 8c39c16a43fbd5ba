package process

import "os"

// brokenPipe is empty: a closed output is an ordinary error on Windows.
var brokenPipe []os.Signal

// dumping is empty: Windows has no such signals.
var dumping []os.Signal
