# What can be said about a Tenant, for the steps and asserts of this suite, beside
# what is said about Subscriptions in $ASSERTIONS. It looks in the namespace
# $NAMESPACE, as those do:
#
#   . "$STORY/../tenant.sh"; at shop; unready acme; shows acme addOns.audit Ready=False/TargetNotFound

. "$ASSERTIONS"

# at NAMESPACE looks there from now on.
at() { NAMESPACE=$1; }

# tenant NAME JSONPATH prints a part of one.
tenant() { kubectl get tenants.platform.example.org "$1" -n "$NAMESPACE" -o "jsonpath=$2"; }

# is WHAT WANT GOT fails unless they are the same.
is() { test "$2" = "$3" || { echo "$1: want $2, got $3"; return 1; }; }

ready() { is "Tenant $1" "Ready=True Synced=True" "$(tenant "$1" 'Ready={.status.conditions[?(@.type=="Ready")].status} Synced={.status.conditions[?(@.type=="Synced")].status}')"; }
unready() { is "Tenant $1" "Ready=False Synced=True" "$(tenant "$1" 'Ready={.status.conditions[?(@.type=="Ready")].status} Synced={.status.conditions[?(@.type=="Synced")].status}')"; }

# shows NAME PART CONDITION=STATUS/REASON: the Tenant's status says so of a Subscription.
shows() {
  type=${3%%=*}
  is "Tenant $1, $2" "$3" "$type=$(tenant "$1" "{.status.$2.conditions[?(@.type==\"$type\")].status}/{.status.$2.conditions[?(@.type==\"$type\")].reason}")"
}

# composed NAME WANT...: these Subscriptions belong to the Tenant, and no others.
composed() {
  who=$1
  shift
  is "Tenant $who is made of" "$*" "$(kubectl get subscriptions.finops.stakater.com -n "$NAMESPACE" -l "crossplane.io/composite=$who" -o 'jsonpath={.items[*].metadata.name}')"
}

# gone KIND NAME
gone() { is "$1 $2" "" "$(kubectl get "$1" "$2" -n "$NAMESPACE" --ignore-not-found -o name)"; }

SUBSCRIPTIONS=subscriptions.finops.stakater.com
TENANTS=tenants.platform.example.org

# order NAME FIELDS changes what a Tenant orders, such as "{addOns: {backup: true}}".
order() { kubectl patch "$TENANTS" "$1" -n "$NAMESPACE" --type=merge -p "spec: $2"; }

# settle: an hour passes, and is settled.
settle() { "$HARNESS" next-hour; }
