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


def said(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_version_is_ours():
    ours = re.search(r"^  version: '(.*)',$", (SOURCE / "meson.build").read_text(), re.M).group(1)
    chart = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {ours}\nappVersion: {ours}\n" in chart


@pytest.mark.skipif(not HELM, reason="helm is not installed")
@pytest.mark.parametrize("values", [[], ["cache="], ["data={/data,/more}", "image.tag=x",
                                                     "priorityClass.create=false"]])
def test_helm_and_the_daemon_accept_it(tmp_path, values):
    values = [word for value in values for word in ("--set", value)]
    said(HELM, "lint", "--strict", "--kube-version", "1.30.0", *values, CHART)
    text = said(HELM, "template", "of-a-test", CHART, "--kube-version", "1.30.0", *values,
                "--show-only", "templates/configmap.yaml")
    path = tmp_path / "stokerd.conf"
    path.write_text(textwrap.dedent(text.split("stokerd.conf: |\n")[1]))
    assert "ring-memory = 8G" in said(STOKERD, "--config", path, "--print-config")
