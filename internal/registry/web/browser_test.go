package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/testkit"
)

// browse opens a tab of a real Chromium. The test fails if a page opens a dialog, or tries what its policy
// forbids.
func browse(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is started")
	}
	testkit.Need(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...) // it ends in a cleanup
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	watch, ended := context.WithCancel(ctx)
	messages, dialogs := chromedp.Console(watch), chromedp.Events(watch, page.JavascriptDialogOpening)
	var readers sync.WaitGroup
	readers.Go(func() {
		for m, err := range messages {
			if err == nil && (m.IsException() || m.Type == "error" && m.Source != "network") {
				t.Errorf("the browser complains: %s", m)
			}
		}
	})
	readers.Go(func() {
		for d, err := range dialogs {
			if err == nil {
				t.Errorf("a dialog: %s", d.Message)
			}
		}
	})
	t.Cleanup(func() {
		ended()
		readers.Wait()
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return ctx
}

// do carries out steps.
func do(ctx context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// ask returns what an expression is on the page.
func ask[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// prefer lets the page be shown in the light or in the dark.
func prefer(ctx context.Context, t *testing.T, scheme string) {
	t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
}

// outline lists what a page shows, in its order, with what stands below the search instead of beside it.
const outline = `(() => {
	const lines = [];
	for (const e of document.querySelectorAll("nav, form, h1, h2, h3, a, label, input, button, summary, th, svg")) {
		const text = e.tagName == "INPUT" ? e.value : ["NAV", "FORM", "svg"].includes(e.tagName) ? "" : e.textContent.trim().replace(/\s+/g, " ");
		lines.push(e.tagName.toLowerCase() + (text ? " " + text : ""));
	}
	const nav = document.querySelector("nav").getBoundingClientRect(), form = document.querySelector("form").getBoundingClientRect();
	lines.push("search " + (form.top >= nav.bottom ? "below" : "beside") + " the navigation");
	return lines.join("\n") + "\n";
})()`

// Every page fits a phone and a large screen, in light and in dark, and has the same parts in the same order.
func TestBrowserOutline(t *testing.T) {
	r := start(t)
	team(t, r)
	ctx := browse(t)
	for name, path := range map[string]string{
		"home": "/", "expert": "/e/@acme/researcher", "compare": "/e/@acme/researcher/compare/1.0.0...1.1.0", "organization": "/o/acme",
	} {
		for _, width := range []int64{360, 1280} {
			prefer(ctx, t, "light")
			do(ctx, t, chromedp.EmulateViewport(width, 800), chromedp.Navigate(r.URL+path))
			if wide := ask[int64](ctx, t, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("%s at %d pixels is %d wide", name, width, wide)
			}
			light, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			got := ask[string](ctx, t, outline)
			prefer(ctx, t, "dark")
			dark, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if brightness(t, light) < 200 || brightness(t, dark) > 60 {
				t.Errorf("%s: the brightness is %d in the light and %d in the dark", name, brightness(t, light), brightness(t, dark))
			}
			testkit.Golden(t, fmt.Sprintf("%s-%d.txt", name, width), got)
		}
	}
}

// brightness returns that of most of a picture, from 0 to 255.
func brightness(t *testing.T, picture []byte) uint8 {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	count := map[uint8]int{}
	var most uint8
	for y := 0; y < img.Bounds().Dy(); y += 4 {
		for x := 0; x < img.Bounds().Dx(); x += 4 {
			level := color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y
			if count[level]++; count[level] > count[most] {
				most = level
			}
		}
	}
	return most
}

// A reader without a mouse finds, opens and compares Experts, and sees where the focus is.
func TestBrowserKeyboard(t *testing.T) {
	r := start(t)
	team(t, r)
	ctx := browse(t)
	do(ctx, t, chromedp.Navigate(r.URL+"/"))
	focus := func(want string) {
		t.Helper()
		const focused = `(() => { const e = document.activeElement; return e.tagName.toLowerCase() + " " + (e.id || e.textContent.trim()) + "|" + getComputedStyle(e).outlineStyle; })()`
		var at string
		for range 60 {
			do(ctx, t, chromedp.KeyEvent(kb.Tab))
			at = ask[string](ctx, t, focused)
			name, ring, _ := strings.Cut(at, "|")
			if ring == "none" {
				t.Fatalf("the focus on %q cannot be seen", name)
			}
			if name == want {
				return
			}
		}
		t.Fatalf("the Tab key does not lead to %q; it is at %q", want, at)
	}
	enter := func(title string) {
		t.Helper()
		loaded := chromedp.WaitEvent(page.LoadEventFired, func(page.EventLoadEventFired) bool { return true }, chromedp.KeyEvent(kb.Enter))
		if _, err := chromedp.Run(ctx, loaded); err != nil {
			t.Fatal(err)
		}
		if got := ask[string](ctx, t, "document.title"); !strings.HasPrefix(got, title) {
			t.Fatalf("Enter leads to %q, not to %q", got, title)
		}
	}
	focus("input q")
	do(ctx, t, chromedp.KeyEvent("science"))
	enter("Search: science")
	focus("a @acme/researcher")
	enter("@acme/researcher@1.1.0")
	focus("a Compare with 1.0.0")
	enter("@acme/researcher 1.0.0 and 1.1.0")
}

// Published text that is markup, a script, right to left or very long is shown as text, within the page.
func TestBrowserHostile(t *testing.T) {
	r := start(t)
	hostile := `<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)> שלום עולם ` + strings.Repeat("verylong", 200)
	publish(t, r, define("@acme/evil@1.0.0", func(d *definition.Definition) {
		d.Description, d.Instruction, d.Extensions.Readme = hostile, hostile, hostile+"\n\n```\n"+hostile+"\n```\n\n|"+hostile+"|\n|---|\n|"+hostile+"|\n"
	}))
	ctx := browse(t)
	for _, path := range []string{"/", "/e/@acme/evil", "/log"} {
		do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(r.URL+path))
		wide := ask[int64](ctx, t, "document.documentElement.scrollWidth")
		scripts := ask[int64](ctx, t, `document.querySelectorAll("script, img, [onload], [onerror]").length`)
		if wide > 360 || scripts > 0 {
			t.Errorf("%s is %d pixels wide and has %d foreign elements", path, wide, scripts)
		}
	}
}
