// Package environment reads the variables that jobs are told everything by. One
// variable has one name, one fallback and one check, whichever job asks for it.
//
// What is wrong is collected, because whoever has to mend it wants to do so once.
// An error names the variable and its value; of one that may hold a password it
// shows nothing.
package environment

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Variables are the environment of a process.
type Variables struct {
	getenv func(string) string
	wrong  []error
	notes  []string
}

// Of returns the variables that a function looks up.
func Of(getenv func(string) string) *Variables { return &Variables{getenv: getenv} }

// Err is everything that is wrong with what was asked for so far, a line each.
func (v *Variables) Err() error { return errors.Join(v.wrong...) }

// Notes are for the log: values that were passed over, and what stands in their
// place.
func (v *Variables) Notes() []string { return v.notes }

func (v *Variables) refusef(name, format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Errorf("environment variable %s "+format, append([]any{name}, args...)...))
}

// Required is a text without which nothing can be done. It may be a secret.
func (v *Variables) Required(name string) string {
	value := v.getenv(name)
	if value == "" {
		v.refusef(name, "must be set")
	}
	return value
}

// Text is any text. One that is empty is not set.
func (v *Variables) Text(name, fallback string) string {
	if value := v.getenv(name); value != "" {
		return value
	}
	return fallback
}

// Choice is one of two words, of which the first is the fallback.
func (v *Variables) Choice(name, fallback, other string) string {
	value := v.Text(name, fallback)
	if value != fallback && value != other {
		v.refusef(name, "must be %q or %q, not %q", fallback, other, value)
	}
	return value
}

// Whole is a number of something, at least so many.
func (v *Variables) Whole(name, of string, least, fallback int64) int64 {
	value := v.getenv(name)
	if value == "" {
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least {
		v.refusef(name, "must be a number of %s of at least %d, not %q", of, least, value)
		return fallback
	}
	return n
}

// hours is a number of hours to look back.
func (v *Variables) hours(name string, fallback int) int {
	const most = 24 * 366 // A year back is as far as anybody's measurements go.
	value := v.Text(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		v.refusef(name, "must be a number of hours from 0 to %d, not %q", most, value)
		return fallback
	}
	return n
}

// Duration is a time that may be none.
func (v *Variables) Duration(name string, fallback time.Duration) time.Duration {
	value := v.Text(name, fallback.String())
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		v.refusef(name, "must be a duration such as 10m, not %q", value)
		return fallback
	}
	return d
}

// Within is the text of a duration that is some time, but no more than most.
func (v *Variables) Within(name, fallback, words string, least, most time.Duration) string {
	value := v.Text(name, fallback)
	if d, err := time.ParseDuration(value); err != nil || d < least || d > most {
		v.refusef(name, "must be %s, not %q", words, value)
		return fallback
	}
	return value
}

// Timeout is how long to wait. It is lenient, as documented (50.3): what is no
// duration to wait for is passed over, and said in the log.
func (v *Variables) Timeout(name string, fallback time.Duration) time.Duration {
	value := v.getenv(name)
	if value == "" {
		return fallback
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s is %q, which is no duration to wait for; using %s", name, value, fallback))
		return fallback
	}
	return d
}
