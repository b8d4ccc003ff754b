# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# Completion for lnetx and lnetctl. Words come from the programs' own tables
# ("--list-commands", "... --help"), so they are those of the installed version.

_lnetx_options='-j --json -y --yaml -p --pretty -s --stats -n --instance -V --version -h --help'

_lnetx_reply() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}")
}

_lnetx_interfaces() {
	local name names=()

	for name in /sys/class/net/*; do
		names+=("${name##*/}")
	done
	_lnetx_reply "${names[*]}"
}

# Object, verb and keywords of each command are a line; "-" stands for no verb.
_lnetx() {
	local program=${COMP_WORDS[0]} i=1 object verb keywords

	while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == -* ]]; do
		[[ ${COMP_WORDS[i]} == -n || ${COMP_WORDS[i]} == --instance ]] && ((i++))
		((i++))
	done
	if ((i >= COMP_CWORD)); then
		if [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
			_lnetx_reply "$_lnetx_options"
		else
			_lnetx_reply "$("$program" --list-commands | cut -d' ' -f1 | sort -u) help"
		fi
		return
	fi
	object=${COMP_WORDS[i]}
	if "$program" --list-commands | grep -q "^$object - \?"; then
		verb=-
	elif ((i + 1 == COMP_CWORD)); then
		_lnetx_reply "$("$program" --list-commands |
			sed -n "s/^$object \([a-z]*\).*/\1/p") help"
		return
	else
		verb=${COMP_WORDS[i + 1]}
	fi
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	if)
		_lnetx_interfaces
		;;
	*)
		keywords=$("$program" --list-commands | sed -n "s/^$object $verb //p")
		_lnetx_reply "$keywords"
		[[ $object == import || $object == export ]] &&
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
				compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
		;;
	esac
}

_lnetctl() {
	local program=${COMP_WORDS[0]} group=${COMP_WORDS[1]} verbs words

	if ((COMP_CWORD == 1)); then
		_lnetx_reply "$("$program" --list-commands | cut -d' ' -f1) help"
		return
	fi
	verbs=$("$program" --list-commands | sed -n "s/^$group //p")
	if ((COMP_CWORD == 2)) && [[ -n $verbs ]]; then
		_lnetx_reply "$verbs help"
		return
	fi
	words=("$group")
	[[ -n $verbs ]] && words+=("${COMP_WORDS[2]}")
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--if | -i)
		_lnetx_interfaces
		;;
	*)
		_lnetx_reply "$("$program" "${words[@]}" --help 2>/dev/null |
			sed -n 's/^\t\(--[a-z_-]*\):.*/\1/p')"
		[[ $group == import || $group == export ]] &&
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
				compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
		;;
	esac
}

complete -F _lnetx lnetx
complete -F _lnetctl lnetctl
