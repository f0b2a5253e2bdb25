package rights

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Granted are the rights of roles, by the role's name.
type Granted map[string]*role

type role struct {
	rights   []Right // Of nobody.
	accounts []string
}

// anObject is what is read of a role or of a binding.
type anObject struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Rules    []aRule    `json:"rules"`
	RoleRef  aReference `json:"roleRef"`
	Subjects []struct {
		aReference

		Namespace string `json:"namespace"`
	} `json:"subjects"`
}

type aReference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type aRule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

func (r aRule) rights() []Right {
	all := make([]Right, 0, len(r.APIGroups)*len(r.Resources)*len(r.Verbs))
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				all = append(all, Right{Verb: verb, Group: group, Resource: resource})
			}
		}
	}
	return all
}

// Grants reads what kubectl prints, as JSON, of roles and bindings of both
// kinds. Roles that are bound to no account grant nobody anything.
func Grants(list []byte) (Granted, error) {
	var all struct {
		Items []anObject `json:"items"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("cannot read roles and bindings: %w", err)
	}
	granted := Granted{}
	for _, o := range all.Items {
		for _, s := range o.Subjects {
			if s.Kind == "ServiceAccount" {
				granted.bind(o.RoleRef.Name, s.Namespace+":"+s.Name)
			}
		}
	}
	for _, o := range all.Items {
		if r := granted[o.Metadata.Name]; r != nil {
			for _, rule := range o.Rules {
				r.rights = append(r.rights, rule.rights()...)
			}
		}
	}
	return granted, nil
}

func (g Granted) bind(name, account string) {
	if g[name] == nil {
		g[name] = &role{}
	}
	g[name].accounts = append(g[name].accounts, account)
}

// Unused are the rights of these roles that none of the role's accounts has
// used, as "role: right". Whoever watches has to list on servers that do not begin
// a watch with what there is.
func (g Granted) Unused(r Record, roles func(name string) bool) []string {
	var unused []string
	for name, role := range g {
		if !roles(name) {
			continue
		}
		for _, right := range role.rights {
			used := slices.ContainsFunc(role.accounts, func(account string) bool {
				right.Account = account
				watch := right
				watch.Verb = "watch"
				return r.Used[right] || right.Verb == "list" && r.Used[watch]
			})
			if !used {
				unused = append(unused, name+": "+right.String())
			}
		}
	}
	slices.SortFunc(unused, cmp.Compare[string])
	return slices.Compact(unused)
}
