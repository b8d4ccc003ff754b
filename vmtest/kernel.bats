#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Which kernels vmtest/kernel takes, from an apt that this file makes up: one line of
# "offers" per package, with its version and layout.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p vmtest bin
	cp "$BATS_TEST_DIRNAME/kernel" vmtest/
	export PATH=$PWD/bin:$PATH OFFERS=$PWD/offers
	cat >bin/apt-cache <<-'END'
		#!/bin/bash
		case $1 in
		search) grep -E "${3%?} " "$OFFERS" || true ;;
		show)
			shift
			for name in "${@#--no-all-versions}"; do
				awk -v n="$name" '$1 == n { print "Package: " n "\nVersion: " $2 }' "$OFFERS"
			done | grep . ;;
		esac
	END
	cat >bin/apt-get <<-'END'
		#!/bin/bash
		[ -e "$OFFERS.net" ] || { echo "no network"; exit 100; }
		while [ "$1" != download ]; do shift; done
		shift
		for name; do
			read -r _ version files < <(grep "^$name " "$OFFERS")
			mkdir -p tree/DEBIAN
			for file in $files; do
				mkdir -p "tree/$(dirname "$file")"
				echo "$name $version" >"tree/$file"
			done
			printf '%s\n' "Package: $name" "Version: $version" "Architecture: amd64" \
				"Maintainer: nobody" "Description: none" >tree/DEBIAN/control
			dpkg-deb -Znone -b tree "$name.deb"
			rm -r tree
		done
	END
	chmod 755 bin/*
	touch offers offers.net
}

# offer RELEASE VERSION: in the layout of Debian 12
offer() {
	echo "linux-image-$1 $2 boot/vmlinuz-$1 lib/modules/$1/kernel/a.ko" >>offers
}

# unpacked SERIES VERSION: that is what a series is now
unpacked() {
	[ "$(vmtest/kernel "$1")" = "$PWD/build/vmtest/kernels/$1" ]
	grep " $2\$" "build/vmtest/kernels/$1/package"
	grep " $2\$" "build/vmtest/kernels/$1/vmlinuz"
	compgen -G "build/vmtest/kernels/$1/lib/modules/*/kernel"
}

@test "the newest of a series, for ordinary machines; replaced by a newer one" {
	offer 6.12.9+deb12-amd64 6.12.9-1
	offer 6.12.10+deb12-amd64 6.12.10-1
	offer 6.12.11+deb12-cloud-amd64 6.12.11-1
	offer 6.12.11+deb12-amd64-unsigned 6.12.11-1
	offer 6.1.0-9-amd64 6.1.90-1
	unpacked 6.12 6.12.10-1
	unpacked 6.1 6.1.90-1
	: >offers
	offer 6.12.11+deb12-amd64 6.12.11-1
	offer 6.1.0-9-amd64 6.1.91-1
	unpacked 6.12 6.12.11-1
	unpacked 6.1 6.1.91-1
}

@test "without a network, or with an older offer, what is there stays" {
	offer 6.12.9+deb12-amd64 6.12.9-1
	run ! vmtest/kernel 6.1
	[[ $output == *"take one of: 6.12"* ]]
	unpacked 6.12 6.12.9-1
	offer 6.12.10+deb12-amd64 6.12.10-1
	rm offers.net
	unpacked 6.12 6.12.9-1
	: >offers
	unpacked 6.12 6.12.9-1
	[ "$(vmtest/kernel -l)" = 6.12 ]
	offer 6.12.8+deb12-amd64 6.12.8-1
	touch offers.net
	unpacked 6.12 6.12.9-1
}

@test "packages that are split: an empty image, the kernel with its modules" {
	local r=7.2.13+deb14-amd64

	printf '%s\n' "linux-image-$r 7.2.13-1" "linux-binary-$r 7.2.13-1 usr/lib/modules/$r/vmlinuz" \
		"linux-modules-$r 7.2.13-1 usr/lib/modules/$r/kernel/a.ko" >offers
	unpacked 7.2 7.2.13-1
}

@test "-l lists the series that apt offers" {
	offer 6.12.9+deb12-amd64 6.12.9-1
	offer 6.12.10+deb12-amd64 6.12.10-1
	offer 6.1.0-9-amd64 6.1.90-1
	[ "$(vmtest/kernel -l | xargs)" = "6.1 6.12" ]
}
