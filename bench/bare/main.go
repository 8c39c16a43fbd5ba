// Command bare posts prepared bodies to a model server and reads the answers: what any
// client has to do, for scale.
//
//	bare URL KEY FILE...
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	if err := post(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func post(url, key string, files []string) error {
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/messages", bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Api-Key", key)
		request.Header.Set("Anthropic-Version", "2023-06-01")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %w", file, response.Status, err)
		}
	}
	return nil
}
