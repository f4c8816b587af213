#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What check.sh runs in the container.
set -euxo pipefail
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
cd /check
not() { if "$@"; then echo "wrong: $*" && exit 1; fi; } # set -e passes over "! command"
before=$(getent passwd | wc -l)
apt-get -q -y install --no-install-recommends ./stoker_*.deb ./libstoker*.deb \
	./python3-stoker*.deb >/dev/null

# Sockets wait; there is no daemon before somebody comes.
for unit in stokerd.socket stokerd-control.socket; do
	systemctl is-enabled --quiet "$unit"
	systemctl is-active --quiet "$unit"
done
not systemctl is-active --quiet stokerd.service
getent passwd stokerd >/dev/null
getent group stoker >/dev/null

# Users may have the daemon read what its configuration allows.
echo 'dataset-root = /srv/pictures' >>/etc/stoker/stokerd.conf
mkdir /srv/pictures
python3 train.py make /srv/pictures
for number in 1 2 3; do
	useradd --groups stoker "trainer$number"
	runuser -u "trainer$number" -- python3 train.py train /srv/pictures \
		>"said$number" 2>"log$number" &
done
for number in 1 2 3; do
	for _ in {1..600}; do
		! grep -q batch "said$number" || break
		sleep 0.1
	done
	grep batch "said$number" || { cat "log$number"; exit 1; }
done
systemctl is-active --quiet stokerd.service
first=$(systemctl show -P MainPID stokerd.service)
[[ $(stat -c %U "/proc/$first") == stokerd ]]

# Each line of the unit that locks the daemon down is in force: a probe runs before it, as it does.
mkdir -p /run/systemd/system/stokerd.service.d
unit=$(systemctl show -P FragmentPath stokerd.service)
files=$(prlimit --pid 1 --nofile --noheadings --output HARD)
printf '[Service]\nExecStartPre=/usr/bin/python3 /check/probe.py %s %s %s %s\n' "$unit" \
	/var/cache/stokerd/said "$(readlink /proc/1/ns/mnt)" "$files" \
	>/run/systemd/system/stokerd.service.d/probe.conf
systemctl daemon-reload
systemctl restart stokerd.service
cat /var/cache/stokerd/said
not grep '^NOT' /var/cache/stokerd/said
(($(grep -c '^in force' /var/cache/stokerd/said) >= 30))
[[ $(systemctl show -P IPAddressDeny stokerd.service | tr ' ' '\n' | sort) == $'0.0.0.0/0\n::/0' ]]
[[ $(systemctl show -P MemoryMax stokerd.service) =~ ^[0-9]+$ ]]
rm -r /var/cache/stokerd/{said,probe} /run/systemd/system/stokerd.service.d
systemctl daemon-reload
sockets=$(stat -c %i /run/stoker/stokerd.sock /run/stoker/control.sock)

for _ in {1..20}; do
	systemctl reset-failed stokerd.service # more than five in a minute is taken for a fault
	stokerctl upgrade # restarts the unit, waits for the trainers
	sleep 1
done
before_upgrade=$(systemctl show -P MainPID stokerd.service)
[[ $first != "$before_upgrade" ]]
systemctl reset-failed stokerd.service
dpkg -i next.deb >/dev/null
[[ $(systemctl show -P MainPID stokerd.service) != "$before_upgrade" ]]
[[ $(stat -c %i /run/stoker/stokerd.sock /run/stoker/control.sock) == "$sockets" ]]
systemctl is-active --quiet stokerd.socket
sleep 2
touch /srv/stop
wait
cat said1 said2 said3
[[ $(grep -c '^whole epochs only' said1 said2 said3 | grep -c ':1$') == 3 ]]

# Removed: the configuration stays. Purged: nothing does.
apt-get -q -y remove stoker >/dev/null
not systemctl is-active --quiet stokerd.service
[[ ! -e /run/stoker/stokerd.sock && -e /etc/stoker/stokerd.conf ]]
for number in 1 2 3; do userdel "trainer$number"; done
apt-get -q -y purge stoker python3-stoker libstoker0 libstoker-dev >/dev/null
[[ $(getent passwd | wc -l) == "$before" ]]
not getent group stoker
left=$(find / -xdev -name '*stoker*' -not -path '/check/*' -not -path '/proc/*' \
	-not -path '/var/log/*' -not -path '/var/cache/apt/*' -not -path '/sys/*')
echo "left after the purge: ${left:-nothing}"
[[ -z $left ]]
echo 'all is well'
