package compose

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Transform changes a value on its way.
type Transform struct {
	Type    string                     `json:"type"`
	Map     map[string]json.RawMessage `json:"map"`
	Match   *Match                     `json:"match"`
	String  *String                    `json:"string"`
	Convert *Convert                   `json:"convert"`
}

// A Match gives the result of the first pattern that fits.
type Match struct {
	Patterns      []Pattern       `json:"patterns"`
	FallbackValue json.RawMessage `json:"fallbackValue"`
	FallbackTo    string          `json:"fallbackTo"`
}

// A Pattern is a literal or a regular expression.
type Pattern struct {
	Type    string          `json:"type"`
	Literal *string         `json:"literal"`
	Regexp  *string         `json:"regexp"`
	Result  json.RawMessage `json:"result"`
}

// A String makes a text.
type String struct {
	Type    string  `json:"type"`
	Format  *string `json:"fmt"`
	Convert *string `json:"convert"`
	Trim    *string `json:"trim"`
	Regexp  *struct {
		Match string `json:"match"`
		Group int    `json:"group"`
	} `json:"regexp"`
}

// A Convert makes a value of another type.
type Convert struct {
	ToType string `json:"toType"`
}

func (t Transform) resolve(in any) (any, error) {
	switch {
	case t.Type == "map" && t.Map != nil:
		return lookUp(t.Map, in)
	case t.Type == "match" && t.Match != nil:
		return t.Match.resolve(in)
	case t.Type == "string" && t.String != nil:
		return t.String.resolve(in)
	case t.Type == "convert" && t.Convert != nil:
		return t.Convert.resolve(in)
	}
	return nil, fmt.Errorf("cannot carry out a transform of type %q that is configured like this", t.Type)
}

func lookUp(pairs map[string]json.RawMessage, in any) (any, error) {
	key, ok := in.(string)
	if !ok {
		return nil, fmt.Errorf("a map takes a string, got %T", in)
	}
	result, ok := pairs[key]
	if !ok {
		return nil, fmt.Errorf("key %s is not found in map", key)
	}
	return parse(result)
}

func (m Match) resolve(in any) (any, error) {
	for i, p := range m.Patterns {
		fits, err := p.fits(in)
		if err != nil {
			return nil, fmt.Errorf("pattern at index %d: %w", i, err)
		}
		if fits {
			return parse(p.Result)
		}
	}
	if m.FallbackTo == "Input" {
		return in, nil
	}
	return parse(m.FallbackValue)
}

func (p Pattern) fits(in any) (bool, error) {
	text, ok := in.(string)
	if !ok {
		return false, fmt.Errorf("a pattern takes a string, got %T", in)
	}
	switch {
	case p.Type == "literal" && p.Literal != nil:
		return text == *p.Literal, nil
	case p.Type == "regexp" && p.Regexp != nil:
		re, err := regexp.Compile(*p.Regexp)
		if err != nil {
			return false, fmt.Errorf("cannot compile %q: %w", *p.Regexp, err)
		}
		return re.MatchString(text), nil
	}
	return false, fmt.Errorf("cannot match by a pattern of type %q that is configured like this", p.Type)
}

// parse reads a result. None is nil, as in the original.
func parse(result json.RawMessage) (any, error) {
	if len(result) == 0 {
		return nil, nil //nolint:nilnil // Null is a value here.
	}
	var out any
	if err := json.Unmarshal(result, &out); err != nil {
		return nil, fmt.Errorf("cannot parse the result: %w", err)
	}
	return out, nil
}

func (s String) resolve(in any) (any, error) {
	switch {
	case s.Type == "Format" && s.Format != nil:
		return fmt.Sprintf(*s.Format, in), nil
	case s.Type == "Convert" && s.Convert != nil && *s.Convert == "ToUpper":
		return strings.ToUpper(fmt.Sprint(in)), nil
	case s.Type == "Convert" && s.Convert != nil && *s.Convert == "ToLower":
		return strings.ToLower(fmt.Sprint(in)), nil
	case s.Type == "TrimPrefix" && s.Trim != nil:
		return strings.TrimPrefix(fmt.Sprint(in), *s.Trim), nil
	case s.Type == "TrimSuffix" && s.Trim != nil:
		return strings.TrimSuffix(fmt.Sprint(in), *s.Trim), nil
	case s.Type == "Regexp" && s.Regexp != nil:
		re, err := regexp.Compile(s.Regexp.Match)
		if err != nil {
			return nil, fmt.Errorf("cannot compile %q: %w", s.Regexp.Match, err)
		}
		groups := re.FindStringSubmatch(fmt.Sprint(in))
		if s.Regexp.Group >= len(groups) {
			return nil, fmt.Errorf("regexp %q had no matches for group %d", s.Regexp.Match, s.Regexp.Group)
		}
		return groups[s.Regexp.Group], nil
	}
	return nil, fmt.Errorf("cannot carry out a string transform of type %q that is configured like this", s.Type)
}

func (c Convert) resolve(in any) (any, error) {
	switch from := in.(type) {
	case string:
		switch c.ToType {
		case "string":
			return from, nil
		case "int", "int64":
			return strconv.ParseInt(from, 10, 64)
		case "bool":
			return strconv.ParseBool(from)
		}
	case bool:
		switch c.ToType {
		case "string":
			return strconv.FormatBool(from), nil
		case "bool":
			return from, nil
		}
	case int64:
		return Convert{ToType: c.ToType}.resolve(float64(from))
	case float64:
		switch c.ToType {
		case "string":
			return strconv.FormatFloat(from, 'f', -1, 64), nil
		case "int", "int64":
			return int64(from), nil
		case "bool":
			return from == 1, nil
		}
	}
	return nil, fmt.Errorf("cannot convert %T to %q", in, c.ToType)
}
