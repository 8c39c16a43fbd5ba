package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// leavesFrom returns what happened since the log had a size.
func (s *site) leavesFrom(size int64) (all []tlog.Leaf) {
	s.t.Helper()
	changes, err := s.Changes(s.t.Context(), size, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, text := range changes.Leaves {
		leaf, err := tlog.ParseLeaf([]byte(text))
		if err != nil {
			s.t.Fatal(err)
		}
		leaf.Actor, leaf.Time = "", time.Time{}
		all = append(all, *leaf)
	}
	return all
}

func (s *site) meaning(key string) string {
	s.t.Helper()
	rec, err := s.Get(s.t.Context(), Actor{}, key)
	if err != nil {
		return reason(err)
	}
	return rec.Version.Version
}

func testTags(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "2.0.0"), "stable")
	before := s.checkpoint().Size
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	ok(s.SetTag(t.Context(), acme, "@acme/lead", "stable", "1.0.0"))
	ok(s.SetTag(t.Context(), acme, "@acme/lead", "stable", "1.0.0")) // it does already
	if err := s.RemoveTag(t.Context(), acme, "@acme/lead", "stable", "9.9.9"); err == nil || !strings.Contains(err.Error(), "The tag means another version: ") {
		t.Errorf("removed from another version: %v", err)
	}
	ok(s.RemoveTag(t.Context(), acme, "@acme/lead", "stable", ""))
	// The tag command of the original sends all custom tags, without latest, or with it.
	for _, c := range []struct {
		key  string
		tags []string
		want []string
	}{
		{"@acme/lead@2.0.0", []string{"beta", "next"}, []string{"latest", "beta", "next"}},
		{"@acme/lead@2.0.0", []string{"latest", "next"}, []string{"latest", "next"}},
		{"@acme/lead@1.0.0", []string{"next"}, []string{"next"}},
		{"@acme/lead@2.0.0", []string{}, []string{"latest"}},
	} {
		rec, err := s.Update(t.Context(), acme, c.key, Update{Tags: &c.tags})
		if err != nil || !slices.Equal(rec.Tags, c.want) {
			t.Errorf("%v: %v %v", c.tags, rec.Tags, err)
		}
	}
	tag := func(tag, old, to string) tlog.Leaf {
		return tlog.Leaf{Kind: tlog.Tagged, Name: "@acme/lead", Tag: tag, Old: old, New: to}
	}
	want := []tlog.Leaf{
		tag("stable", "2.0.0", "1.0.0"), tag("stable", "1.0.0", ""), tag("beta", "", "2.0.0"), tag("next", "", "2.0.0"),
		tag("beta", "2.0.0", ""), tag("next", "2.0.0", "1.0.0"),
	}
	if diff := cmp.Diff(want, s.leavesFrom(before)); diff != "" {
		t.Error(diff)
	}
	if got := s.meaning("@acme/lead@next"); got != "1.0.0" {
		t.Error(got)
	}
	many := strings.Split("a b c d e f g h", " ")
	if _, err := s.Update(t.Context(), acme, "@acme/lead@1.0.0", Update{Tags: &many}); err != nil {
		t.Error(err)
	}
	set := func(by Actor, key string, tags ...string) error {
		_, err := s.Update(t.Context(), by, key, Update{Tags: &tags})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"latest":         {set(acme, "@acme/lead@1.0.0", "latest"), "400 Cannot manually set latest tag"},
		"set latest":     {s.SetTag(t.Context(), acme, "@acme/lead", "latest", "1.0.0"), "400 Cannot manually set latest tag"},
		"remove latest":  {s.RemoveTag(t.Context(), acme, "@acme/lead", "latest", ""), "400 Cannot remove latest tag from latest version"},
		"foreign":        {set(other, "@acme/lead@1.0.0", "a"), "400 Expert is not owned by the organization"},
		"administrator":  {set(Operator(), "@acme/lead@1.0.0", "a"), "400 Expert is not owned by the organization"},
		"no key":         {set(Actor{}, "@acme/lead@1.0.0", "a"), "401 Failed to authenticate"},
		"no version":     {set(acme, "@acme/lead", "a"), "422 version required"},
		"unknown":        {set(acme, "@acme/none@1.0.0", "a"), "404 Expert not found"},
		"other version":  {set(acme, "@acme/lead@9.0.0", "a"), "404 Expert not found"},
		"bad tag":        {set(acme, "@acme/lead@1.0.0", "A"), `422 "A" is not a tag`},
		"version as tag": {s.SetTag(t.Context(), acme, "@acme/lead", "1.0.0", "1.0.0"), `422 "1.0.0" is not a tag`},
		"bad version":    {s.SetTag(t.Context(), acme, "@acme/lead", "a", "one"), `422 "one" is not a version`},
		"nine":           {s.SetTag(t.Context(), acme, "@acme/lead", "i", "1.0.0"), "422 a version can have 8 tags"},
		"nine at once":   {set(acme, "@acme/lead@1.0.0", append(many, "i")...), "422 a version can have 8 tags"},
		"no such tag":    {s.RemoveTag(t.Context(), acme, "@acme/lead", "none", ""), "404 Tag not found"},
		"nothing":        {second(s.Update(t.Context(), acme, "@acme/lead@1.0.0", Update{})), "422 there is nothing to change"},
	} {
		if !strings.HasPrefix(reason(c.err), c.want) {
			t.Errorf("%s: %s", name, reason(c.err))
		}
	}
}

func testStatus(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "2.0.0"), "stable")
	before := s.checkpoint().Size
	set := func(by Actor, key, status string) string {
		_, err := s.Update(t.Context(), by, key, Update{Status: &api.SetStatus{Status: status, Message: "Use 3.", ReplacedBy: "@acme/lead@3.0.0"}})
		return reason(err)
	}
	for _, c := range []struct {
		by             Actor
		status         string
		want           string
		latest, stable string
	}{
		{acme, "available", "400 Status is the same as the current status", "2.0.0", "2.0.0"},
		{other, "disabled", "400 Expert is not owned by the organization", "2.0.0", "2.0.0"},
		{Actor{}, "disabled", "401 Failed to authenticate", "2.0.0", "2.0.0"},
		{acme, "quarantined", `422 "quarantined" is not a status; use available, deprecated or disabled`, "2.0.0", "2.0.0"},
		{acme, "deprecated", "<nil>", "1.0.0", "2.0.0"},
		{acme, "deprecated", "400 Status is the same as the current status", "1.0.0", "2.0.0"},
		{acme, "available", "400 Cannot change deprecated expert to available", "1.0.0", "2.0.0"},
		{acme, "disabled", "<nil>", "1.0.0", "404 Expert not found"},
		{acme, "available", "400 Cannot change status of disabled expert", "1.0.0", "404 Expert not found"},
		{acme, "disabled", "400 Cannot change status of disabled expert", "1.0.0", "404 Expert not found"},
		{Operator(), "available", "<nil>", "2.0.0", "2.0.0"}, // within 72 hours
		{acme, "disabled", "<nil>", "1.0.0", "404 Expert not found"},
	} {
		if got := set(c.by, "@acme/lead@2.0.0", c.status); got != c.want {
			t.Errorf("%s: %s", c.status, got)
		}
		if latest, stable := s.meaning("@acme/lead"), s.meaning("@acme/lead@stable"); latest != c.latest || stable != c.stable {
			t.Errorf("%s: latest %s, stable %s", c.status, latest, stable)
		}
	}
	s.time = s.time.Add(undoTime + time.Second)
	if got := set(Operator(), "@acme/lead@2.0.0", "available"); got != "400 Cannot change status of disabled expert" {
		t.Error(got)
	}
	rec, err := s.Get(t.Context(), Actor{}, "@acme/lead@2.0.0") // locked users need it
	if err != nil || rec.Status != api.Disabled || rec.StatusMessage != "Use 3." || rec.ReplacedBy != "@acme/lead@3.0.0" || rec.Content == nil {
		t.Errorf("%+v %v", rec, err)
	}
	if _, err := s.publish(acme, content("@acme/user", "1.0.0", "@acme/lead@2.0.0")); reason(err) != "400 Delegate expert not found: @acme/lead@2.0.0" {
		t.Error(err)
	}
	var states []string
	for _, leaf := range s.leavesFrom(before) {
		if leaf.Kind != tlog.StatusChanged || !strings.HasPrefix(leaf.Message, "sha256:") {
			t.Errorf("%+v", leaf)
		}
		states = append(states, leaf.Old+" "+leaf.New)
	}
	if diff := cmp.Diff([]string{"available deprecated", "deprecated disabled", "disabled available", "available disabled"}, states); diff != "" {
		t.Error(diff)
	}
	// An Expert whose versions are all disabled is in no list.
	if got := set(acme, "@acme/lead@1.0.0", "disabled"); got != "<nil>" {
		t.Error(got)
	}
	if _, _, err := s.Versions(t.Context(), Actor{}, "@acme/lead"); reason(err) != "404 Latest version not found" {
		t.Error(err)
	}
	if page, err := s.Search(t.Context(), Actor{}, Search{}); err != nil || len(page.Experts) != 0 {
		t.Errorf("%v %v", page, err)
	}
}

func testUnpublish(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	s.mustPublish(acme, content("@acme/reader", "1.0.0"), "stable")
	s.mustPublish(acme, content("@acme/lead", "1.0.0", "@acme/reader"))
	s.mustPublish(acme, content("@acme/lead", "2.0.0"), "stable", "new")
	unpublish := func(by Actor, key string) string { return reason(s.Unpublish(t.Context(), by, key)) }
	for _, c := range []struct {
		by   Actor
		key  string
		want string
	}{
		{acme, "@acme/lead", "422 version required"},
		{acme, "@acme/none@1.0.0", "404 Expert not found"},
		{acme, "@acme/lead@1.0.1", "404 Expert not found"},
		{other, "@acme/lead@1.0.0", "400 Expert is not owned by the organization"},
		{Actor{}, "@acme/lead@1.0.0", "401 Failed to authenticate"},
		{acme, "@acme/reader@1.0.0", "400 Expert is delegated to other experts"},
	} {
		if got := unpublish(c.by, c.key); got != c.want {
			t.Errorf("%s: %s", c.key, got)
		}
	}
	before := s.checkpoint().Size
	if got := unpublish(acme, "@acme/lead@2.0.0"); got != "<nil>" {
		t.Error(got)
	}
	want := []tlog.Leaf{
		{Kind: tlog.Tagged, Name: "@acme/lead", Tag: "new", Old: "2.0.0"},
		{Kind: tlog.Tagged, Name: "@acme/lead", Tag: "stable", Old: "2.0.0"},
		{Kind: tlog.Removed, Name: "@acme/lead", Version: "2.0.0", Reason: "owner"},
	}
	if diff := cmp.Diff(want, s.leavesFrom(before)); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"@acme/lead@2.0.0": "404 Expert not found", "@acme/lead@stable": "404 Expert not found", "@acme/lead": "1.0.0"} {
		if got := s.meaning(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	if got := unpublish(acme, "@acme/lead@2.0.0"); got != "404 Expert not found" {
		t.Error(got)
	}
	// The number is burnt, and the package shows so.
	if _, err := s.publish(acme, content("@acme/lead", "2.0.0")); reason(err) != "400 Version 2.0.0 is already published" {
		t.Error(err)
	}
	p, err := s.Package(t.Context(), Actor{}, "@acme/lead")
	if err != nil || len(p.Versions) != 2 || p.Versions[0].Status != api.Unpublished || p.Latest != "1.0.0" {
		t.Errorf("%+v %v", p, err)
	}
	// A version that no longer exists does not hold its delegates.
	if got := unpublish(acme, "@acme/lead@1.0.0"); got != "<nil>" {
		t.Error(got)
	}
	if _, _, err := s.Versions(t.Context(), Actor{}, "@acme/lead"); reason(err) != "404 Expert not found" {
		t.Error(err)
	}
	s.time = s.time.Add(undoTime + time.Second)
	if got := unpublish(acme, "@acme/reader@1.0.0"); !strings.HasPrefix(got, "400 A version can be unpublished for 72 hours") {
		t.Error(got)
	}
	if got := unpublish(Operator(), "@acme/reader@1.0.0"); got != "<nil>" {
		t.Error(got)
	}
	// A deleted name stays with its organization.
	s.mustPublish(acme, content("@acme/reader", "1.0.1"))
}

func testTransfer(t *testing.T, s *site) {
	ana, ben, acme := s.org("ana", Personal), s.org("ben", Personal), s.org("acme", Team)
	ana.Scopes, acme.Scopes = Scopes(), Scopes()
	heir, limited := ben, ben
	heir.Scopes, limited.Scopes, limited.Patterns = Scopes(), Scopes(), []string{"writer"}
	s.mustPublish(ana, content("writer", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	for _, c := range []struct {
		by       Actor
		name, to string
		want     string
		done     bool
	}{
		{by: ben, name: "writer", to: "ben", want: "401 Failed to authenticate"},
		{by: acme, name: "writer", to: "ben", want: "400 Expert is not owned by the organization"},
		{by: acme, name: "writer", to: "acme", want: "400 The Expert was not offered to acme"},
		{by: ana, name: "writer", to: "acme", want: "400 Expert name must be scoped"},
		{by: acme, name: "@acme/lead", to: "ana", want: "400 Expert name cannot be scoped"},
		{by: ana, name: "writer", to: "ana", want: "400 The Expert belongs to ana already"},
		{by: ana, name: "writer", to: "none", want: "404 Organization not found"},
		{by: ana, name: "none", to: "ben", want: "404 Expert not found"},
		{by: heir, name: "none", to: "ben", want: "404 Expert not found"},
		{by: heir, name: "writer", to: "ben", want: "400 The Expert was not offered to ben"},
		{by: ana, name: "writer", to: "ben", want: "<nil>"},
		{by: acme, name: "writer", to: "acme", want: "400 The Expert was not offered to acme"},
		{by: limited, name: "writer", to: "ben", want: "401 Failed to authenticate"},
		{by: heir, name: "writer", to: "ben", want: "<nil>", done: true},
		{by: heir, name: "writer", to: "ben", want: "400 The Expert belongs to ben already"},
		{by: ana, name: "writer", to: "ben", want: "400 Expert is not owned by the organization"},
	} {
		if done, err := s.Transfer(t.Context(), c.by, c.name, c.to); reason(err) != c.want || done != c.done {
			t.Errorf("%s to %s: %s", c.name, c.to, reason(err))
		}
	}
	want := []tlog.Leaf{{Kind: tlog.Transferred, Name: "writer", Old: ana.OrgID, New: ben.OrgID}}
	if diff := cmp.Diff(want, s.leavesFrom(5)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.publish(ana, content("writer", "1.1.0")); reason(err) != "400 Expert writer already exists" {
		t.Error(err)
	}
	s.mustPublish(ben, content("writer", "1.1.0"))
	p, err := s.Package(t.Context(), Actor{}, "writer")
	if err != nil || p.Owner.Name != "ben" || p.Versions[0].PublishedBy != "ben" || p.Versions[1].PublishedBy != "ana" {
		t.Errorf("%+v %v", p, err)
	}
}

// An offer ends: by itself, when it is taken back or declined, and when the Expert has another owner.
func testOffers(t *testing.T, s *site) {
	ana, ben, eve := s.org("ana", Personal), s.org("ben", Personal), s.org("eve", Personal)
	for _, by := range []*Actor{&ana, &ben, &eve} {
		by.Scopes = Scopes()
	}
	s.mustPublish(ana, content("writer", "1.0.0"))
	refused := func(by Actor) {
		t.Helper()
		if done, err := s.Transfer(t.Context(), by, "writer", by.OrgName); done || !strings.HasPrefix(reason(err), "400 The Expert was not offered to ") {
			t.Error(done, err)
		}
	}
	offer := func(to string) {
		t.Helper()
		if done, err := s.Transfer(t.Context(), ana, "writer", to); done || err != nil {
			t.Error(done, err)
		}
	}
	offer("ben")
	s.time = s.time.Add(offerLifetime)
	refused(ben)
	offer("ben")
	if err := s.EndTransfer(t.Context(), eve, "writer"); reason(err) != "404 The Expert is not offered" {
		t.Error(err)
	}
	for _, by := range []Actor{ana, ben} {
		offer("ben")
		if err := s.EndTransfer(t.Context(), by, "writer"); err != nil {
			t.Error(err)
		}
		refused(ben)
	}
	offer("ben")
	offer("eve") // in place of the other
	refused(ben)
	if done, err := s.Transfer(t.Context(), Operator(), "writer", "ben"); !done || err != nil {
		t.Error(done, err)
	}
	refused(eve)
	if all, err := s.Transfers(t.Context(), eve); err != nil || all != nil {
		t.Error(all, err)
	}
}

// Names count for their first publisher. An organization that gives them away cannot take others for them, and some are
// exempt.
func testNewNames(t *testing.T, s *site) {
	s.opts.NewNamesPerDay = 2
	ana, ben := s.org("ana", Personal), s.org("ben", Personal)
	for _, name := range []string{"first-one", "other-one"} {
		s.mustPublish(ana, content(name, "1.0.0"))
		if _, err := s.Transfer(t.Context(), Operator(), name, "ben"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.publish(ana, content("third-one", "1.0.0")); reason(err) != "429 An organization can publish 2 new names a day" {
		t.Error(err)
	}
	s.mustPublish(ben, content("fourth-one", "1.0.0")) // those that it was given do not count
	if err := s.ExemptNames(t.Context(), ana, "ana", true); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if err := s.ExemptNames(t.Context(), Operator(), "ana", true); err != nil {
		t.Error(err)
	}
	s.mustPublish(ana, content("third-one", "1.0.0"))
	if err := s.ExemptNames(t.Context(), Operator(), "ana", false); err != nil {
		t.Error(err)
	}
	if _, err := s.publish(ana, content("sixth-one", "1.0.0")); reason(err) != "429 An organization can publish 2 new names a day" {
		t.Error(err)
	}
}

func testPolicy(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	acme.Scopes, other.Scopes = Scopes(), Scopes()
	private, none := api.Private, "hidden"
	signers := []string{"SHA256:" + strings.Repeat("a", 43)}
	wrong := []string{"MD5:1"}
	for name, c := range map[string]struct {
		by   Actor
		org  string
		p    Policy
		want string
	}{
		"nothing":    {acme, "", Policy{}, "422 there is nothing to change"},
		"visibility": {acme, "", Policy{Visibility: &none}, `422 "hidden" is not a visibility`},
		"signers":    {acme, "", Policy{Signers: &wrong}, `422 "MD5:1" is not the fingerprint of an SSH key`},
		"foreign":    {other, "acme", Policy{Signers: &signers}, "401 Failed to authenticate"},
		"done":       {acme, "", Policy{Visibility: &private, Signers: &signers}, "<nil>"},
	} {
		if got := reason(s.SetPolicy(t.Context(), c.by, c.org, c.p)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if diff := cmp.Diff([]tlog.Leaf{{Kind: tlog.PolicyChanged, Org: acme.OrgID, New: signers[0]}}, s.leavesFrom(2)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.publish(acme, content("@acme/lead", "1.0.0")); reason(err) != "400 The organization publishes signed versions only" {
		t.Error(err)
	}
	if _, err := s.Publish(t.Context(), acme, signed(t, content("@acme/lead", "1.0.0")), PublishOptions{}); !strings.HasPrefix(reason(err), "400 The key SHA256:") {
		t.Error(err)
	}
	if err := s.SetPolicy(t.Context(), Operator(), "acme", Policy{Signers: &[]string{}}); err != nil {
		t.Error(err)
	}
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	if got := s.meaning("@acme/lead"); got != "404 Expert not found" {
		t.Errorf("it is not private: %s", got)
	}
}
