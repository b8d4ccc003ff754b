# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Nothing is ever written to it: to wait without a process for "sleep".
exec {never}<> <(:)

# eventually SECONDS COMMAND...: repeat until it succeeds; status 9 means that it never will
eventually() {
	local end=$((SECONDS + $1)) status
	shift

	while status=0; "$@" >/dev/null 2>&1 || status=$?; [ $status != 0 ]; do
		if [ $SECONDS -ge $end ] || [ $status = 9 ]; then
			echo "never: $*"
			"$@"
			return 1
		fi
		read -rt 0.2 -u "$never" || :
	done
}
