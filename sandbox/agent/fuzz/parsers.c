// libFuzzer target: everything of the agent that reads bytes it was sent, before anything is done.
//   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc fuzz/parsers.c
//     src/{frames,wire,memory,command_spec,tar}.c -o /tmp/parsers && /tmp/parsers -runs=1000000 fuzz/corpus
#include <stdlib.h>
#include <string.h>

#include "../src/command.h"
#include "../src/frames.h"
#include "../src/tar.h"

static void read_frames(struct bytes all) {
  struct frame frame;
  size_t used;
  while (parse_frame(all, &frame, &used) == PARSED_FRAME) {
    struct command_spec spec;
    if (frame.type == EXEC && read_command_spec(frame.payload, &spec)) free_command_spec(&spec);
    struct reader r = reader_of(frame.payload);
    read_u64(&r);
    char *text = read_text(&r);
    if (text != NULL && strlen(text) > frame.payload.size) abort();
    free(text);
    all.at += used;
    all.size -= used;
  }
}

static void read_tar(struct bytes all) {
  struct tar_ahead ahead = {0};
  tar_read_pax(all.at, all.size, &ahead);
  tar_ahead_clear(&ahead);
  for (; all.size >= TAR_BLOCK; all.at += TAR_BLOCK, all.size -= TAR_BLOCK) {
    struct tar_entry entry;
    if (tar_read_head(all.at, &entry) && entry.type != 0) {
      struct buffer again = {0};
      tar_add_head(&again, &entry);
      if (buffer_size(&again) % TAR_BLOCK != 0) abort();
      buffer_free(&again);
    }
    tar_entry_clear(&entry);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct bytes all = {.at = data, .size = size};
  read_frames(all);
  read_tar(all);
  return 0;
}
