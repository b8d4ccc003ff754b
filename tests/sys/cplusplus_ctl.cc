/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnetx/ctl.h in C++: all functions are linked. Against an lnetxd, named by its socket. */
#include <lnetx/ctl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Free {
	void operator()(lx_ctl *ctl) const { lx_ctl_free(ctl); }
};

using Ctl = std::unique_ptr<lx_ctl, Free>;

std::string version(lx_ctl *ctl)
{
	lx_ctl_row row;
	std::string found;

	if (lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_DAEMON, nullptr))
		return lx_ctl_why(ctl)->text;
	while (lx_ctl_next(ctl, &row) == 1) {
		lx_ctl_value value = lx_ctl_value();

		while (lx_ctl_each(&row, &value))
			if (value.type == LX_CTL_TEXT && !std::strcmp(value.key, "version"))
				found = value.text;
		if (lx_ctl_get(&row, "pid", &value) || lx_ctl_int(&row, "pid", 0) != value.number ||
		    found != lx_ctl_text(&row, "version"))
			found += ", contradicting itself";
	}
	return found;
}

} // namespace

int main(int argc, char **argv)
{
	const lx_ctl_arg args[] = { { "colour", "red" }, { nullptr, nullptr } };
	lx_ctl *made;
	char value[24];

	if (argc != 2 || lx_ctl_new(argv[1], &made))
		return 2;
	Ctl ctl(made);
	lx_ctl_set_timeout(made, 30000);
	if (lx_ctl_tunable_set(made, "lnet", "lnet_retry_count", "3") ||
	    lx_ctl_tunable_get(made, "lnet", "lnet_retry_count", value, sizeof(value)))
		return std::fprintf(stderr, "%s\n", lx_ctl_why(made)->text), 1;
	std::printf("lnetxd %s, %s %s, ping 0@lo: %d\n", version(made).c_str(),
		    lx_ctl_object_name(LX_CTL_TUNABLE), value, lx_ctl_ping(made, "0@lo", 1000));
	return lx_ctl_do(made, LX_CTL_ADD, LX_CTL_NET, args) == -EINVAL &&
	       lx_ctl_why(made)->origin == LX_CTL_FROM_CALLER && lx_ctl_fd(made) >= 0 ? 0 : 1;
}
