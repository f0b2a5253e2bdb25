package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// A Report is one run with where it was made.
type Report struct {
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"tookNanoseconds"`
	Scale   float64       `json:"scale"`
	Machine Machine       `json:"machine"`
	Results []Result      `json:"results"`
}

// Short are the results that do not pass.
func (r *Report) Short() int {
	n := 0
	for _, one := range r.Results {
		if !one.Pass {
			n++
		}
	}
	return n
}

// verdict is the result in a word.
func (r *Result) verdict() string {
	switch {
	case r.Err != "":
		return "error"
	case r.Pass:
		return "pass"
	}
	return "short"
}

// bound is what the ratio has to be.
func (r *Result) bound() string {
	if r.AtMost {
		return "<= " + figure(r.Must)
	}
	return ">= " + figure(r.Must)
}

// figure writes a number with as many digits as mean something.
func figure(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Table writes the report as a table for people.
func Table(w io.Writer, r *Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GOAL\tWHAT\tMEASURED\tLIMIT\tUNIT\tRATIO\tMUST\tRESULT\tTOOK")
	for i := range r.Results {
		one := &r.Results[i]
		took := one.Took.Round(100 * time.Millisecond)
		if one.Err != "" {
			fmt.Fprintf(t, "%s\t%s\t\t\t\t\t%s\terror\t%s\n", one.ID, one.Title, one.bound(), took)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", one.ID, one.Title, figure(one.Measure.Value), figure(one.Measure.Limit),
			one.Measure.Unit, figure(one.Ratio), one.bound(), one.verdict(), took)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Results {
		one := &r.Results[i]
		fmt.Fprintf(w, "\n%s  %s\n", one.ID, one.Means)
		if one.Err != "" {
			fmt.Fprintf(w, "    could not be measured: %s\n", one.Err)
		}
		for _, note := range one.Measure.Notes {
			fmt.Fprintf(w, "    %s\n", note)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s: %d of %d goals pass, in %s.\n", r.Machine, len(r.Results)-r.Short(), len(r.Results), r.Took.Round(time.Second))
	return err
}

// JSON writes the report for programs.
func JSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Read reads a report that JSON has written.
func Read(from io.Reader) (*Report, error) {
	r := &Report{}
	d := json.NewDecoder(from)
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("cannot read the report: %w", err)
	}
	return r, nil
}
