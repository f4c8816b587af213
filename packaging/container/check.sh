#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The image, built by its Containerfile and run as it is meant: a daemon and a trainer in a
# container each, without a network, as two users without rights, on read-only roots with 8 MB of
# /dev/shm, with nothing in common but the folder of the sockets and the pictures. Their samples are
# those of a daemon outside (BUILD). ROOT is the Debian of the build and of the trainer:
#
#   debootstrap --variant=minbase --include=ca-certificates,python3-numpy,python3-msgpack \
#       bookworm ROOT
#   packaging/container/check.sh ROOT BUILD
#
# Needs root, podman, crun and Debian's archive; leaves nothing behind. Also works within a
# container whose control groups are of version 1, where limits of processes cannot be set.
set -euo pipefail
root=$(realpath "$1") outside=$(realpath "$2")
cd "$(dirname "$0")/../.."
if [[ ${CHECK_INSIDE-} != yes ]]; then
	CHECK_INSIDE=yes exec unshare --mount "$0" "$root" "$outside"
fi
work=$(mktemp -d)
umount /sys/fs/cgroup/unified 2>/dev/null || true
pod() {
	podman --root "$work/storage" --runroot "$work/run" --tmpdir "$work/tmp" \
		--cgroup-manager=cgroupfs --events-backend=none --runtime "$work/crun" "$@"
}
finish() {
	pod rm --all --force --time 0 >/dev/null 2>&1 || true
	umount -R "$work/storage/overlay" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# What may not be set in a container is not asked for.
cat >"$work/crun" <<'RUNTIME'
#!/usr/bin/python3
import json, os, sys
for option, name in (("--bundle", "/config.json"), ("--process", "")):
    if option in sys.argv:
        path = sys.argv[sys.argv.index(option) + 1] + name
        with open(path) as file:
            config = json.load(file)
        config.get("process", config).pop("rlimits", None)
        config.get("linux", {}).get("resources", {}).pop("pids", None)
        with open(path, "w") as file:
            json.dump(config, file)
os.execvp("crun", ["crun", *sys.argv[1:]])
RUNTIME
chmod +x "$work/crun"

tar -C "$root" --one-file-system --exclude='./proc/*' --exclude='./sys/*' -c . |
	pod import --quiet - stoker-debian >/dev/null
pod build --isolation chroot --file packaging/container/Containerfile \
	--build-arg DEBIAN=localhost/stoker-debian --tag stoker . >"$work/built" 2>&1 ||
	{ tail -n 60 "$work/built"; exit 1; }
pod image inspect stoker --format 'image: {{.Size}} bytes, user {{.User}}'

install -d -o 65532 "$work/sockets"
mkdir "$work/pictures" "$work/own"
/usr/bin/python3 packaging/deb/train.py make "$work/pictures"
options=(--read-only --read-only-tmpfs=false --shm-size=8m --network=none --memory=512m
	--cap-drop=all --security-opt=no-new-privileges -v "$work/sockets:/run/stoker"
	-v "$work/pictures:$work/pictures:ro")
pod run --detach --name daemon "${options[@]}" stoker --socket-mode 0666 \
	--dataset-root "$work/pictures" --ring-memory 256M >/dev/null
for _ in {1..100}; do
	! pod exec daemon /usr/bin/stokerctl ping >/dev/null 2>&1 || break
	sleep 0.1
done
pod exec daemon /usr/bin/stokerctl ping || { pod logs daemon; exit 1; }
train=(python3 -c '
import hashlib, sys, stoker
with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=64, seed=1, transforms=[
        stoker.RandomResizedCrop(224), stoker.ToTensor()])
    digest, samples = hashlib.sha256(), 0
    for _ in range(2):
        for images, labels in loader:
            digest.update(images.tobytes())
            samples += len(labels)
    print(samples, "samples,", images.nbytes, "bytes the last batch,", digest.hexdigest())
' "$work/pictures")
pod run --rm "${options[@]}" --user 1000:1000 -v "$PWD/client/python:/client:ro" \
	-e PYTHONPATH=/client -e PYTHONDONTWRITEBYTECODE=1 stoker-debian "${train[@]}" \
	>"$work/inside"
cat "$work/inside"
pod stop --time 20 daemon >/dev/null
pod logs daemon

"$outside/daemon/stokerd" --socket "$work/own/stokerd.sock" --exit-idle-time 2s \
	2>"$work/log" &
for _ in {1..100}; do [[ ! -S $work/own/stokerd.sock ]] || break; sleep 0.1; done
PATH=/usr/bin:$PATH STOKER_SOCKET=$work/own/stokerd.sock PYTHONPATH=client/python "${train[@]}" \
	>"$work/outside"
wait
cmp "$work/inside" "$work/outside"
echo 'all is well'
