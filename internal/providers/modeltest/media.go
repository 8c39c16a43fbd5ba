package modeltest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// leftOut is how a model is told that a part cannot be sent.
const leftOut = "was left out"

// shown is a conversation with a medium in it. taken says whether the wire can send it;
// else the model is told.
func shown(taken bool, data string, k Talk) Talk {
	k.Tools, k.Want = tools, []Reading{called(Call{"c1", "read", `{"path":"a"}`}), spoke("Done.")}
	k.Script = oneCall
	if taken {
		k.Has, k.Lacks = append(k.Has, data), append(k.Lacks, leftOut)
	} else {
		k.Has, k.Lacks = append(k.Has, leftOut), append(k.Lacks, data)
	}
	return k
}

func mediaCases() []Case {
	byUser := func(parts ...event.Part) Talk {
		return Talk{Said: []Say{User(append([]event.Part{Text("Look:")}, parts...)...), Results(Result(Text("A")))}}
	}
	byTool := func(parts ...event.Part) Talk {
		return Talk{Said: []Say{User(Text("Look.")), Results(Result(append([]event.Part{Text("here")}, parts...)...))}}
	}
	link := func(kind event.PartType, mime, url string) event.Part {
		return event.Part{Type: kind, MIMEType: mime, URL: url}
	}
	const inside = "https://intranet.example/a.png?token=abc"
	return []Case{
		{Name: "an image of the user", Golden: true, Talk: func(w Traits) Talk { return shown(w.Image, png, byUser(image("image/png", png), Text("Well?"))) }},
		{Name: "a PDF of the user", Golden: true, Talk: func(w Traits) Talk { return shown(w.PDF, pdf, byUser(file("application/pdf", pdf))) }},
		{Name: "an image of a tool", Golden: true, Talk: func(w Traits) Talk { return shown(w.ResultImage, png, byTool(image("image/png", png))) }},
		{Name: "a PDF of a tool", Golden: true, Talk: func(w Traits) Talk { return shown(w.ResultPDF, pdf, byTool(file("application/pdf", pdf))) }},
		{Name: "an image of a tool that failed", Talk: func(w Traits) Talk {
			k := shown(w.ResultImage, png, Talk{Said: []Say{User(Text("Look.")), Results(Failed(Text("blurred"), image("image/png", png)))}})
			return k
		}},
		{Name: "an image called something else", Talk: func(w Traits) Talk {
			k := shown(w.Image, png, byUser(image("image/jpeg", png)))
			k.Lacks = append(k.Lacks, "data:image/jpeg", `:"image/jpeg"`, `"format":"jpeg"`)
			return k
		}},
		{Name: "an image that is none", Talk: Always(shown(false, "bm90IGFuIGltYWdl", byUser(image("image/x-unknown", "bm90IGFuIGltYWdl"))))},
		{Name: "data that is no base64", Talk: Always(shown(false, "!!!", byUser(image("image/png", "!!!"))))},
		{Name: "a text file of the user", Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"Done.\"\n", Said: []Say{User(Text("Read:"), file("text/markdown", note))}, Want: []Reading{spoke("Done.")},
			Any: []string{note, "Three open points.", leftOut},
		})},
		{Name: "more images than a request takes", Skip: heavy, Check: checkAlbum},
		{Name: "what would be left out is known before", Check: checkMedia},
		{Name: "an image by address", Golden: true, Talk: func(w Traits) Talk {
			return shown(w.ImageURL, "https://pictures.internal/a.png", byUser(link(event.ImageURLPart, "image/png", "https://pictures.internal/a.png")))
		}},
		// A skill without network would reach out by it.
		{Name: "an address of a tool goes nowhere", Talk: Always(shown(false, "intranet.example", byTool(
			link(event.ImageURLPart, "image/png", inside), link(event.FileURLPart, "application/pdf", "https://intranet.example/a.pdf"))))},
		{Name: "an address that is not of the web", Talk: Always(shown(false, "passwd", byUser(link(event.FileURLPart, "application/pdf", "file:///etc/passwd"))))},
	}
}

// checkMedia asks whether a message can be sent, and sends it: the model says no if, and only if,
// something is left out. So a file that a user attaches is never left out in silence.
func checkMedia(t *testing.T, s *Subject) {
	sized := func(head string, size int) string {
		data, err := base64.StdEncoding.DecodeString(head)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(append(data, strings.Repeat(" ", size-len(data))...))
	}
	for name, tt := range map[string]struct {
		parts []event.Part
		taken bool // by what is known of the wire; anything goes if any is set
		any   bool
	}{
		"nothing":         {parts: nil, taken: true},
		"an image":        {parts: []event.Part{image("image/png", png)}, taken: s.Image},
		"a PDF":           {parts: []event.Part{file("application/pdf", pdf)}, taken: s.PDF},
		"text":            {parts: []event.Part{file("text/plain", note)}, taken: true},
		"another image":   {parts: []event.Part{image("image/gif", "R0lGODlhAQABAAAAACw=")}, any: true},
		"a large image":   {parts: []event.Part{image("image/png", sized(png, 4_500_000))}, any: true},
		"a large PDF":     {parts: []event.Part{file("application/pdf", sized(pdf, 5_000_000))}, any: true},
		"six PDFs":        {parts: slices.Repeat([]event.Part{file("application/pdf", pdf)}, 6), any: true},
		"twenty images":   {parts: slices.Repeat([]event.Part{image("image/png", png)}, 20), taken: s.Image},
		"something else":  {parts: []event.Part{file("application/zip", "UEsDBA==")}},
		"an archive last": {parts: []event.Part{file("text/plain", note), file("application/zip", "UEsDBA==")}},
	} {
		server, root := Serve(t, "[[turn]]\ntext = \"Seen.\"\n")
		m := s.Open(t, Place{Root: root})
		checker, ok := m.(model.MediaChecker)
		if !ok {
			t.Fatalf("%T does not know what it can be sent", m)
		}
		err := checker.CheckMedia("e", tt.parts)
		if err != nil {
			if refused, ok := errors.AsType[*model.MediaError](err); !ok || refused.Part >= len(tt.parts) || refused.Why == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !tt.any && (err == nil) != tt.taken {
			t.Errorf("%s: %v, want it to be taken: %v", name, err, tt.taken)
		}
		req := &model.Request{Messages: User(append([]event.Part{Text("Look:")}, tt.parts...)...)(nil)}
		if got, _, err := Ask(t.Context(), t, m, req); err != nil || got.Text != "Seen." {
			t.Errorf("%s: %q, %v", name, got.Text, err)
			continue
		}
		if left := strings.Contains(string(server.Requests()[0].Raw), leftOut); left != (err != nil) {
			t.Errorf("%s: that something is left out is %v, and the model said: %v", name, left, err)
		}
	}
	// What all images have together is bounded, too: no provider takes a request of 100 MB.
	_, root := Serve(t, "[[turn]]\ntext = \"Seen.\"\n")
	many := slices.Repeat([]event.Part{image("image/png", sized(png, 3_500_000))}, 20)
	if err := s.Open(t, Place{Root: root}).(model.MediaChecker).CheckMedia("e", many); err == nil {
		t.Error("images of 70 MB are taken")
	}
}

// checkAlbum sends a conversation with more images than any API takes in one request. The
// newest is what the model is asked about, and is sent; of the others it is told.
func checkAlbum(t *testing.T, s *Subject) {
	const many, size = 16, 2_500_000
	server, root := Serve(t, "[[turn]]\ntext = \"Seen.\"\n")
	req := &model.Request{}
	var last string
	for i := range many {
		data, err := base64.StdEncoding.DecodeString(png)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, strings.Repeat(fmt.Sprintf("%04d", i), size/4)...)
		last = base64.StdEncoding.EncodeToString(data)
		req.Messages = append(req.Messages, User(image("image/png", last), Text(fmt.Sprintf("image %02d", i)))(nil)...)
	}
	got, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req)
	if err != nil || got.Text != "Seen." {
		t.Fatalf("%q, %v", got.Text, err)
	}
	body := string(server.Requests()[0].Raw)
	if strings.Contains(body, last) != s.Image || !strings.Contains(body, leftOut) {
		t.Errorf("that the last image is in a request of %d bytes is %v, want %v; that some are left out is %v", len(body), !s.Image, s.Image, strings.Contains(body, leftOut))
	}
	if !strings.Contains(body, "image 00") {
		t.Error("the words of the first message are gone")
	}
}
