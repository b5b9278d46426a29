/** Types of frames, as `sandbox/agent/PROTOCOL.md` numbers them. */
export const frameType = {
  exec: 0x01,
  attach: 0x02,
  stdin: 0x03,
  signal: 0x04,
  kill: 0x05,
  resize: 0x06,
  release: 0x07,
  read: 0x10,
  write: 0x11,
  stat: 0x12,
  list: 0x13,
  mkdir: 0x14,
  remove: 0x15,
  move: 0x16,
  unpack: 0x17,
  pack: 0x18,
  listen: 0x20,
  connect: 0x21,
  lease: 0x30,
  ping: 0x31,
  stop: 0x32,
  data: 0x40,
  credit: 0x41,
  cancel: 0x42,
  commit: 0x43,
  hello: 0x80,
  reply: 0x81,
  end: 0x82,
  gap: 0x83,
  exit: 0x84,
  accept: 0x85,
} as const;

/** A frame's type by its number. */
export type FrameType = (typeof frameType)[keyof typeof frameType];

/** Bytes of a frame's head. */
export const headBytes = 12;

/** Most bytes of a payload; that of an EXEC may be larger. */
export const maxPayloadBytes = 65_536;

/** Most bytes of the payload of an EXEC. */
export const maxExecBytes = 4 * 1024 * 1024;

/** Bytes that may be sent on a new channel before credit is given. */
export const firstCredit = 1024 * 1024;

/** What comes over the stream. */
export interface Frame {
  readonly type: number;
  readonly channel: number;
  /** Lies in what was received: copied by whoever keeps it. */
  readonly payload: Buffer;
}

/** A frame in front of its payload. */
export function frameHead(type: FrameType, channel: number, size: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(size, 0);
  head.writeUInt8(type, 4);
  head.writeUInt32LE(channel, 8);
  return head;
}
