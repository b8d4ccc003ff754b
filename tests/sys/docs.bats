#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The check of docs and the runner of their commands find what they look for.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	DIR=$BATS_TEST_TMPDIR
	TOP=$PWD
}

@test "the check of docs finds long lines, numbers, dangling links, and commands that nobody runs" {
	cd "$DIR"
	cat >good.md <<'END'
<!-- run: a=10.1.0.1 -->
# A page, with 1 number

Lustre 2.15, Debian 12 and 13, section 7.1, `99`, 10.0.0.1@tcp, IPv4 and 1.2.3 are names, and what a
[link](bad.md#not-good) has is none: neither are numbers in

| a table | 1 | 2 | 3 | 4 | of many columns, which nobody wants to have in two lines, or in three of them |
|---|---|---|---|---|---|

* an item

  and its second paragraph

  ```console
  a# true
  ```
END
	{
		echo '# Not good'
		printf 'From 10 to 20 %%, or 1.5 MB, or 7; %090d\n\n' 0
		echo '    indented'
		printf '\n[a](none.md), [b](good.md#none)\n'
		cat <<'END'
```
```
```console
a# true
```
```console here
```
```text
a$ true
```
<!-- run: a= -->
```console
b# true
END
	} >bad.md
	run -0 "$TOP/tests/check-docs" good.md
	equal "$output" ""
	run -1 "$TOP/tests/check-docs" good.md bad.md
	equal "$(cut -d' ' -f 1-4 <<<"$output")" "bad.md:2: 124 columns, of
bad.md:1: 5 numbers in
bad.md:6: link to nowhere:
bad.md:6: no such heading:
bad.md:4: an indented block:
bad.md:7: a block that
bad.md:12: not console, or
bad.md:15: a command outside
bad.md:18: a block without"
	# Only commands of a page that is run are looked at.
	printf '%s\n' '```console' 'a# true' '```' >quiet.md
	run -1 "$TOP/tests/check-docs" quiet.md
	[[ $output == "quiet.md:1: commands that are not run:"* ]]
	printf '%s\n' '<!-- run: a= -->' '```console' 'b# true' '```' >other.md
	run -1 "$TOP/tests/check-docs" other.md
	equal "$output" "other.md:3: not a host of this page: b"
}

@test "the runner of docs compares shapes, NIDs and order, and says what is wrong" {
	[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
	cat >"$DIR/page.md" <<'END'
<!-- run: a=10.1.0.1 b=10.1.0.2 -->
<!-- file: a,b:/etc/lnetx.conf -->
```yaml
one: 1
```
```console
a# cat /etc/lnetx.conf; hostname; cd /etc; echo "2026-01-02T03:04:05+0100 Nov  8 20:30:31"
one: 2
a
2027-11-12T13:14:15+0000 Dec 18 10:11:12
b# ip addr show eth0
...
    inet 10.1.0.2/24 scope ... eth0
...
a# pwd; sleep 0.2 & wait; echo one; \
	echo two
/etc
one
two
a# printf '2 b\n1   a\n'
1 a
2 b
a# while echo "10.1.0.1@tcp: 5 ms"; do sleep 0.1; done
10.1.0.1@tcp: 0.123 ms
^C
```
```console site
a# reboot
```
```console
a$ echo "# no command"
# no command
```
END
	run -0 tests/docs/run "$DIR/page.md"
	equal "${lines[0]} $(grep -c '^ok' <<<"$output")" "1..6 6"
	cat >"$DIR/page.md" <<'END'
<!-- run: a= -->
```console
a# echo 10.1.0.1@tcp
10.1.0.2@tcp
a# echo tcp1
tcp2
a# printf 'one\ntwo\n'
one
a# printf 'one\n'
...
two
a# true
```
END
	run -0 tests/docs/run "$DIR/page.md"
	equal "$(grep -E '^(ok|not ok)' <<<"$output" | cut -d' ' -f 1-2)" "not ok
not ok
not ok
not ok
ok 5"
	[[ $output == *"page.md:3 a# echo 10.1.0.1@tcp
#   expected: 10.1.0.2@tcp
#   got:
#   10.1.0.1@tcp"* ]]
}
