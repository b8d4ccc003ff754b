# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# Completion for lnetx, lnetctl, lctl and lst. The programs themselves know what may come next
# ("--complete"): words from their tables; NIDs, nets and settings from the running lnetxd.

_lnetx_complete() {
	local line=${COMP_LINE:0:${COMP_POINT:-0}} words tail break i

	if [[ $line ]]; then
		read -ra words <<<"$line"
		[[ $line == *[[:space:]] ]] && words+=('')
	else
		words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
	fi
	mapfile -t COMPREPLY < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
	for i in "${!COMPREPLY[@]}"; do
		[[ ${COMPREPLY[i]} == :file ]] || continue
		unset "COMPREPLY[i]"
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${words[-1]}")
	done
	# The shell splits "10.0.0.1@tcp" into several words, and expects the end of the last
	# one.
	tail=${words[-1]}
	[[ $line ]] || tail=
	for break in @ : =; do
		[[ $COMP_WORDBREAKS != *"$break"* ]] || tail=${tail##*"$break"}
	done
	if [[ $line ]]; then
		line=${words[-1]}
		COMPREPLY=("${COMPREPLY[@]#"${line%"$tail"}"}")
	fi
}

_lnetx() { _lnetx_complete; }
_lnetctl() { _lnetx_complete; }
_lctl() { _lnetx_complete; }
_lst() { _lnetx_complete; }

complete -F _lnetx lnetx
complete -F _lnetctl lnetctl
complete -F _lctl lctl
complete -F _lst lst
