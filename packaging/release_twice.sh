#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Two builds of a release (packaging/release.sh), from two clones, in two folders of which one has a
# blank and is deeper, one after the other, with two umasks, time zones and languages: each artefact
# has the same bytes. Then the SBOM is checked by CycloneDX's own schema (cyclonedx-python-lib, of
# PyPI). By hand; takes twice as long as a release.
#
#   packaging/release_twice.sh [FOLDER]     FOLDER: where the first release is left
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$work/first second="$work/a deeper/folder/second"
for clone in "$first" "$second"; do
	mkdir -p "${clone%/*}"
	git clone --quiet --shared "$top" "$clone"
done
(umask 022 && TMPDIR=$work TZ=Asia/Tokyo "$first/packaging/release.sh" "$first/out")
mkdir "$work/other place"
(umask 077 && TMPDIR="$work/other place" TZ=America/Lima LANG=C HOME="$work" \
	"$second/packaging/release.sh" "$second/out")

wrong=0
for file in "$first"/out/*; do
	name=${file##*/}
	if cmp "$file" "$second/out/$name"; then echo "equal: $name"; else wrong=1; fi
done
[[ $(ls "$first/out") == "$(ls "$second/out")" ]] || wrong=1
[[ -z ${1-} ]] || { mkdir -p "$1" && cp "$first"/out/* "$1"; }

/usr/bin/python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet 'cyclonedx-python-lib[json-validation]==11.12.0'
"$work/venv/bin/python" - "$first"/out/*.cdx.json <<'PYTHON'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(f"the SBOM is not CycloneDX: {wrong}" if wrong else None)
PYTHON
echo 'valid: the SBOM'
exit "$wrong"
