#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// The box's own files are read, never a library's name services: those of a static program are the host's.
struct user find_user(const char *name) {
  char *end;
  unsigned long number = strtoul(name, &end, 10);
  bool numeric = name[0] != '\0' && *end == '\0' && number < UINT32_MAX;
  struct user user = {.uid = -1, .gid = -1};
  if (numeric) user = (struct user){.uid = (int64_t)number, .gid = (int64_t)number};
  FILE *passwd = fopen("/etc/passwd", "re");
  if (passwd == NULL) return user;
  for (const struct passwd *entry; (entry = fgetpwent(passwd)) != NULL;) {
    if (numeric ? entry->pw_uid != (uid_t)number : strcmp(entry->pw_name, name) != 0) continue;
    user = (struct user){.uid = entry->pw_uid, .gid = entry->pw_gid};
    snprintf(user.name, sizeof user.name, "%s", entry->pw_name);
    snprintf(user.home, sizeof user.home, "%s", entry->pw_dir);
    break;
  }
  fclose(passwd);
  return user;
}

// The groups of a user beside its own; none where there is no entry for it.
static size_t groups_of(const struct user *user, gid_t *groups, size_t most) {
  size_t count = 0;
  FILE *file = user->name[0] == '\0' ? NULL : fopen("/etc/group", "re");
  if (file == NULL) return 0;
  for (const struct group *entry; count < most && (entry = fgetgrent(file)) != NULL;) {
    for (char **member = entry->gr_mem; *member != NULL; member += 1) {
      if (strcmp(*member, user->name) != 0) continue;
      groups[count++] = entry->gr_gid;
      break;
    }
  }
  fclose(file);
  return count;
}

// The ends that the command gets.
struct leader_ends {
  int in;
  int out;
  int err;
};

static void close_known(int fd) {
  if (fd >= 0) close(fd);
}

static bool open_pipes(const struct command_spec *spec, struct keeper_ends *ours, struct leader_ends *theirs) {
  int pair[2];
  if (spec->flags & FLAG_TTY) {
    ours->out = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];
    if (ours->out < 0 || grantpt(ours->out) != 0 || unlockpt(ours->out) != 0) return false;
    if (ptsname_r(ours->out, name, sizeof name) != 0) return false;
    theirs->out = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs->out < 0) return false;
    struct winsize size = {.ws_col = spec->columns, .ws_row = spec->rows};
    ioctl(ours->out, TIOCSWINSZ, &size);
    theirs->in = theirs->err = theirs->out;
    ours->in = fcntl(ours->out, F_DUPFD_CLOEXEC, 3);
    return ours->in >= 0;
  }
  if (spec->stdin_bytes.size == 0 && !(spec->flags & FLAG_STDIN_OPEN)) {
    theirs->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  } else if (pipe2(pair, O_CLOEXEC) == 0) {
    theirs->in = pair[0];
    ours->in = pair[1];
  }
  if (theirs->in < 0 || pipe2(pair, O_CLOEXEC) != 0) return false;
  ours->out = pair[0];
  theirs->out = pair[1];
  if (spec->flags & FLAG_MERGE) {
    theirs->err = theirs->out;
    return true;
  }
  if (pipe2(pair, O_CLOEXEC) != 0) return false;
  ours->err = pair[0];
  theirs->err = pair[1];
  return true;
}

static void close_leader_ends(const struct leader_ends *theirs) {
  close_known(theirs->in);
  if (theirs->out != theirs->in) close_known(theirs->out);
  if (theirs->err != theirs->out && theirs->err != theirs->in) close_known(theirs->err);
}

// Looks for a program without a slash on the PATH that the command gets.
static int execute(const struct command_spec *spec) {
  const char *program = spec->argv[0];
  if (strchr(program, '/') != NULL) {
    execve(program, spec->argv, spec->env);
    return errno;
  }
  const char *path = "/usr/local/bin:/usr/bin:/bin";
  for (size_t i = 0; spec->env[i] != NULL; i += 1)
    if (strncmp(spec->env[i], "PATH=", 5) == 0) path = spec->env[i] + 5;
  int error = program[0] == '\0' ? ENOENT : 0;
  while (error == 0 || error == ENOENT || error == ENOTDIR || error == EACCES) {
    const char *end = strchrnul(path, ':');
    char full[4096];
    int size = snprintf(full, sizeof full, "%.*s%s%s", (int)(end - path), path, end == path ? "./" : "/", program);
    if (size > 0 && (size_t)size < sizeof full) {
      execve(full, spec->argv, spec->env);
      // One that may not be run tells more than one that is not there.
      if (error != EACCES || (errno != ENOENT && errno != ENOTDIR)) error = errno;
    }
    if (*end == '\0') break;
    path = end + 1;
  }
  return error == 0 || error == ENOTDIR ? ENOENT : error;
}

// Whom a command is to be.
struct identity {
  bool other;  // than the agent
  struct user user;
  gid_t groups[64];
  size_t group_count;
};

// Found before the command has a process of its own: that shares memory with its keeper. Answers 0 or an error.
static int find_identity(const struct command_spec *spec, struct identity *identity) {
  *identity = (struct identity){0};
  if (spec->user[0] == '\0') return 0;
  identity->user = find_user(spec->user);
  if (identity->user.uid < 0) return ENOENT;
  identity->other = (uid_t)identity->user.uid != getuid() || (gid_t)identity->user.gid != getgid();
  identity->group_count = groups_of(&identity->user, identity->groups, 64);
  return 0;
}

static int become(const struct identity *identity) {
  if (!identity->other) return 0;
  uid_t uid = (uid_t)identity->user.uid;
  gid_t gid = (gid_t)identity->user.gid;
  if (setgroups(identity->group_count, identity->groups) != 0) return errno;
  if (setresgid(gid, gid, gid) != 0) return errno;
  return setresuid(uid, uid, uid) != 0 ? errno : 0;
}

// Becomes the command. Answers only where it cannot: why.
static int lead(const struct command_spec *spec, const struct identity *identity, const struct leader_ends *ends) {
  sigset_t none;
  sigemptyset(&none);
  for (int s = 1; s < NSIG; s += 1) signal(s, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  if (spec->flags & FLAG_TTY) ioctl(ends->out, TIOCSCTTY, 0);
  // The ends lie above 2, for those were open.
  dup2(ends->in, 0);
  dup2(ends->out, 1);
  dup2(ends->err, 2);
  umask(022);
  int error = become(identity);
  if (error != 0) return error;
  if (chdir(spec->cwd) != 0) return errno;
  return execute(spec);
}

// Closes everything but the report and what the command gets.
static void close_others(int report, const struct leader_ends *ends) {
  unsigned long most = 65536;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most) most = limit.rlim_cur;
  // From one that stays to the next one, so that the kernel does it in a few calls.
  for (unsigned from = 0; from < most;) {
    unsigned until = (unsigned)most;
    const int stay[] = {report, ends->in, ends->out, ends->err};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i += 1)
      if (stay[i] >= 0 && (unsigned)stay[i] >= from && (unsigned)stay[i] < until) until = (unsigned)stay[i];
    if (until > from) {
#ifdef SYS_close_range
      if (syscall(SYS_close_range, from, until - 1, 0) != 0)
#endif
        for (unsigned fd = from; fd < until; fd += 1) close((int)fd);
    }
    from = until + 1;
  }
}

static uint64_t cpu_of(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
         (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void tell(int report, const struct keeper_report *what) {
  while (write(report, what, sizeof *what) < 0 && errno == EINTR) {
  }
}

// Reaps everything below it; goes when nothing is left.
static void keep(int report, pid_t leader) {
  struct keeper_report end = {.kind = 2, .pid = leader};
  for (;;) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, 0, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) _exit(0);
    end.cpu_us += cpu_of(&usage);
    if (pid != leader) continue;
    end.status = status;
    end.ended_at_us = now_us();
    // Children that have ended already are no leftovers.
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) end.cpu_us += cpu_of(&usage);
    end.others = pid == 0 ? 1 : 0;
    tell(report, &end);
  }
}

static _Noreturn void be_keeper(const struct command_spec *spec, int report, const struct leader_ends *ends) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "keeper");
  close_others(report, ends);
  struct identity identity;
  // Shared with the child until it has become the command.
  volatile int error = find_identity(spec, &identity);
  pid_t leader = error != 0 ? 0 : vfork();
  if (error == 0 && leader == 0) {
    error = lead(spec, &identity, ends);
    _exit(127);
  }
  if (leader < 0) error = errno;
  close_leader_ends(ends);
  struct keeper_report start = {.kind = 1, .error = error, .pid = leader};
  tell(report, &start);
  if (error != 0) {
    if (leader > 0) waitpid(leader, NULL, 0);
    _exit(0);
  }
  keep(report, leader);
  _exit(0);
}

pid_t keeper_start(const struct command_spec *spec, struct keeper_ends *ends) {
  struct leader_ends theirs = {.in = -1, .out = -1, .err = -1};
  int report[2] = {-1, -1};
  *ends = (struct keeper_ends){.in = -1, .out = -1, .err = -1, .report = -1};
  pid_t keeper = -1;
  if (open_pipes(spec, ends, &theirs) && pipe2(report, O_CLOEXEC) == 0) {
    ends->report = report[0];
    keeper = fork();
    if (keeper == 0) be_keeper(spec, report[1], &theirs);
  }
  int error = errno;
  close_leader_ends(&theirs);
  close_known(report[1]);
  if (keeper < 0) {
    close_known(ends->in);
    close_known(ends->out);
    close_known(ends->err);
    close_known(report[0]);
  }
  errno = error;
  return keeper;
}
