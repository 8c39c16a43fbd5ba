package event

import (
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/rawjson"
)

// What is encoded decodes, and encodes to the same bytes again.
func TestEncodingIsStable(t *testing.T) {
	var bodies []reflect.Type
	for _, name := range sortedTypes() {
		e, err := kindsByName[name].decode([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, reflect.TypeOf(e.Body))
	}
	rapid.Check(t, func(t *rapid.T) {
		body := reflect.New(rapid.SampledFrom(bodies).Draw(t, "type")).Elem()
		fill(t, body, "", 4)
		e := Event{
			ID:        rapid.String().Draw(t, "id"),
			Timestamp: rapid.Int64().Draw(t, "timestamp"),
			JobID:     rapid.String().Draw(t, "job"),
			RunID:     rapid.String().Draw(t, "run"),
			Body:      body.Interface().(Body),
		}
		if !e.IsRuntime() {
			e.ExpertKey, e.StepNumber = rapid.String().Draw(t, "expert"), rapid.Int().Draw(t, "step")
		}
		checkStable(t, e)
	})
}

func checkStable(t interface{ Fatalf(string, ...any) }, e Event) {
	once, err := Marshal(e)
	if err != nil {
		t.Fatalf("encode %+v: %v", e, err)
	}
	decoded, err := Unmarshal(once)
	if err != nil {
		t.Fatalf("decode %s: %v", once, err)
	}
	twice, err := Marshal(decoded)
	if err != nil {
		t.Fatalf("encode again %+v: %v", decoded, err)
	}
	if string(once) != string(twice) {
		t.Fatalf("first  %s\nsecond %s", once, twice)
	}
}

var rawValues = []string{`null`, `0`, `-1.5e300`, `"\u001b[2J"`, `""`, `[]`, `{}`, `[1,[2,{"a":null}]]`, `{"b":1,"a":{"x":"\n"}}`}

// fill sets v to anything that its type can hold.
func fill(t *rapid.T, v reflect.Value, field string, depth int) {
	switch v.Interface().(type) {
	case rawjson.Value:
		if raw := rapid.SampledFrom(append(rawValues, "")).Draw(t, "raw"); raw != "" {
			v.Set(reflect.ValueOf(rawjson.Value(raw)))
		}
		return
	case map[string]rawjson.Value:
		m := make(map[string]rawjson.Value)
		if field == "Unknown" {
			if rapid.Bool().Draw(t, "unknown") {
				m["x-new"] = rawjson.Value(rapid.SampledFrom(rawValues).Draw(t, "raw"))
				v.Set(reflect.ValueOf(m))
			}
			return
		}
		for range rapid.IntRange(0, 2).Draw(t, "members") {
			m[rapid.String().Draw(t, "name")] = rawjson.Value(rapid.SampledFrom(rawValues).Draw(t, "raw"))
		}
		v.Set(reflect.ValueOf(m))
		return
	case PartType:
		v.Set(reflect.ValueOf(rapid.SampledFrom(partTypes).Draw(t, "part type")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		s := rapid.String().Draw(t, field)
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			s += "\xff\xed\xa0\x80"
		}
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, field))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, field))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, field))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), v.Type().Field(i).Name, depth)
		}
	case reflect.Pointer:
		// A list has no holes; elsewhere a pointer may be missing.
		if field == "element" || depth > 0 && rapid.Bool().Draw(t, field) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), field, depth-1)
		}
	case reflect.Slice:
		if depth <= 0 || rapid.Bool().Draw(t, field+" is nil") {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, field), 2))
		for i := range v.Len() {
			fill(t, v.Index(i), "element", depth-2)
		}
	default:
		t.Fatalf("cannot fill a %s", v.Type())
	}
}

func FuzzUnmarshal(f *testing.F) {
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(readFile(f, file))
	}
	f.Add([]byte(`{"type":"resolveThought","toolResult":{"id":"c"}}`))
	f.Add([]byte(`{"type":"startGeneration","messages":[null]}`))
	for i, raw := range rawValues {
		f.Add([]byte(`{"type":"streamReasoning","x` + strconv.Itoa(i) + `":` + raw + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Unmarshal(data)
		if err != nil {
			return
		}
		checkStable(t, e)
		Job{}.Apply(e)
	})
}
