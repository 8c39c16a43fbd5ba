package ollama

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// options are the settings of the model that a user gives by extraBody. The server has one
// object for all of them, and the limit of an answer is in it.
type options struct {
	rest    string        // the members but num_predict, each with a comma behind it
	predict rawjson.Value // the user's own limit; nil if there is none
}

// takeOptions takes the options out of what a user adds to every request.
func takeOptions(provider string, extra wire.Extra) (options, wire.Extra, error) {
	raw, ok := extra["options"]
	if !ok {
		return options{}, extra, nil
	}
	var given map[string]rawjson.Value
	if err := json.Unmarshal(raw, &given); err != nil || raw.Kind() != '{' {
		return options{}, nil, fmt.Errorf(`%s: options in extraBody is not an object; write it like options = { num_ctx = 32768 }`, provider)
	}
	var o options
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name == "num_predict" {
			o.predict = given[name]
			continue
		}
		o.rest += string(wire.Quote(name)) + ":" + string(given[name]) + ","
	}
	rest := maps.Clone(extra)
	delete(rest, "options")
	return o, rest, nil
}

// text is the member of a request; empty if there is nothing to say. A limit holds
// whatever the user's own is: it is what a budget has left.
func (o options) text(limit int) string {
	predict := string(o.predict)
	if limit > 0 && !o.isWithin(limit) {
		predict = strconv.Itoa(limit)
	}
	switch {
	case predict != "":
		return `,"options":{` + o.rest + `"num_predict":` + predict + `}`
	case o.rest != "":
		return `,"options":{` + o.rest[:len(o.rest)-1] + `}`
	}
	return ""
}

// isWithin reports whether the user's limit is the smaller one. Numbers below 1 mean that
// there is none.
func (o options) isWithin(limit int) bool {
	n, err := strconv.ParseFloat(string(o.predict), 64)
	return err == nil && n >= 1 && n <= float64(limit)
}
