#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { LEAST_RING = 4096, LARGEST_RING = 16 * 1024 * 1024, MAX_TEXTS = 65536 };

// A list of texts with a NULL behind them.
static char **read_texts(struct reader *r) {
  uint32_t count = read_u32(r);
  // Each takes at least its size.
  if (r->broken || count > MAX_TEXTS || count > r->left / 4) {
    r->broken = true;
    return NULL;
  }
  char **texts = must_alloc(((size_t)count + 1) * sizeof *texts);
  for (uint32_t i = 0; i < count; i += 1) texts[i] = read_text(r);
  return texts;
}

static void free_texts(char **texts) {
  for (size_t i = 0; texts != NULL && texts[i] != NULL; i += 1) free(texts[i]);
  free(texts);
}

bool read_command_spec(struct bytes payload, struct command_spec *spec) {
  struct reader r = reader_of(payload);
  *spec = (struct command_spec){0};
  spec->flags = read_u8(&r);
  spec->overflow = read_u8(&r);
  spec->columns = read_u16(&r);
  spec->rows = read_u16(&r);
  spec->cap = read_u64(&r);
  spec->ring_bytes = read_u32(&r);
  spec->timeout_ms = read_u64(&r);
  spec->grace_ms = read_u32(&r);
  spec->cwd = read_text(&r);
  spec->user = read_text(&r);
  spec->argv = read_texts(&r);
  spec->env = read_texts(&r);
  uint32_t size = read_u32(&r);
  spec->stdin_bytes = read_rest(&r);
  bool sound = !r.broken && spec->stdin_bytes.size == size && spec->overflow <= KILL_ABOVE && spec->flags < 16 &&
               spec->ring_bytes >= LEAST_RING && spec->ring_bytes <= LARGEST_RING && spec->argv[0] != NULL &&
               spec->cwd[0] == '/' && spec->timeout_ms < UINT64_MAX / 4;
  if (!sound) free_command_spec(spec);
  return sound;
}

void free_command_spec(struct command_spec *spec) {
  free(spec->cwd);
  free(spec->user);
  free_texts(spec->argv);
  free_texts(spec->env);
  *spec = (struct command_spec){0};
}
