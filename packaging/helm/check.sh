#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The chart: helm lint, and each resource that comes of it against the schemas of Kubernetes.
#
#   go install helm.sh/helm/v3/cmd/helm@latest; pip install kubernetes-validate
#   packaging/helm/check.sh
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
other='priorityClass.create=false,data={/data,/more},tolerations[0].operator=Exists'
scraper='metrics.from[0].podSelector.matchLabels.app=x,metrics.tokenSecret=x'
for version in 1.25 1.30 1.35; do
	for values in "" "cache=" "$other" "metrics.port=0" "$scraper"; do
		helm lint --strict --quiet --kube-version "$version.0" --set "$values" .
		helm template try . --kube-version "$version.0" --set "$values" >"$work/all.yaml"
		kubernetes-validate --strict --quiet -k "$version" "$work/all.yaml"
	done
done
echo 'all is well'
