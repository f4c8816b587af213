# SPDX-License-Identifier: MIT
"""Code blocks of README.md and the manual that no test runs, by their page and first line, each
with the reason. Their syntax is checked. At most one in six may stand here."""

BLOCKS = {
    # The programs in Python of README.md are run by tests/house/test_readme.py.
    ("README.md", "make wheel                                            # podman, buildah or"
                  " debootstrap does"):
        "minutes: packaging/wheel/check.sh",
    ("README.md", "make deb                                              # needs what `make` needs,"
                  " and debhelper"): "root and systemd: packaging/deb/check.sh",
    ("README.md", "make"): "a whole build, which came before this test",
    ("README.md", "make demo     # three trainers, a live change of workers, a proof; DATA=dir:"
                  " your pictures"): "a whole build and all tests",
    ("README.md", "stokerctl top                     # live: how busy, how fast, who waits; + and -"
                  " change the workers"): "a terminal: tests/daemon/test_ctl_top.py",
    ("docs/tutorials/lab-service.md", "make deb"): "minutes: packaging/deb/check.sh",
    ("docs/tutorials/lab-service.md", "apt-get install ./packaging/deb/dist/*.deb"):
        "root and systemd: packaging/deb/check.sh",
    ("docs/tutorials/lab-service.md", "adduser alice stoker"): "root: packaging/deb/check.sh",
    ("docs/tutorials/lab-service.md", "install -m 644 stokerd.conf /etc/stoker/stokerd.conf"):
        "root and systemd: packaging/deb/check.sh",
    ("docs/tutorials/lab-service.md", "python3 -m venv env"):
        "a wheel: packaging/wheel/check.sh",
    ("docs/tutorials/slurm-job.md", "sbatch job.sh"): "a cluster: packaging/slurm/check.sh",
    ("docs/tutorials/slurm-job.md", "install -D -t /etc/slurm/stoker packaging/slurm/*prolog.sh"
                                    " packaging/slurm/epilog.sh"):
        "root and a cluster: packaging/slurm/check.sh",
    ("docs/how-to/containers.md", "make image"): "podman: packaging/container/check.sh",
    ("docs/how-to/containers.md", "helm install stoker packaging/helm --set"
                                  " image.repository=REGISTRY/stoker,data={/data}"):
        "a cluster: packaging/helm/check.sh",
    ("docs/how-to/monitoring.md", "stokerd --metrics-port 9736 &"):
        "a port that another program may have: tests/daemon/test_page.py",
    ("docs/how-to/monitoring.md", "(umask 077; openssl rand -hex 16 > /etc/stoker/metrics-token)"):
        "root and systemd: tests/daemon/test_rank_series.py",
    ("docs/how-to/monitoring.md", "kubectl create secret generic stoker-metrics"
                                  ' --from-literal=token="$(openssl rand -hex 16)"'):
        "a cluster: tests/house/test_helm.py",
}

# Pages that `make test` leaves to .ci/nightly, each with the reason.
NIGHTLY = {
    "docs/tutorials/first-training.md": "torch takes seconds to load, three times",
    "docs/tutorials/keras-cifar.md": "Keras takes seconds to load",
    "docs/tutorials/two-trainers.md": "it trains for a while, so that it can be watched",
    "docs/tutorials/own-code.md": "three programs with producers",
    "docs/how-to/cluster.md": "Ray takes seconds to start",
    "docs/how-to/parquet.md": "pyarrow, with producers",
    "docs/how-to/remote.md": "it waits for a server that does not answer",
}
# Modules without which a page is skipped.
NEEDS = {
    "docs/tutorials/first-training.md": ["torch", "torchvision"],
    "docs/tutorials/keras-cifar.md": ["keras"],
    "docs/how-to/cluster.md": ["ray"],
    "docs/how-to/parquet.md": ["pyarrow"],
}
