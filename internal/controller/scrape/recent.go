package scrape

import (
	"crypto/sha256"
	"strings"
	"sync"
	"time"
)

const (
	// admittedFor is how long a token that has been taken away may still be used,
	// and refusedFor how long a right that has been given is still missing.
	admittedFor = time.Minute
	refusedFor  = 10 * time.Second

	// maxRemembered bounds what strangers can make the door remember.
	maxRemembered = 1024
)

// recent is what was answered lately. Of a token it holds a hash only.
type recent struct {
	mu      sync.Mutex
	answers map[[sha256.Size]byte]answer
}

type answer struct {
	status int
	until  time.Time
}

// key tells questions apart: no verb or token has a zero byte in it.
func (q question) key() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join([]string{q.token, q.verb, q.path}, "\x00")))
}

func (r *recent) recall(q question, now time.Time) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, known := r.answers[q.key()]
	return a.status, known && now.Before(a.until)
}

func (r *recent) remember(q question, status int, until, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) >= maxRemembered {
		for key, a := range r.answers {
			if !now.Before(a.until) {
				delete(r.answers, key)
			}
		}
	}
	if r.answers == nil || len(r.answers) >= maxRemembered {
		r.answers = map[[sha256.Size]byte]answer{} // All of them fresh: somebody is guessing.
	}
	r.answers[q.key()] = answer{status: status, until: until}
}
