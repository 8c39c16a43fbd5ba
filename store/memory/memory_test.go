package memory_test

import (
	"testing"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
	"github.com/perstack-go/perstack/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
}
