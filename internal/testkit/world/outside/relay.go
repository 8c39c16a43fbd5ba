package outside

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// RelayPort is where the relay listens.
const RelayPort = 3128

// A relay is the proxy of a company: the only way out of many networks. It wants a
// password, any one, tells which it was shown, and leads where the name server would.
// It looks up no names, so that each query to the name server comes from another program.
type relay struct {
	*entryWriter
	liar *liar
}

// relays opens the port of the relay.
func (t *entryWriter) relays(ctx context.Context, places Places) error {
	l, err := listen(ctx, RelayPort)
	if err != nil {
		return err
	}
	r := &relay{entryWriter: t, liar: &liar{places: places, asked: map[string]int{}}}
	go accept(ctx, l, r.connection)
	return nil
}

func (r *relay) connection(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	from := conn.RemoteAddr().String()
	r.tell(Entry{Kind: KindAccept, From: from, Port: RelayPort})
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	shown, ok := strings.CutPrefix(request.Header.Get("Proxy-Authorization"), "Basic ")
	password, err := base64.StdEncoding.DecodeString(shown)
	ok = ok && err == nil
	r.tell(Entry{
		Kind: KindRequest, From: from, Port: RelayPort, Name: request.Host,
		Text: clip([]byte(request.Method+" "+request.RequestURI), 300), Body: clip(password, 300), Key: ok,
	})
	answer := func(status string) { _, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n\r\n") }
	host, port, err := net.SplitHostPort(request.RequestURI)
	switch {
	case !ok:
		answer("407 Who are you")
		return
	case err != nil || request.Method != http.MethodConnect:
		answer("405 Only CONNECT")
		return
	}
	found := r.liar.find(host, true)
	if len(found.addresses) == 0 {
		answer("502 No such name")
		return
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	target, err := d.DialContext(ctx, "tcp", net.JoinHostPort(found.addresses[0].String(), port))
	if err != nil {
		answer("502 No server")
		return
	}
	defer target.Close()
	answer("200 Connected")
	go func() {
		_, _ = io.Copy(target, reader)
		_ = target.Close()
	}()
	_, _ = io.Copy(conn, target)
}
