// Ports of the box's loopback: LISTEN, CONNECT, and the connections over them.
#ifndef NET_H
#define NET_H

#include "agent.h"

void net_listen(struct agent *agent, uint32_t id, struct bytes payload);
void net_connect(struct agent *agent, uint32_t id, struct bytes payload);

#endif
