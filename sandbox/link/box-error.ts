import { getSystemErrorMap } from "node:util";

const names = new Map([...getSystemErrorMap()].map(([number, [name]]) => [-number, name]));

/** A request that the agent of a box could not do, by the name that Linux gives the error: `ENOENT`. */
export class BoxError extends Error {
  override readonly name = "BoxError";

  constructor(
    /** The error's name. */
    readonly code: string,
    /** What the agent says beside; may be empty. */
    readonly detail: string,
  ) {
    super(detail === "" ? code : `${code}: ${detail}`);
  }

  /** The error of a REPLY or an END. */
  static of(payload: Buffer): BoxError {
    const number = payload.readUInt32LE(0);
    return new BoxError(names.get(number) ?? `error ${number}`, payload.subarray(4).toString());
  }
}
