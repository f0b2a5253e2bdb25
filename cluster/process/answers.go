package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Answers asks a URL for 200, and says what it answers otherwise.
func Answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 500))
	if response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("it answers %s: %s", response.Status, strings.TrimSpace(string(text))), err)
	}
	return err
}
