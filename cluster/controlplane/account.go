package controlplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// tokenLife is longer than anybody keeps a control plane.
const tokenLife = 90 * 24 * time.Hour

// AccountKubeconfig asks for a token of a ServiceAccount, as a kubelet does for
// a pod of it, and returns a file with it. The account has to exist.
func (c *ControlPlane) AccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	token, err := c.accountToken(ctx, namespace, name)
	if err != nil {
		return "", fmt.Errorf("cannot get a token of ServiceAccount %q: %w", namespace+"/"+name, err)
	}
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: finops-test
clusters:
- name: finops-test
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: account
  user: {token: %s}
contexts:
- name: finops-test
  context: {cluster: finops-test, user: account, namespace: %q}
`, c.URL(), base64.StdEncoding.EncodeToString(c.authority.pem), token, namespace)
	file := "account-" + namespace + "-" + name + ".kubeconfig"
	return c.file(file), c.authority.writeFile(file, []byte(config))
}

func (c *ControlPlane) accountToken(ctx context.Context, namespace, name string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int(tokenLife.Seconds())},
	})
	if err != nil {
		return "", err
	}
	url := c.URL() + "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + name + "/token"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		text, err := io.ReadAll(io.LimitReader(response.Body, 500))
		return "", errors.Join(fmt.Errorf("the API server answers %s: %s", response.Status, text), err)
	}
	var answer struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("cannot read the API server's answer: %w", err)
	}
	return answer.Status.Token, nil
}
