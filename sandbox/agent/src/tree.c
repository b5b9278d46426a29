#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

struct process {
  pid_t pid;
  pid_t parent;
  bool below;
};

struct processes {
  struct process *at;
  size_t count;
  size_t room;
};

// The parent of a process that still runs; -1 for zombies and what has gone.
static pid_t parent_of(const char *pid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  // The name of the program may hold anything, parentheses too.
  const char *rest = strrchr(text, ')');
  char state;
  int parent;
  if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2) return -1;
  return state == 'Z' || state == 'X' ? -1 : parent;
}

static struct processes list_processes(void) {
  struct processes all = {0};
  DIR *directory = opendir("/proc");
  if (directory == NULL) return all;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    pid_t parent = parent_of(entry->d_name);
    if (parent < 0) continue;
    if (all.count == all.room) {
      all.room = all.room == 0 ? 64 : all.room * 2;
      all.at = must_realloc(all.at, all.room * sizeof *all.at);
    }
    all.at[all.count++] = (struct process){.pid = (pid_t)atoi(entry->d_name), .parent = parent, .below = false};
  }
  closedir(directory);
  return all;
}

static int by_pid(const void *a, const void *b) {
  return ((const struct process *)a)->pid - ((const struct process *)b)->pid;
}

static struct process *find_process(struct processes *all, pid_t pid) {
  struct process wanted = {.pid = pid};
  return all->count == 0 ? NULL : bsearch(&wanted, all->at, all->count, sizeof wanted, by_pid);
}

// Marks what is below `root`, by walking up from each process.
static size_t mark_below(struct processes *all, pid_t root) {
  size_t count = 0;
  if (all->count > 0) qsort(all->at, all->count, sizeof *all->at, by_pid);
  for (size_t i = 0; i < all->count; i += 1) {
    struct process *above = &all->at[i];
    // Pids may have been given anew while they were listed: no walk is longer than the list.
    for (size_t steps = 0; above != NULL && steps <= all->count; steps += 1) {
      if (above->parent == root || above->below) {
        all->at[i].below = true;
        count += 1;
        break;
      }
      above = find_process(all, above->parent);
    }
  }
  return count;
}

size_t tree_signal(pid_t root, int signal) {
  struct processes all = list_processes();
  size_t count = mark_below(&all, root);
  // What is stopped cannot have children while its siblings are killed.
  if (signal == SIGKILL) {
    for (size_t i = 0; i < all.count; i += 1)
      if (all.at[i].below) kill(all.at[i].pid, SIGSTOP);
  }
  for (size_t i = 0; signal != 0 && i < all.count; i += 1)
    if (all.at[i].below) kill(all.at[i].pid, signal);
  free(all.at);
  return count;
}

void kill_strays(bool (*spared)(const void *of, pid_t pid), const void *of) {
  struct processes all = list_processes();
  for (size_t i = 0; i < all.count; i += 1)
    if (all.at[i].parent == getpid() && !spared(of, all.at[i].pid)) kill(all.at[i].pid, SIGKILL);
  free(all.at);
}
