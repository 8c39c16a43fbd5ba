package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

func testPackages(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	reader := s.mustPublish(acme, content("@acme/reader", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "1.10.0", "@acme/reader"), "stable")
	s.mustPublish(acme, content("@acme/lead", "1.9.0", "@acme/reader"))
	p, err := s.Package(t.Context(), Actor{}, "@acme/lead")
	if err != nil {
		t.Fatal(err)
	}
	if p.Latest != "1.10.0" || p.Description != "About @acme/lead" || len(p.Versions) != 2 || p.Versions[0].Version != "1.10.0" || p.Owner.Name != "acme" {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff(map[string]string{"latest": "1.10.0", "stable": "1.10.0"}, p.Tags); diff != "" {
		t.Error(diff)
	}
	if of, err := s.Package(t.Context(), Actor{}, "@acme/reader"); err != nil || !slices.Equal(of.Dependents, []string{"@acme/lead"}) {
		t.Errorf("%+v %v", of.Dependents, err)
	}
	got, err := s.Get(t.Context(), Actor{}, "@acme/lead")
	if err != nil {
		t.Fatal(err)
	}
	want := []tlog.Delegate{{Key: "@acme/reader", Exact: "@acme/reader@1.0.0", Digest: reader.Expert.Digest}}
	if diff := cmp.Diff(want, got.Delegates); diff != "" || got.Version.Version != "1.10.0" || definition.Digest(got.Content) != got.Digest || !got.OwnerSince.Equal(s.time) {
		t.Errorf("%s %+v", diff, got)
	}
	all, last, err := s.Versions(t.Context(), Actor{}, "@acme/lead")
	if err != nil || last != "1.10.0" || len(all) != 2 || all[1].Version.Version != "1.9.0" || len(all[1].Tags) != 0 {
		t.Errorf("%v %q %v", all, last, err)
	}
	index, err := s.Index(t.Context(), Actor{}, "@acme/lead")
	if err != nil || bytes.Count(index, []byte("\n")) != 2 || !bytes.HasPrefix(index, []byte(`{"name":"@acme/lead","version":"1.10.0","digest":"sha256:`)) {
		t.Errorf("%s %v", index, err)
	}
	for _, name := range []string{"@acme/none", "none"} {
		if _, err := s.Package(t.Context(), Actor{}, name); reason(err) != "404 Expert not found" {
			t.Error(err)
		}
	}
	if _, err := s.Package(t.Context(), Actor{}, "A B"); reason(err) != "422 Invalid expert key format: A B" {
		t.Error(err)
	}
}

func testList(t *testing.T, s *site) {
	ana, acme := s.org("ana", Personal), s.org("acme", Team)
	for i, name := range []string{"cook-2", "a_b", "ab-c", "writer", "a-z"} {
		s.time = s.time.Add(time.Second)
		s.mustPublish(ana, content(name, fmt.Sprintf("1.%d.0", 20-5*i)))
	}
	if _, err := s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/hidden", "1.0.0"), Visibility: api.Private}, PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	s.mustPublish(ana, content("writer", "3.0.0-rc.1"))
	for name, c := range map[string]struct {
		by    Actor
		ask   List
		want  string
		total int64
	}{
		"newest first": {ana, List{Take: 100}, "a-z writer ab-c a_b cook-2", 5},
		"names":        {ana, List{Take: 100, Sort: "name", Ascending: true}, "a-z a_b ab-c cook-2 writer", 5},
		"words":        {ana, List{Take: 100, Text: "About WRIT"}, "writer", 1},
		"since":        {ana, List{Take: 100, Sort: "name", Ascending: true, UpdatedSince: s.time.Add(-time.Second)}, "a-z writer", 2},
		"later":        {ana, List{Take: 100, UpdatedSince: s.time.Add(time.Second)}, "", 0},
		"versions":     {ana, List{Take: 100, Sort: "version", Ascending: true}, "a-z writer ab-c a_b cook-2", 5},
		"filter":       {ana, List{Take: 100, Sort: "name", Filter: "A"}, "ab-c a_b a-z", 3},
		"page":         {ana, List{Take: 2, Skip: 1, Sort: "name", Ascending: true}, "a_b ab-c", 5},
		"private":      {acme, List{Take: 1, Sort: "name", Ascending: true}, "@acme/hidden", 6},
		"organization": {acme, List{Take: 9, OrganizationID: acme.OrgID}, "@acme/hidden", 1},
		"of others":    {Actor{}, List{Take: 9, OrganizationID: acme.OrgID}, "", 0},
		"nothing":      {ana, List{Take: 9, Filter: "%"}, "", 0},
	} {
		page, total, err := s.List(t.Context(), c.by, c.ask)
		var names []string
		for _, rec := range page {
			names = append(names, rec.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want || total != c.total {
			t.Errorf("%s: %q %d %v", name, got, total, err)
		}
	}
	for _, ask := range []List{{}, {Take: 101}, {Take: 1, Skip: -1}, {Take: 1, Sort: "size"}, {Take: 1, Filter: strings.Repeat("a", 257)}} {
		if _, _, err := s.List(t.Context(), ana, ask); !strings.HasPrefix(reason(err), "422 ") {
			t.Errorf("%+v: %v", ask, err)
		}
	}
}

func testSearch(t *testing.T, s *site) {
	ana, acme := s.org("ana", Personal), s.org("acme", Team)
	about := func(name, text string) []byte {
		return bytes.Replace(content(name, "1.0.0"), []byte("About "+name), []byte(text), 1)
	}
	s.mustPublish(ana, about("writer", "Writes novels"))
	s.mustPublish(ana, about("cook", "A WRITER of recipes"))
	s.mustPublish(ana, about("ghost_writer-2", "For others"))
	s.time = s.time.Add(time.Second)
	s.mustPublish(acme, about("@acme/writers", "Übersetzt Bücher"))
	if _, err := s.Publish(t.Context(), acme, api.Publish{Content: about("@acme/hidden", "A writer"), Visibility: api.Private}, PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by   Actor
		ask  Search
		want string
	}{
		"rank":       {ana, Search{Text: "writer"}, "writer @acme/writers ghost_writer-2 cook"},
		"two words":  {ana, Search{Text: "writer recipes"}, "cook"},
		"short":      {ana, Search{Text: "of"}, "cook"},
		"short too":  {ana, Search{Text: "recipes of"}, "cook"},
		"quoted":     {ana, Search{Text: `"writer"`}, ""},
		"operators":  {ana, Search{Text: "novels OR recipes"}, ""},
		"underscore": {ana, Search{Text: "ghost_writer"}, "ghost_writer-2"},
		"umlaut":     {ana, Search{Text: "BÜCHER"}, "@acme/writers"},
		"owner":      {ana, Search{Owner: "acme"}, "@acme/writers"},
		"member":     {acme, Search{Owner: "acme"}, "@acme/hidden @acme/writers"},
		"all":        {ana, Search{}, "@acme/writers cook ghost_writer-2 writer"},
		"newest":     {ana, Search{Newest: true, Take: 1}, "@acme/writers cook ghost_writer-2 writer"},
		"wildcards":  {ana, Search{Text: `wr%ter \ "`}, ""},
		"quotes":     {ana, Search{Text: `' OR 1=1 --`}, ""},
		"many words": {ana, Search{Text: strings.Repeat("writer ", 100)}, "writer @acme/writers ghost_writer-2 cook"},
		"bytes":      {ana, Search{Text: "\xff\x00cook"}, "cook"},
	} {
		var names []string
		for pages := 0; ; pages++ {
			page, err := s.Search(t.Context(), c.by, c.ask)
			if err != nil || pages > 9 {
				t.Fatalf("%s: %v", name, err)
			}
			for _, e := range page.Experts {
				names = append(names, e.Name)
			}
			if c.ask.After = page.Next; page.Next == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := s.Search(t.Context(), ana, Search{After: "x"}); reason(err) != "422 after is not the next of a page" {
		t.Error(err)
	}
}

func TestVersionOrder(t *testing.T) {
	all := strings.Fields("0.9.0 1.0.0-1 1.0.0-2 1.0.0-10 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-alpha-b 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0 10.0.0")
	for i, a := range all {
		for j, b := range all {
			if got, want := strings.Compare(versionOrder(a), versionOrder(b)), definition.CompareVersions(a, b); got != want || want < 0 != (i < j) {
				t.Errorf("%s %s: %d %d", a, b, got, want)
			}
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(cursor{3, "@acme/lead"}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCursor(text); err == nil && c.String() != text {
			t.Errorf("%q %+v", text, c)
		}
	})
}
