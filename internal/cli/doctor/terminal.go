package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// terminal says what perstack knows about the terminal.
func (x *examination) terminal() []Check {
	h := x.host
	c := Check{ID: "terminal", Title: "terminal", Status: OK}
	if !h.StdoutIsTerminal {
		c.Status, c.Detail = Info, "the output goes to a file or a pipe, so that runs print JSON"
		return []Check{c}
	}
	parts := []string{fmt.Sprintf("%d columns", h.Width)}
	switch {
	case h.Getenv("NO_COLOR") != "":
		parts = append(parts, "no colours (NO_COLOR)")
	case h.Getenv("TERM") == "dumb":
		parts = append(parts, "no colours (TERM=dumb)")
	default:
		parts = append(parts, "colours")
	}
	locale := strings.ToLower(cmp.Or(h.Getenv("LC_ALL"), h.Getenv("LC_CTYPE"), h.Getenv("LANG"), "utf-8"))
	if strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") {
		parts = append(parts, "UTF-8")
	} else {
		c.Status, c.Fix = Warn, "set LANG to a UTF-8 locale, such as C.UTF-8"
		parts = append(parts, "not UTF-8: symbols are written in ASCII")
	}
	if !h.StdinIsTerminal {
		parts = append(parts, "no keyboard: questions are not asked")
	}
	c.Detail = strings.Join(parts, ", ")
	return []Check{c}
}

// proxies shows the proxies that the environment names, without user and password.
func (x *examination) proxies() (all []Check) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			value := x.host.Getenv(name)
			if value == "" {
				continue
			}
			if !strings.Contains(value, "://") {
				value = "http://" + value
			}
			all = append(all, Check{ID: "proxy." + name, Title: "proxy", Status: Info, Detail: name + " is " + host.Address(value)})
		}
	}
	if len(all) == 0 {
		return []Check{{ID: "proxy", Title: "proxies", Status: Info, Detail: "none is set"}}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if value := x.host.Getenv(name); value != "" {
			all = append(all, Check{ID: "proxy." + name, Title: "proxy", Status: Info, Detail: name + " is " + value})
		}
	}
	return all
}
