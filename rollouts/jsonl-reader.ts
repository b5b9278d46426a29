import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Place } from "./jsonl-writer.js";

const chunkBytes = 1 << 20;
const newline = 0x0a;

/** A record with where it stands. */
export interface Placed<T> extends Place {
  readonly record: T;
}

/**
 * The records of a file of JSON lines, one at a time, from a byte on; none where the file is missing. A torn last line is
 * left out. Throws ConfigError where another line is no JSON: then somebody else wrote to the file.
 */
export function* readJsonl<T>(path: string, from = 0): Generator<Placed<T>> {
  let line = 0;
  for (const { bytes, offset } of readLines(path, from)) {
    line += 1;
    let record: T;
    try {
      record = JSON.parse(bytes.toString("utf8")) as T;
    } catch {
      throw new ConfigError([
        `${path}: line ${line}${from === 0 ? "" : ` behind byte ${from}`} is no JSON; the file was changed by something else`,
      ]);
    }
    yield { record, offset, length: bytes.length + 1 };
  }
}

function* readLines(path: string, from: number): Generator<{ bytes: Buffer; offset: number }> {
  if (!existsSync(path)) return;
  const fd = openSync(path, "r");
  try {
    // What is appended from here on is not read.
    const { size } = fstatSync(fd);
    let rest = Buffer.alloc(0);
    let offset = from;
    for (let position = from; position < size; ) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, size - position));
      const read = readSync(fd, chunk, 0, chunk.length, position);
      if (read === 0) return;
      position += read;
      const searched = rest.length;
      rest = Buffer.concat([rest, chunk.subarray(0, read)]);
      let start = 0;
      for (
        let end = rest.indexOf(newline, searched);
        end >= 0;
        start = end + 1, end = rest.indexOf(newline, start)
      ) {
        yield { bytes: rest.subarray(start, end), offset: offset + start };
      }
      rest = rest.subarray(start);
      offset += start;
    }
  } finally {
    closeSync(fd);
  }
}
