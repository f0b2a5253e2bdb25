package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// getTimeout is long for an answer, and short for a step of a story.
const getTimeout = time.Minute

var getCommand = command{
	name:    "get",
	args:    "URL",
	summary: "Ask a server for something and print its answer, the status first.",
	details: `For a step of a story, so that it needs no curl. Whoever answers is believed:
what serves metrics signs its certificate itself.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		token := flags.String("token", "", "bearer `token` to show")
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return errors.New("get needs a URL")
			}
			return get(ctx, args[0], *token)
		}
	},
}

func get(ctx context.Context, url, token string) error {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}} // See the details.
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	fmt.Println(response.Status)
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
