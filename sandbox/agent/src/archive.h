// Trees of files as a tar: UNPACK and PACK.
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "agent.h"

void archive_unpack(struct agent *agent, uint32_t id, struct bytes payload);
void archive_pack(struct agent *agent, uint32_t id, struct bytes payload);

#endif
