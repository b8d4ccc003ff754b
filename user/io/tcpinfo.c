/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "tcpinfo.h"

int lx_tcpinfo_read(int fd, struct lx_tcpinfo *ret_info)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	ret_info->received = info.tcpi_bytes_received;
	ret_info->window = info.tcpi_snd_wnd;
	return 0;
}
