// The processes of a box, as /proc tells them.
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Signals every process below `root`, which itself is none of them; 0: only counts. Answers how many there are.
size_t tree_signal(pid_t root, int signal);

// Kills the children of this process for which `spared` is false: what lost its keeper.
void kill_strays(bool (*spared)(const void *of, pid_t pid), const void *of);

#endif
