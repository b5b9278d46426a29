import type { BoxLink } from "./box-link.js";
import { frameType } from "./frame.js";
import { PayloadReader, PayloadWriter } from "./payload.js";

/** A command to be run in a box. */
export interface CommandSpec {
  readonly argv: readonly string[];
  /** Everything that it has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /** Name or number; absent: the agent's own user. */
  readonly user?: string | undefined;
  /** A terminal of this size. */
  readonly tty?: { readonly columns: number; readonly rows: number } | undefined;
  readonly mergeStderr?: boolean | undefined;
  readonly stdin?: Uint8Array | undefined;
  readonly keepStdinOpen?: boolean | undefined;
  /** Readers hold the command up; else what nobody has read is dropped when its ring is full. */
  readonly hold?: boolean | undefined;
  readonly output?: OutputCap | undefined;
  /** Bytes of each stream that are kept for readers. */
  readonly ringBytes: number;
  readonly timeoutMs?: number | undefined;
  /** Between TERM and KILL. */
  readonly graceMs: number;
}

/** A bound of each stream of a command's output. */
export interface OutputCap {
  readonly maxBytes: number;
  readonly above: "keep-head" | "keep-tail" | "kill";
}

/** Places in the output of a command. */
export interface Offsets {
  readonly stdout: bigint;
  readonly stderr: bigint;
}

/** Why a command ended, as the agent tells it. Out of memory is seen from outside only. */
export type CommandEndReason = "exited" | "signalled" | "timeout" | "cancelled" | "output-limit";

/** How a command ended. */
export interface CommandExit {
  readonly reason: CommandEndReason;
  readonly status: { readonly code: number } | { readonly signal: number };
  /** Bytes that it wrote, kept or not. */
  readonly written: Offsets;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  readonly wallUs: bigint;
  readonly cpuUs: bigint;
  /** Processes of its tree that live on. */
  readonly leftover: number;
}

/** What a reader of a command's output gets. */
export type CommandEvent =
  | {
      readonly kind: "output";
      readonly stream: "stdout" | "stderr";
      readonly offset: bigint;
      readonly data: Buffer;
    }
  | { readonly kind: "gap"; readonly until: Offsets }
  | { readonly kind: "exit"; readonly exit: CommandExit };

/** Numbers by which EXIT and KILL tell reasons. */
const reasons: Readonly<Record<number, CommandEndReason>> = {
  1: "exited",
  2: "signalled",
  3: "timeout",
  4: "cancelled",
  6: "output-limit",
};

const start: Offsets = { stdout: 0n, stderr: 0n };

/** A command in a box. */
export class BoxCommand {
  /** Its process id in the box; rejects with BoxError where it could not be started. */
  readonly started: Promise<number>;
  readonly #id: number;

  private constructor(
    private readonly link: BoxLink,
    { id, reply }: { readonly id: number; readonly reply: Promise<Buffer> },
  ) {
    this.#id = id;
    this.started = reply.then((payload) => new PayloadReader(payload).u32());
    this.started.catch(() => {});
  }

  /** Starts it. What follows may be asked for at once: the agent does all in order. */
  static start(link: BoxLink, spec: CommandSpec): BoxCommand {
    return new BoxCommand(link, link.ask(frameType.exec, payloadOf(spec)));
  }

  /**
   * Its output from the given offsets, and its end. Whoever stops reading early lets go of it. `creditBytes`: how far the
   * agent may run ahead of who reads.
   */
  async *read(from: Offsets = start, creditBytes = 256 * 1024): AsyncGenerator<CommandEvent> {
    const payload = new PayloadWriter()
      .u32(this.#id)
      .u64(from.stdout)
      .u64(from.stderr)
      .u32(creditBytes)
      .done();
    const channel = this.link.open(frameType.attach, payload, creditBytes);
    let whole = false;
    try {
      for await (const { type, payload } of channel.frames()) yield eventOf(type, payload);
      whole = true;
    } catch (error) {
      // One that did not start may be gone before anybody asks for its output: why is what its start says.
      await this.started;
      throw error;
    } finally {
      if (!whole) channel.cancel();
    }
  }

  /** Writes to its standard input. Answers the bytes that its pipe took, and whether it takes no more. */
  async writeStdin(bytes: Uint8Array, last = false): Promise<{ taken: number; closed: boolean }> {
    const piece = 60 * 1024;
    let taken = 0;
    for (let at = 0; ; at += piece) {
      const end = at + piece >= bytes.length;
      const part = bytes.subarray(at, at + piece);
      const payload = new PayloadWriter()
        .u32(this.#id)
        .u8(end && last ? 1 : 0)
        .bytes(part);
      const answer = new PayloadReader(await this.link.request(frameType.stdin, payload.done()));
      taken += answer.u32();
      const closed = answer.u8() === 1;
      if (end || closed) return { taken, closed };
    }
  }

  /** Signals its own process, or its whole tree. Answers whether it had exited. */
  async signal(number: number, wholeTree = false): Promise<boolean> {
    const payload = new PayloadWriter()
      .u32(this.#id)
      .u8(number)
      .u8(wholeTree ? 1 : 0)
      .done();
    return new PayloadReader(await this.link.request(frameType.signal, payload)).u8() === 1;
  }

  /** Ends its whole tree: TERM, and KILL after the grace. Answers how many processes were killed, when all are gone. */
  async kill(graceMs: number): Promise<number> {
    const payload = new PayloadWriter().u32(this.#id).u8(4).u32(graceMs).done();
    return new PayloadReader(await this.link.request(frameType.kill, payload)).u32();
  }

  /** Sets the size of its terminal. */
  async resize({ columns, rows }: { columns: number; rows: number }): Promise<void> {
    await this.link.request(
      frameType.resize,
      new PayloadWriter().u32(this.#id).u16(columns).u16(rows).done(),
    );
  }

  /** Forgets the output of a command that has exited. */
  async release(): Promise<void> {
    await this.link.request(frameType.release, new PayloadWriter().u32(this.#id).done());
  }
}

function payloadOf(spec: CommandSpec): Buffer {
  const { tty, output } = spec;
  const flags =
    (tty === undefined ? 0 : 1) |
    (spec.mergeStderr === true ? 2 : 0) |
    (spec.keepStdinOpen === true ? 4 : 0) |
    (spec.hold === true ? 8 : 0);
  const env = Object.entries(spec.env);
  const writer = new PayloadWriter()
    .u8(flags)
    .u8(output === undefined ? 0 : ["keep-head", "keep-tail", "kill"].indexOf(output.above))
    .u16(tty?.columns ?? 0)
    .u16(tty?.rows ?? 0)
    .u64(output?.maxBytes ?? 0)
    .u32(spec.ringBytes)
    .u64(spec.timeoutMs ?? 0)
    .u32(spec.graceMs)
    .path(spec.cwd)
    .text(spec.user ?? "")
    .u32(spec.argv.length);
  for (const argument of spec.argv) writer.text(argument);
  writer.u32(env.length);
  for (const [name, value] of env) writer.text(`${name}=${value}`);
  return writer.sized(spec.stdin ?? new Uint8Array()).done();
}

function eventOf(type: number, payload: Buffer): CommandEvent {
  const reader = new PayloadReader(payload);
  switch (type) {
    case frameType.data: {
      const stream = reader.u8() === 0 ? "stdout" : "stderr";
      return { kind: "output", stream, offset: reader.u64(), data: payload.subarray(9) };
    }
    case frameType.gap:
      return { kind: "gap", until: { stdout: reader.u64(), stderr: reader.u64() } };
    default:
      return { kind: "exit", exit: exitOf(reader) };
  }
}

function exitOf(reader: PayloadReader): CommandExit {
  const reason = reasons[reader.u8()] ?? "signalled";
  const signalled = reader.u8() === 1;
  const number = reader.u32();
  return {
    reason,
    status: signalled ? { signal: number } : { code: number },
    written: { stdout: reader.u64(), stderr: reader.u64() },
    stdoutTruncated: reader.u8() === 1,
    stderrTruncated: reader.u8() === 1,
    wallUs: reader.u64(),
    cpuUs: reader.u64(),
    leftover: reader.u32(),
  };
}
