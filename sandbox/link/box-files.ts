import type { BoxLink } from "./box-link.js";
import { frameType } from "./frame.js";
import { PayloadReader, PayloadWriter } from "./payload.js";

/** What a path is. */
export type EntryKind = "file" | "directory" | "symlink" | "other";

/** Facts of a path of a box. */
export interface Entry {
  readonly kind: EntryKind;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Logical bytes of a file. */
  readonly size: bigint;
  readonly modified: { readonly seconds: bigint; readonly nanos: number };
  /** Last element of the path; any bytes but `/` and NUL. */
  readonly name: Buffer;
  /** Where a symlink points; empty of anything else. */
  readonly linkTarget: Buffer;
}

/** Most that is taken of a file or a tree. */
export interface Bounds {
  readonly maxBytes: number | bigint;
  readonly maxEntries: number | bigint;
}

const kinds: readonly EntryKind[] = ["other", "file", "directory", "symlink", "other"];

/** The files of a box, as its agent sees them: no path is ever resolved on the host. All reject with BoxError. */
export class BoxFiles {
  constructor(private readonly link: BoxLink) {}

  /** A file: its facts, then its bytes. */
  async read(
    path: string,
    { offset = 0n, maxBytes }: { readonly offset?: bigint; readonly maxBytes: number | bigint },
  ): Promise<{ entry: Entry; content: AsyncGenerator<Buffer> }> {
    const payload = new PayloadWriter().u64(offset).u64(maxBytes).path(path).done();
    const channel = this.link.open(frameType.read, payload);
    const entry = entryOf(new PayloadReader(await channel.reply));
    return { entry, content: contentOf(channel) };
  }

  /** Writes a file whole or not at all; `mode` undefined: that of the file which it replaces, else 0644. */
  async write(
    path: string,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { mode, user = "" }: { readonly mode?: number | undefined; readonly user?: string | undefined } = {},
  ): Promise<Entry> {
    const payload = new PayloadWriter()
      .u32(mode ?? 0xffff_ffff)
      .text(user)
      .path(path)
      .done();
    return entryOf(new PayloadReader(await this.#upload(frameType.write, payload, content)));
  }

  async stat(path: string, followLinks = false): Promise<Entry> {
    const payload = new PayloadWriter()
      .u8(followLinks ? 1 : 0)
      .path(path)
      .done();
    return entryOf(new PayloadReader(await this.link.request(frameType.stat, payload)));
  }

  /** What is in a directory, by name in byte order. */
  async *list(path: string): AsyncGenerator<Entry> {
    const channel = this.link.open(frameType.list, new PayloadWriter().path(path).done());
    await channel.reply;
    let left: Buffer = Buffer.alloc(0);
    for await (const piece of contentOf(channel)) {
      left = left.length === 0 ? piece : Buffer.concat([left, piece]);
      while (left.length >= 4 && left.length >= 4 + left.readUInt32LE(0)) {
        const end = 4 + left.readUInt32LE(0);
        yield entryOf(new PayloadReader(left.subarray(4, end)));
        left = left.subarray(end);
      }
    }
  }

  /** Makes a directory and its parents. Answers whether it was there. */
  async makeDirectory(path: string, mode = 0o755): Promise<boolean> {
    return await this.#flag(frameType.mkdir, new PayloadWriter().u32(mode).path(path));
  }

  /** Removes a path; a link is removed, not followed. Answers whether there was nothing. */
  async remove(path: string, recursive = false): Promise<boolean> {
    return await this.#flag(frameType.remove, new PayloadWriter().u8(recursive ? 1 : 0).path(path));
  }

  async move(source: string, target: string, overwrite = false): Promise<void> {
    const payload = new PayloadWriter()
      .u8(overwrite ? 1 : 0)
      .text(source)
      .text(target);
    await this.link.request(frameType.move, payload.done());
  }

  /** Unpacks a tar into a directory, inside the box. Answers entries and logical bytes. */
  async unpack(
    path: string,
    tar: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { maxBytes, maxEntries, user = "" }: Bounds & { readonly user?: string | undefined },
  ): Promise<{ entries: bigint; bytes: bigint }> {
    const payload = new PayloadWriter().u64(maxBytes).u64(maxEntries).text(user).path(path).done();
    const answer = new PayloadReader(await this.#upload(frameType.unpack, payload, tar));
    return { entries: answer.u64(), bytes: answer.u64() };
  }

  /** A path as a tar, packed inside the box. */
  async pack(path: string, { maxBytes, maxEntries }: Bounds): Promise<AsyncGenerator<Buffer>> {
    const payload = new PayloadWriter().u64(maxBytes).u64(maxEntries).path(path).done();
    const channel = this.link.open(frameType.pack, payload);
    await channel.reply;
    return contentOf(channel);
  }

  async #upload(
    type: typeof frameType.write | typeof frameType.unpack,
    payload: Buffer,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Buffer> {
    const channel = this.link.open(type, payload);
    await channel.reply;
    try {
      for await (const bytes of content) await channel.write(bytes);
      return await channel.finish();
    } catch (error) {
      channel.cancel();
      throw error;
    }
  }

  async #flag(
    type: typeof frameType.mkdir | typeof frameType.remove,
    payload: PayloadWriter,
  ): Promise<boolean> {
    return new PayloadReader(await this.link.request(type, payload.done())).u8() === 1;
  }
}

async function* contentOf(channel: ReturnType<BoxLink["open"]>): AsyncGenerator<Buffer> {
  let whole = false;
  try {
    for await (const { payload } of channel.frames()) yield payload;
    whole = true;
  } finally {
    if (!whole) channel.cancel();
  }
}

function entryOf(reader: PayloadReader): Entry {
  return {
    kind: kinds[reader.u8()] ?? "other",
    mode: reader.u32(),
    uid: reader.u32(),
    gid: reader.u32(),
    size: reader.u64(),
    modified: { seconds: reader.i64(), nanos: reader.u32() },
    name: reader.textBytes(),
    linkTarget: reader.textBytes(),
  };
}
