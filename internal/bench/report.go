package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the results as a table for people.
func Table(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GOAL\tWHAT\tMEASURED\tLIMIT\tUNIT\tRATIO\tMUST\tRESULT\tTOOK")
	for _, r := range results {
		if r.Err != "" {
			fmt.Fprintf(t, "%s\t%s\t\t\t\t\t\terror: %s\t%s\n", r.ID, r.Title, r.Err, r.Took.Round(1e8))
			continue
		}
		result, sign := "short", ">="
		if r.Pass {
			result = "pass"
		}
		if r.AtMost {
			sign = "<="
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%s\t%.3g\t%s %.3g\t%s\t%s\n",
			r.ID, r.Title, r.Measure.Value, r.Measure.Limit, r.Measure.Unit, r.Ratio, sign, r.Must, result, r.Took.Round(1e8))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		fmt.Fprintf(w, "\n%s  %s\n", r.ID, r.Goal.Ratio)
		for _, note := range r.Measure.Notes {
			fmt.Fprintf(w, "    %s\n", note)
		}
	}
	return nil
}

// JSON writes the results for programs.
func JSON(w io.Writer, results []Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}
