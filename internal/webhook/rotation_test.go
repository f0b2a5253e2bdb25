package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

// TestRotation gives the running server a certificate of another authority, as
// the kubelet does with a mounted Secret, while good and bad requests go on. In
// the documented order (trust both, change the certificate, trust the new one)
// no good one fails. In any order no bad one is ever admitted.
func TestRotation(t *testing.T) {
	local, next, stranger := apitest.NewDoor(t), apitest.NewDoor(t), apitest.NewDoor(t)
	served := local
	mounted := mount(t, local.LocalServingCertDir)
	served.LocalServingCertDir = mounted.dir
	w := serve(t, served, webhook.Settings{})
	shots := w.shoot(t)

	both := slices.Concat(local.LocalServingCAData, next.LocalServingCAData)
	w.trust(t, both)
	shots.more(t)
	mounted.swap(t, next.LocalServingCertDir)
	presents(t, served, next.LocalServingCAData)
	shots.more(t)
	w.trust(t, next.LocalServingCAData)
	shots.more(t)
	if n := shots.failed.Load(); n > 0 {
		t.Errorf("%d good requests failed in an orderly rotation, the last with: %v", n, *shots.last.Load())
	}

	// A certificate that nobody vouches for: connections that stand go on, new
	// ones are refused, and with them what they would have asked about.
	mounted.swap(t, stranger.LocalServingCertDir)
	presents(t, served, stranger.LocalServingCAData)
	w.trust(t, slices.Concat(next.LocalServingCAData, local.LocalServingCAData)) // The same, but the API server connects anew.
	eventually(t.Context(), t, "an API server that does not trust the server", func() error {
		err := w.Create(t.Context(), newOffering(w.ns, "good"), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
			return errors.Join(errors.New("it does"), err)
		}
		return nil
	})
	shots.more(t)

	mounted.swap(t, next.LocalServingCertDir)
	w.isAsked(t, true)
	shots.more(t)
	t.Logf("%d requests, %d of them failed", shots.made.Load(), shots.failed.Load())
}

// A secret is a folder in which a Secret is mounted: its files are links into
// another folder, behind a link that is renamed into place.
type secret struct{ dir string }

func mount(t *testing.T, certs string) secret {
	t.Helper()
	s := secret{t.TempDir()}
	s.swap(t, certs)
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(s.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// swap puts other files in place, all at once, and then removes the former.
func (s secret) swap(t *testing.T, certs string) {
	t.Helper()
	data := filepath.Join(s.dir, "..data")
	former, _ := os.Readlink(data) // There is none at first.
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(certs)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(folder, data+"_tmp"), os.Rename(data+"_tmp", data)); err != nil {
		t.Fatal(err)
	}
	if former != "" {
		if err := os.RemoveAll(former); err != nil {
			t.Fatal(err)
		}
	}
}

// presents waits until the server has a certificate of the authority.
func presents(t *testing.T, served apitest.Door, authority []byte) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	apitest.Eventually(t, "a server with the new certificate", func(context.Context) error {
		c, err := tls.Dial("tcp", served.Address(), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// trust tells the API server whose certificates to believe.
func (w *world) trust(t *testing.T, authority []byte) {
	t.Helper()
	for i := range w.hook.Webhooks {
		w.hook.Webhooks[i].ClientConfig.CABundle = authority
	}
	if err := w.Update(t.Context(), w.hook); err != nil {
		t.Fatal(err)
	}
}

// shots are requests that go on until the test ends: good ones, which may fail,
// and bad ones, which must not be admitted.
type shots struct {
	made, failed atomic.Int64
	last         atomic.Pointer[error] // Of the last good one that failed.
}

func (w *world) shoot(t *testing.T) *shots {
	t.Helper()
	s := &shots{}
	ctx, stop := context.WithCancel(t.Context())
	var running errgroup.Group
	for range 2 {
		running.Go(func() error {
			for ctx.Err() == nil {
				for _, bad := range []client.Object{selfParent(w.ns, "bad"), newOffering(w.ns, "bad", "bad")} {
					if err := w.Create(ctx, bad, client.DryRunAll); err == nil {
						t.Errorf("A bad %T was admitted after %d requests.", bad, s.made.Load())
					}
				}
				if err := w.Create(ctx, newOffering(w.ns, "good"), client.DryRunAll); err != nil && ctx.Err() == nil {
					s.failed.Add(1)
					s.last.Store(&err)
				}
				s.made.Add(3)
			}
			return nil
		})
	}
	t.Cleanup(func() {
		stop()
		_ = running.Wait() // It returns no errors.
	})
	return s
}

// more waits for a number of further requests.
func (s *shots) more(t *testing.T) {
	t.Helper()
	until := s.made.Load() + 60
	apitest.Eventually(t, "more requests", func(context.Context) error {
		if s.made.Load() < until {
			return errors.New("not yet")
		}
		return nil
	})
}
