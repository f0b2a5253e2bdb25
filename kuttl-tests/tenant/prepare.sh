# What every story of the suite begins with: prices, the catalogue, the functions
# and the Tenant's definition.
set -eu
cd "$STORY/../../../examples"
kubectl apply -f quickstart/00-namespaces.yaml
kubectl apply -f quickstart/10-provider.yaml -f quickstart/20-pricebook.yaml -f quickstart/30-offerings.yaml -f quickstart/50-costjobs.yaml -f tenant/catalogue.yaml
kubectl apply -f tenant/functions.yaml -f tenant/definition.yaml
kubectl wait -f tenant/functions.yaml --for=condition=Healthy --timeout=60s
kubectl wait -f tenant/definition.yaml --for=condition=Established --timeout=60s
kubectl apply -f tenant/composition.yaml
