package web_test

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/registry/definition"
)

// The feeds have what changed last, and published text stays text in them.
func TestFeeds(t *testing.T) {
	r := start(t)
	hostile := `</summary><script>alert(1)</script>`
	publish(t, r, define("@acme/finder@1.0.0", nil), define("@acme/hostile@1.0.0", func(d *definition.Definition) { d.Description = hostile }))
	for path, title := range map[string]string{"/feed.atom": "Experts", "/o/acme/feed.atom": "Experts of acme"} {
		status, header, body := get(t, r, http.MethodGet, path)
		var got struct {
			XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
			ID      string   `xml:"id"`
			Title   string   `xml:"title"`
			Entries []struct {
				ID      string `xml:"id"`
				Title   string `xml:"title"`
				Author  string `xml:"author>name"`
				Summary string `xml:"summary"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusOK || header.Get("Content-Type") != "application/atom+xml; charset=utf-8" || got.ID != "https://registry.example"+path || got.Title != title {
			t.Errorf("%d %v %+v", status, header, got)
		}
		found := false
		for _, e := range got.Entries {
			if e.Title == "@acme/hostile@1.0.0" {
				found = e.Summary == hostile && e.Author == "acme" && e.ID == "https://registry.example/e/@acme/hostile@1.0.0"
			}
		}
		if !found || len(got.Entries) != 2 || strings.Contains(body, "<script>") {
			t.Errorf("%s", body)
		}
	}
	if status, _, _ := get(t, r, http.MethodGet, "/o/none/feed.atom"); status != http.StatusNotFound {
		t.Error(status)
	}
}
