package probe

import (
	"context"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
)

// ask makes the test program print the level and its steps.
const ask = "ask-for-the-level"

// cacheVariable names the directory of the cache.
const cacheVariable = "PERSTACK_TEST_CACHE"

// An answer is what it prints.
type answer struct {
	Level string
	Steps []Step
}

func TestMain(m *testing.M) {
	Init(os.Args)
	if len(os.Args) == 2 && os.Args[1] == ask {
		os.Exit(printLevel())
	}
	os.Exit(m.Run())
}

func printLevel() int {
	level, steps := Offered(context.Background(), os.Getenv(cacheVariable))
	if json.MarshalWrite(os.Stdout, answer{string(level), steps}) != nil {
		return 1
	}
	return 0
}
