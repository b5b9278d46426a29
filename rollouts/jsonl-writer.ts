import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { promisify } from "node:util";

const sync = promisify(fdatasync);
const chunkBytes = 65_536;
const newline = 0x0a;

/** Where a record stands in its file, in bytes. */
export interface Place {
  readonly offset: number;
  readonly length: number;
}

/**
 * An append-only file of JSON lines. A line is handed to the system whole and at once, so that the death of this process
 * loses none that was acknowledged; one that a dying machine tore is cut off when the file is opened (field-case-093).
 */
export class JsonlWriter {
  /** Bytes of a torn last line that were cut off at opening. */
  readonly torn: number;
  readonly #fd: number;
  #size: number;
  #dirty = false;

  /** Opens the file, making it where it is missing. */
  constructor(readonly path: string) {
    this.#fd = openSync(path, "a+");
    const { size } = fstatSync(this.#fd);
    this.#size = endOfLastLine(this.#fd, size);
    this.torn = size - this.#size;
    if (this.torn > 0) ftruncateSync(this.#fd, this.#size);
  }

  /** Bytes of all records. */
  get size(): number {
    return this.#size;
  }

  /** Appends one record. */
  append(record: unknown): Place {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    const place = { offset: this.#size, length: line.length };
    let written = 0;
    while (written < line.length) written += writeSync(this.#fd, line, written);
    this.#size += line.length;
    this.#dirty = true;
    return place;
  }

  /** Makes what was written safe against the death of the machine. */
  async sync(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    await sync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Bytes up to the end of the last whole line, searched from the end. */
function endOfLastLine(fd: number, size: number): number {
  const chunk = Buffer.alloc(chunkBytes);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkBytes);
    const read = readSync(fd, chunk, 0, end - start, start);
    const at = chunk.lastIndexOf(newline, read - 1);
    if (read > 0 && at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}
