#include "tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 0, NAME_SIZE = 100, MODE = 100, UID = 108, GID = 116, SIZE = 124, MTIME = 136, SUM = 148, TYPE = 156 };
enum { LINK = 157, LINK_SIZE = 100, MAGIC = 257, PREFIX = 345, PREFIX_SIZE = 155 };
static const uint64_t MOST_OCTAL = 077777777777u;

void tar_ahead_clear(struct tar_ahead *ahead) {
  free(ahead->name);
  free(ahead->link);
  *ahead = (struct tar_ahead){0};
}

void tar_entry_clear(struct tar_entry *entry) {
  free(entry->name);
  free(entry->link);
  *entry = (struct tar_entry){0};
}

size_t tar_padding(uint64_t size) { return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK); }

// A number of a head: octal, or binary where the first bit is set.
static bool read_number(const uint8_t *at, size_t size, uint64_t *value) {
  *value = 0;
  if (at[0] & 0x80) {
    if (at[0] != 0x80) return false;
    for (size_t i = 1; i < size; i += 1) {
      if (*value >> 55 != 0) return false;
      *value = *value << 8 | at[i];
    }
    return true;
  }
  size_t i = 0;
  while (i < size && at[i] == ' ') i += 1;
  for (; i < size && at[i] >= '0' && at[i] <= '7'; i += 1) *value = *value << 3 | (uint64_t)(at[i] - '0');
  return i == size || at[i] == ' ' || at[i] == '\0';
}

static char *copy_field(const uint8_t *at, size_t size) {
  size_t length = strnlen((const char *)at, size);
  char *text = must_alloc(length + 1);
  memcpy(text, at, length);
  return text;
}

static char *full_name(const uint8_t *block) {
  char *name = copy_field(block + NAME, NAME_SIZE);
  if (memcmp(block + MAGIC, "ustar\0", 6) != 0 || block[PREFIX] == '\0') return name;
  char *prefix = copy_field(block + PREFIX, PREFIX_SIZE);
  size_t size = strlen(prefix) + strlen(name) + 2;
  char *both = must_alloc(size);
  snprintf(both, size, "%s/%s", prefix, name);
  free(prefix);
  free(name);
  return both;
}

static uint64_t sum_of(const uint8_t *block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < TAR_BLOCK; i += 1) sum += i >= SUM && i < SUM + 8 ? ' ' : block[i];
  return sum;
}

bool tar_read_head(const uint8_t block[TAR_BLOCK], struct tar_entry *entry) {
  *entry = (struct tar_entry){0};
  bool zeros = true;
  for (size_t i = 0; zeros && i < TAR_BLOCK; i += 1) zeros = block[i] == 0;
  if (zeros) return true;
  uint64_t sum, mode, modified;
  if (!read_number(block + SUM, 8, &sum) || sum != sum_of(block)) return false;
  if (!read_number(block + MODE, 8, &mode) || !read_number(block + SIZE, 12, &entry->size)) return false;
  if (!read_number(block + MTIME, 12, &modified)) modified = 0;
  if (entry->size > INT64_MAX - TAR_BLOCK) return false;
  entry->type = block[TYPE] == '\0' ? '0' : (char)block[TYPE];
  entry->mode = (uint32_t)(mode & 07777);
  entry->modified = (int64_t)modified;
  entry->name = full_name(block);
  entry->link = copy_field(block + LINK, LINK_SIZE);
  // Old archives mark directories by their name alone.
  size_t length = strlen(entry->name);
  if (entry->type == '0' && length > 0 && entry->name[length - 1] == '/') entry->type = '5';
  return true;
}

static bool decimal(const char *text, uint64_t *value) {
  char *end;
  *value = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && (*end == '\0' || *end == '.');
}

static bool take_record(struct tar_ahead *ahead, const char *key, const char *value) {
  if (strcmp(key, "path") == 0) {
    free(ahead->name);
    ahead->name = must_copy(value);
  } else if (strcmp(key, "linkpath") == 0) {
    free(ahead->link);
    ahead->link = must_copy(value);
  } else if (strcmp(key, "size") == 0) {
    ahead->has_size = decimal(value, &ahead->size) && ahead->size <= INT64_MAX - TAR_BLOCK;
    return ahead->has_size;
  } else if (strcmp(key, "mtime") == 0) {
    uint64_t seconds;
    ahead->has_modified = decimal(value, &seconds) && seconds <= INT64_MAX;
    ahead->modified = ahead->has_modified ? (int64_t)seconds : 0;
  }
  return true;
}

bool tar_read_pax(const uint8_t *records, size_t size, struct tar_ahead *ahead) {
  while (size > 0) {
    size_t length = 0, digits = 0;
    while (digits < size && digits < 10 && records[digits] >= '0' && records[digits] <= '9')
      length = length * 10 + (size_t)(records[digits++] - '0');
    if (digits == 0 || digits >= size || records[digits] != ' ' || length > size || length < digits + 4) return false;
    if (records[length - 1] != '\n') return false;
    size_t text = length - digits - 2;
    char *record = must_alloc(text + 1);
    memcpy(record, records + digits + 1, text);
    char *equals = strchr(record, '=');
    // A NUL would cut the value short.
    bool sound = equals != NULL && strlen(record) == text;
    if (sound) {
      *equals = '\0';
      sound = take_record(ahead, record, equals + 1);
    }
    free(record);
    if (!sound) return false;
    records += length;
    size -= length;
  }
  return true;
}

static void put_octal(uint8_t *at, size_t size, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%0*llo", (int)size - 1, (unsigned long long)value);
  memcpy(at, text, size);
}

static void add_block(struct buffer *to, const struct tar_entry *entry, const char *name, const char *link) {
  uint8_t *block = buffer_grow(to, TAR_BLOCK);
  memset(block, 0, TAR_BLOCK);
  memcpy(block + NAME, name, strnlen(name, NAME_SIZE));
  memcpy(block + LINK, link, strnlen(link, LINK_SIZE));
  put_octal(block + MODE, 8, entry->mode);
  put_octal(block + UID, 8, 0);
  put_octal(block + GID, 8, 0);
  put_octal(block + SIZE, 12, entry->size > MOST_OCTAL ? MOST_OCTAL : entry->size);
  bool sane = entry->modified >= 0 && (uint64_t)entry->modified <= MOST_OCTAL;
  put_octal(block + MTIME, 12, sane ? (uint64_t)entry->modified : 0);
  block[TYPE] = (uint8_t)entry->type;
  memcpy(block + MAGIC, "ustar\00000", 8);
  char sum[8];
  snprintf(sum, sizeof sum, "%06llo", (unsigned long long)sum_of(block));
  memcpy(block + SUM, sum, 7);
  block[SUM + 7] = ' ';
}

static void add_record(struct buffer *to, const char *key, const char *value) {
  size_t bare = strlen(key) + strlen(value) + 3;
  size_t length = bare + 1;
  // The length counts its own digits.
  for (;;) {
    char digits[24];
    size_t whole = bare + (size_t)snprintf(digits, sizeof digits, "%zu", length);
    if (whole == length) break;
    length = whole;
  }
  char *at = (char *)buffer_grow(to, length + 1);
  snprintf(at, length + 1, "%zu %s=%s\n", length, key, value);
  to->end -= 1;
}

void tar_add_head(struct buffer *to, const struct tar_entry *entry) {
  struct buffer records = {0};
  if (strlen(entry->name) > NAME_SIZE) add_record(&records, "path", entry->name);
  if (strlen(entry->link) > LINK_SIZE) add_record(&records, "linkpath", entry->link);
  if (entry->size > MOST_OCTAL) {
    char size[24];
    snprintf(size, sizeof size, "%llu", (unsigned long long)entry->size);
    add_record(&records, "size", size);
  }
  size_t size = buffer_size(&records);
  if (size > 0) {
    const struct tar_entry pax = {.type = 'x', .mode = 0644, .size = size, .modified = entry->modified};
    add_block(to, &pax, "pax", "");
    buffer_add(to, buffer_at(&records), size);
    memset(buffer_grow(to, tar_padding(size)), 0, tar_padding(size));
  }
  buffer_free(&records);
  add_block(to, entry, entry->name, entry->link);
}
