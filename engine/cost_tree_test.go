package engine

import (
	"fmt"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// Money is one purse for all Runs: however many work side by side, the limit is passed by
// at most one answer each, and a model that keeps to what it is allowed does not pass it
// by more than the input that could only be estimated.
func TestCostOfATree(t *testing.T) {
	const most = 0.50
	price := expert.Price{Input: 10, Output: 50}
	each := model.Cost(price, event.Usage{InputTokens: 1500, OutputTokens: 900, TotalTokens: 2400})
	for _, atOnce := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(many(16, "helper")...).costing(1000, 500), says("done").costing(1000, 100)},
				"helper": {says("helped").costing(1500, 900)},
			})
			b.atOnce, b.limits.MaxCost, b.price = atOnce, most, price
			r := b.must(Input{Query: "go"})
			h, err := Load(t.Context(), b.store, "job")
			if err != nil {
				t.Fatal(err)
			}
			if spent := model.Cost(price, h.Job.Usage); spent < most/2 || spent > most+float64(atOnce)*each {
				t.Errorf("%.4f dollars were spent, %.2f are allowed, and %.4f a call", spent, most, each)
			}
			if asked := len(b.script.requests); asked < 3 || asked >= 18 {
				t.Errorf("the model was asked %d times; the money is for about ten", asked)
			}
			if r.Status != event.StatusStoppedByLimit || r.Limit == nil || r.Limit.Limit != event.LimitCost || r.Limit.Max != most {
				t.Errorf("%+v", r)
			}
			b.checkJournal()
			b.checkTree()
		})
	}
}
