package resolve

import "testing"

// FuzzParse reads files that anything can have written: what is accepted names versions.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"pins":{"@a/x":{"exact":"@a/x@1.0.0","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","registry":"https://r.example","index":1,"card":""}}}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		pins, err := parse(data)
		if err != nil {
			return
		}
		for key, p := range pins {
			if !p.fits(key) || p.Registry == "" {
				t.Errorf("%q: %+v", key, p)
			}
		}
	})
}
