/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
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
	ret_info->state = info.tcpi_state;
	ret_info->received = info.tcpi_bytes_received;
	ret_info->window = info.tcpi_snd_wnd;
	ret_info->own_window = info.tcpi_rcv_ssthresh;
	ret_info->quiet_ms = info.tcpi_last_ack_recv < info.tcpi_last_data_recv
				     ? info.tcpi_last_ack_recv
				     : info.tcpi_last_data_recv;
	ret_info->repeats = info.tcpi_retransmits;
	ret_info->srtt_us = info.tcpi_rtt;
	ret_info->rto_us = info.tcpi_rto;
	ret_info->acked = info.tcpi_bytes_acked;
	ret_info->sent = info.tcpi_bytes_sent;
	ret_info->resent = info.tcpi_bytes_retrans;
	ret_info->unacked = info.tcpi_unacked;
	ret_info->cwnd = info.tcpi_snd_cwnd;
	ret_info->unsent = info.tcpi_notsent_bytes;
	ret_info->rtt_us = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
	return 0;
}

int lx_tcpinfo_mss(int fd, int family)
{
	int mtu, header = family == AF_INET6 ? sizeof(struct ip6_hdr) : sizeof(struct iphdr);
	socklen_t len = sizeof(mtu), info_len;
	struct tcp_info info = { 0 };
	int r;

	info_len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len))
		return -errno;
	header += sizeof(struct tcphdr);
	if (info.tcpi_options & TCPI_OPT_TIMESTAMPS)
		header += 12;
	r = family == AF_INET6 ? getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &len)
			       : getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len);
	/* No route at the moment: use the last value. */
	if (r || mtu - header > (int)info.tcpi_snd_mss)
		return info.tcpi_snd_mss;
	return mtu > header ? mtu - header : 1;
}
