# SPDX-License-Identifier: MIT
"""The chart in packaging/helm: helm accepts it, and stokerd the configuration that comes of it.
packaging/helm/check.sh asks more: each resource against the schemas of Kubernetes."""

import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", "."))
STOKERD = pathlib.Path(os.environ.get("STOKER_BUILD", "build")) / "daemon/stokerd"
CHART = SOURCE / "packaging" / "helm"
HELM = shutil.which("helm")


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_version_is_ours():
    ours = re.search(r"^  version: '(.*)',$", (SOURCE / "meson.build").read_text(), re.M).group(1)
    chart = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {ours}\nappVersion: {ours}\n" in chart


def bytes_of(text):
    """As Kubernetes and stokerd.conf(5) say: G and Gi; the daemon's G is the power of 1024."""
    number, unit = re.fullmatch(r"(\d+)([MG])i?", text).groups()
    return int(number) << {"M": 20, "G": 30}[unit]


def test_the_budgets_fit_into_the_limit():
    """As its own comment says, with 64 workers; all budgets are set, none is a share of it."""
    text = (CHART / "values.yaml").read_text()
    budgets = dict(re.findall(r"^  ([a-z]+-memory): (\w+)$", text, re.MULTILINE))
    assert set(budgets) == {"ring-memory", "cache-memory", "dataset-memory", "index-memory"}
    limit = bytes_of(re.search(r"  limits:\n    memory: (\w+)", text).group(1))
    assert sum(map(bytes_of, budgets.values())) + (64 << 20) + 64 * (8 << 20) < limit


@pytest.mark.skipif(not HELM, reason="helm is not installed")
def test_prometheus_finds_it():
    """The port is the same in the daemon's configuration, the container, the annotations and the
    Service; with 0 there is none, and the network is closed."""
    text = run(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0", "--set",
               "metrics.port=9900")
    for words in ("metrics-port = 9900\n", "metrics-address = 0.0.0.0\n",
                  "containerPort: 9900\n",
                  'prometheus.io/port: "9900"\n', "port: 9900\n", "clusterIP: None\n",
                  "- port: metrics\n"):
        assert words in text, words
    text = run(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0", "--set",
               "metrics.port=0")
    assert "metrics-port" not in text and "kind: Service\n" not in text
    assert "ingress:" not in text and "policyTypes: [Ingress]" in text


@pytest.mark.skipif(not HELM, reason="helm is not installed")
def test_the_token_of_the_metrics_is_a_secret_that_the_daemon_reads():
    """Its path is that of the mount, its group the daemon's, and others may not read it."""
    text = run(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0", "--set",
               "metrics.tokenSecret=of-a-lab")
    for words in ("metrics-token = /etc/stoker-metrics/token\n",
                  "mountPath: /etc/stoker-metrics\n", "secretName: of-a-lab\n",
                  "defaultMode: 0440\n", "fsGroup: 65532\n", "runAsGroup: 65532\n"):
        assert words in text, words
    text = run(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0")
    assert not [line for line in text.splitlines() if "etrics-token" in line or "fsGroup" in line]


@pytest.mark.skipif(not HELM, reason="helm is not installed")
@pytest.mark.parametrize("values", [[], ["cache="], ["data={/data,/more}", "image.tag=x",
                                                     "priorityClass.create=false"]])
def test_helm_and_the_daemon_accept_it(tmp_path, values):
    values = [word for value in values for word in ("--set", value)]
    run(HELM, "lint", "--strict", "--kube-version", "1.30.0", *values, CHART)
    text = run(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0", *values,
               "--show-only", "templates/configmap.yaml")
    path = tmp_path / "stokerd.conf"
    path.write_text(textwrap.dedent(text.split("stokerd.conf: |\n")[1]))
    assert "ring-memory = 8G" in run(STOKERD, "--config", path, "--print-config")
