# What can be said about a Subscription, as functions for the asserts of stories:
#
#   apiVersion: kuttl.dev/v1beta1
#   kind: TestAssert
#   commands:
#     - script: . "$ASSERTIONS"; held web OfferingNotReady
#
# They look in the namespace $NAMESPACE, which kuttl sets, and say what they have
# found when it is something else. They need kubectl and a POSIX shell, nothing of
# kuttl.

# subscription NAME JSONPATH prints a part of one.
subscription() {
  kubectl get subscriptions.finops.stakater.com "$1" -n "$NAMESPACE" -o "jsonpath=$2"
}

# facts NAME prints the conditions and the two instants, each in one form.
facts() {
  subscription "$1" '{range .status.conditions[*]};{.type}={.status}/{.reason}{end};activatedAt={.status.activatedAt};deactivatedAt={.status.deactivatedAt};'
}

# expect NAME FACT... fails unless each is a fact; with ! before it, unless it is none.
expect() {
  who=$1
  shift
  is=$(facts "$who") || return 1
  for want in "$@"; do
    case $want in
      !*) case $is in *";${want#!}"*) echo "$who: want no ${want#!}, got $is"; return 1 ;; esac ;;
      *) case $is in *";$want"*) ;; *) echo "$who: want $want, got $is"; return 1 ;; esac ;;
    esac
  done
}

# held NAME REASON: a gate objects, and nothing was ever billed.
held() { expect "$1" "Ready=False/$2;" "activatedAt=;"; }

# billed NAME: it has begun and not ended. Whether it is ready does not matter.
billed() { expect "$1" "Active=True/" "!activatedAt=;" "deactivatedAt=;"; }

# ready NAME: it is billed, and no gate objects.
ready() { billed "$1" && expect "$1" "Ready=True/"; }

# objected NAME REASON: it is billed, though a gate objects.
objected() { billed "$1" && expect "$1" "Ready=False/$2;"; }

# orphaned NAME: it is billed, though its parent has ended.
orphaned() { billed "$1" && expect "$1" "Active=True/Orphaned;"; }

# ended NAME REASON: for good.
ended() { expect "$1" "Active=False/$2;" "!deactivatedAt=;"; }

# settling NAME: it is deleted and waits for a run that charges its last hour.
settling() { expect "$1" "Deleting=False/WaitingForCollectionJob;"; }

# released NAME: it is settled and gone.
released() {
  if is=$(subscription "$1" '{.metadata.uid}' 2>&1); then
    echo "$1: it is still there, $(facts "$1")"
    return 1
  fi
  case $is in *NotFound*) ;; *) echo "$is"; return 1 ;; esac
}

# projects NAME GRANULARITY MICROS: what a bucket (hour, day, month) will come to.
projects() {
  is=$(subscription "$1" "{.status.costs[?(@.granularity=='$2')].projected}") || return 1
  test "$is" = "$3" || { echo "$1: want a $2 of $3 micros, got '$is'"; return 1; }
}

# refused WORDS COMMAND...: the command fails and says the words.
refused() {
  words=$1
  shift
  if said=$("$@" 2>&1); then
    echo "accepted: $*"
    return 1
  fi
  case $said in *"$words"*) ;; *) printf 'want: %s\ngot:  %s\n' "$words" "$said"; return 1 ;; esac
}
