package skill_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

type forecastArgs struct {
	City string `json:"city" minLength:"1" jsonschema:"name of the city"`
	Days int    `json:"days,omitzero" minimum:"1" maximum:"14" jsonschema:"how many days; 1 if left out"`
}

type forecast struct {
	City string   `json:"city"`
	Days []string `json:"days"`
}

func lookUp(_ context.Context, args forecastArgs) (forecast, error) {
	if args.City != "Kyoto" {
		return forecast{}, fmt.Errorf("no station in %q; try Kyoto", args.City)
	}
	return forecast{args.City, []string{"sunny", "rain", "sunny"}[:max(1, args.Days)]}, nil
}

// A Go function becomes a tool that a model can call.
func ExampleFunc() {
	weather := skill.Func("forecast", "Tells the weather of the next days.", lookUp, skill.ReadOnly)

	ctx := context.Background()
	box, err := skill.NewToolbox(ctx, []skill.Source{{Skill: weather}}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()
	fmt.Println(string(box.Tools()[0].InputSchema))
	for _, args := range []string{`{"city":"Kyoto","days":2}`, `{"city":"Atlantis"}`, `{"town":"Kyoto"}`, `{"city":"Kyoto","days":99}`} {
		result, err := box.Call(ctx, event.ToolCall{ID: "1", ToolName: "forecast", Args: []byte(args)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.IsError, result.Result[0].Text)
	}
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"name of the city","minLength":1},"days":{"type":"integer","description":"how many days; 1 if left out","minimum":1,"maximum":14}},"required":["city"],"additionalProperties":false}
	// false {"city":"Kyoto","days":["sunny","rain"]}
	// true no station in "Atlantis"; try Kyoto
	// true invalid arguments: "town" is not an argument of this tool
	// true invalid arguments: "days" must be between 1 and 14
}
