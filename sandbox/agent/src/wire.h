// Constants and readers of the protocol (../PROTOCOL.md).
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAD_BYTES = 12, MAX_PAYLOAD = 65536, MAX_EXEC_PAYLOAD = 4 * 1024 * 1024, FIRST_CREDIT = 1024 * 1024 };

enum frame_type {
  EXEC = 0x01,
  ATTACH,
  STDIN,
  SIGNAL,
  KILL,
  RESIZE,
  RELEASE,
  READ = 0x10,
  WRITE,
  STAT,
  LIST,
  MKDIR,
  REMOVE,
  MOVE,
  UNPACK,
  PACK,
  LISTEN = 0x20,
  CONNECT,
  LEASE = 0x30,
  PING,
  STOP,
  DATA = 0x40,
  CREDIT,
  CANCEL,
  COMMIT,
  HELLO = 0x80,
  REPLY,
  END,
  GAP,
  EXIT,
  ACCEPT,
};

// Why a command ended, as ExitReason of the contract counts.
enum reason { EXITED = 1, SIGNALLED = 2, TIMED_OUT = 3, CANCELLED = 4, OUT_OF_MEMORY = 5, OUTPUT_LIMIT = 6 };

// Bytes that are not owned and have no terminator.
struct bytes {
  const uint8_t *at;
  size_t size;
};

// Reads a payload from its start; once something was missing, `broken` is set and all that follows reads as 0.
struct reader {
  const uint8_t *at;
  size_t left;
  bool broken;
};

struct reader reader_of(struct bytes payload);
uint8_t read_u8(struct reader *r);
uint16_t read_u16(struct reader *r);
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);
// A text: no NUL in it. Answers a copy that the caller frees; NULL where the payload is broken.
char *read_text(struct reader *r);
// What is left, as it is.
struct bytes read_rest(struct reader *r);

void put_u16(uint8_t *at, uint16_t value);
void put_u32(uint8_t *at, uint32_t value);
void put_u64(uint8_t *at, uint64_t value);

#endif
