// Package bench measures the product against limits that are measured beside
// it, in the same run on the same machine: machines are noisy, ratios are not.
//
// A goal names what is measured, what it is compared with, and how good the
// ratio has to be. Goals live in one package per area below this one; cmd/bench
// runs them and prints the report.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// A Goal is one claim about the product.
type Goal struct {
	ID    string // As the performance page names it, such as "P1".
	Title string

	// Ratio says what Measure divides by what, in words.
	Ratio string

	// Must is the bound of the ratio: at least that much, or at most if AtMost.
	Must   float64
	AtMost bool

	// Run measures. It reports progress to env.Progress.
	Run func(ctx context.Context, env *Env) (Measure, error)
}

// An Env is what goals measure on.
type Env struct {
	// PostgresDSN names a server that goals make databases of their own on.
	PostgresDSN string

	// Scale multiplies the default sizes; 1 is what fits ten minutes in all.
	Scale float64

	Progress io.Writer
}

// Scaled returns a size at the run's scale, at least one.
func (e *Env) Scaled(size int) int { return max(1, int(float64(size)*e.Scale)) }

// Sizes returns growing sizes at the run's scale, each only once.
func (e *Env) Sizes(sizes []int) []int {
	scaled := make([]int, 0, len(sizes))
	for _, size := range sizes {
		scaled = append(scaled, e.Scaled(size))
	}
	return slices.Compact(scaled)
}

// Logf reports progress.
func (e *Env) Logf(format string, args ...any) { fmt.Fprintf(e.Progress, "   "+format+"\n", args...) }

// A Measure is what one goal found.
type Measure struct {
	Value float64 `json:"value"` // What the product does.
	Limit float64 `json:"limit"` // What the machine does at best, or the bound the value is held against.
	Unit  string  `json:"unit"`

	// Notes are further figures, each a line.
	Notes []string `json:"notes,omitempty"`

	// Curve is how the value grows, where growth is what is measured.
	Curve *Curve `json:"curve,omitempty"`
}

// Ratio is the value in parts of the limit.
func (m Measure) Ratio() float64 { return m.Value / m.Limit }

// A Result is a goal with what was measured.
type Result struct {
	ID      string        `json:"id"`
	Title   string        `json:"title"`
	Means   string        `json:"means"` // What is divided by what.
	Measure Measure       `json:"measure"`
	Ratio   float64       `json:"ratio"`
	Must    float64       `json:"must"`
	AtMost  bool          `json:"atMost"`
	Pass    bool          `json:"pass"`
	Took    time.Duration `json:"tookNanoseconds"`
	Err     string        `json:"error,omitempty"`
}

// Meets reports whether a ratio is good enough for the goal.
func (g Goal) Meets(ratio float64) bool {
	if g.AtMost {
		return ratio <= g.Must
	}
	return ratio >= g.Must
}

// Run measures the goals one after another: two at once would measure each
// other. A goal that fails to measure is a result that does not pass.
func Run(ctx context.Context, env *Env, goals []Goal, now func() time.Time) []Result {
	results := make([]Result, 0, len(goals))
	for _, g := range goals {
		fmt.Fprintf(env.Progress, "== %s %s\n", g.ID, g.Title)
		began := now()
		m, err := g.Run(ctx, env)
		r := Result{ID: g.ID, Title: g.Title, Means: g.Ratio, Measure: m, Must: g.Must, AtMost: g.AtMost, Took: now().Sub(began)}
		if err != nil {
			r.Err = err.Error()
		} else {
			r.Ratio = m.Ratio()
			r.Pass = g.Meets(r.Ratio)
		}
		fmt.Fprintf(env.Progress, "   %s\n", &r)
		results = append(results, r)
	}
	return results
}

// String is the result on one line.
func (r *Result) String() string {
	if r.Err != "" {
		return fmt.Sprintf("%s: could not be measured: %s", r.ID, r.Err)
	}
	return fmt.Sprintf("%s: %s of %s %s = %s (must be %s): %s",
		r.ID, figure(r.Measure.Value), figure(r.Measure.Limit), r.Measure.Unit, figure(r.Ratio), r.bound(), r.verdict())
}
