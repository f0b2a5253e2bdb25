package demo

import (
	"context"
	"strings"
	"time"
)

// install is what comes before any tenant: definitions and controller.
func (d *demo) install(ctx context.Context) error {
	if err := d.kubectl(ctx, "apply -f package/crds -f cluster/install/access -f package/rbac/target-reader.yaml"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait --for=condition=Established crd --all --timeout=180s"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "api-resources --categories=finops"); err != nil {
		return err
	}
	at := d.first.Add(activation)
	if err := d.Product.MoveTo(ctx, at); err != nil {
		return err
	}
	if err := d.RegisterWebhooks(ctx); err != nil {
		return err
	}
	d.blank()
	d.sayf("The controller runs, and the API server asks its webhooks. Its business time begins at %s, so that hours can pass at will.", at.Format(time.RFC3339))
	return nil
}

func (d *demo) subscribe(ctx context.Context) error {
	for _, command := range []string{
		"apply -f " + quickstart,
		"wait --for=condition=Ready finopsproviders/default --timeout=180s",
		"wait --for=condition=Active pricebooks/tariff-2026 -n " + platformNamespace + " --timeout=180s",
		"wait --for=condition=Ready offerings --all -n " + catalogue + " --timeout=180s",
		"wait --for=condition=Active " + subscriptionKind + " --all -n " + tenant + " --timeout=180s",
		"wait --for=create cronjobs/" + allocationJob + "-cronjob cronjobs/" + chargeJob + "-cronjob -n " + platformNamespace + " --timeout=180s",
	} {
		if err := d.kubectl(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// passHours runs both collectors at the beginning of each hour.
func (d *demo) passHours(ctx context.Context) error {
	d.sayf("Every hour both collectors run, with the arguments and variables of their CronJobs:")
	for i := 1; i <= runs; i++ {
		if err := d.collectAndCharge(ctx, d.first.Add(time.Duration(i)*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) collectAndCharge(ctx context.Context, hour time.Time) error {
	if err := d.Product.StartHour(ctx, hour); err != nil {
		return err
	}
	return d.runCollectors(ctx, hour)
}

func (d *demo) runCollectors(ctx context.Context, hour time.Time) error {
	for _, job := range []string{allocationJob, chargeJob} {
		if _, err := d.Product.RunCostJob(ctx, platformNamespace, job, hour); err != nil {
			return err
		}
	}
	d.sayf("%s  %s, %s: done", hour.Format("15:04"), allocationJob, chargeJob)
	return nil
}

func (d *demo) look(ctx context.Context) error {
	if err := d.kubectl(ctx, "get finops -A"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get "+subscriptionKind+" -n "+tenant+" -o custom-columns="+strings.Join([]string{
		"NAME:.metadata.name",
		"READY:.status.ready",
		"ACTIVE:.status.conditions[?(@.type=='Active')].reason",
		"COSTS:.status.conditions[?(@.type=='CostsResolved')].reason",
		"ACTIVATED:.status.activatedAt",
	}, ",")); err != nil {
		return err
	}
	if err := d.showCosts(ctx); err != nil {
		return err
	}
	return d.showCharges(ctx)
}

// leave deletes the child: it stays until its last hour is settled, and its
// charges stay for good.
func (d *demo) leave(ctx context.Context) error {
	if err := d.Product.MoveTo(ctx, d.first.Add(deletion)); err != nil {
		return err
	}
	d.sayf("It is %s.", d.first.Add(deletion).Format("15:04"))
	object := subscriptionKind + "/" + child + " -n " + tenant
	if err := d.kubectl(ctx, "delete "+object+" --wait=false"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait --for=condition=Deleting=False "+object+" --timeout=180s"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get "+object+` -o jsonpath={range.status.conditions[*]}{.type}={.status}{"\t"}{.reason}{"\t"}{.message}{"\n"}{end}`); err != nil {
		return err
	}
	ended, err := d.subscription(ctx, child)
	if err != nil {
		return err
	}
	d.blank()
	d.sayf("The next hour settles the charges and lets it go:")
	if err := d.collectAndCharge(ctx, d.first.Add(release)); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait --for=delete "+object+" --timeout=180s"); err != nil {
		return err
	}
	if err := d.showBill(ctx, ended); err != nil {
		return err
	}
	return d.checkAll(ctx, ended)
}

// kubectl shows a command and what it prints. Words are split at spaces.
func (d *demo) kubectl(ctx context.Context, command string) error {
	shown := command
	if strings.ContainsAny(command, "{?") {
		shown = quoted(command)
	}
	d.typed("kubectl " + shown)
	text, err := d.Product.Kubectl.Run(ctx, strings.Fields(command)...)
	d.printed(text)
	return err
}

// quoted is the command with its last word in quotes, as a shell needs it.
func quoted(command string) string {
	words := strings.Fields(command)
	last := len(words) - 1
	words[last] = `"` + strings.ReplaceAll(words[last], `"`, `\"`) + `"`
	return strings.Join(words, " ")
}
