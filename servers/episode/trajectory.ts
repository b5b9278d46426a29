import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import {
  type ReadTrajectoryResponse,
  ReadTrajectoryResponseSchema,
  type TrajectoryRef,
  TrajectoryRefSchema,
} from "../../gen/index.js";
import { Refusal } from "../runtime/refusal.js";

/** What was said, done and earned in an episode, in order (EPI-OUT-007). */
export class Trajectory {
  #records: ReadTrajectoryResponse[] = [];
  #bytes = 0;
  #missing = "";
  #released: TrajectoryRef | undefined;

  /**
   * @param maxRecordBytes - Largest record that can be told (ALL-SIZE-001).
   * @param onRecord - Told of each record before anybody can read it.
   */
  constructor(
    private readonly maxRecordBytes: number,
    private readonly onRecord: (record: ReadTrajectoryResponse) => void = () => {},
  ) {}

  /** Takes records in that were written down before; with `released`, that they may be read no more. */
  restore(records: readonly ReadTrajectoryResponse[], released: TrajectoryRef | undefined): void {
    this.#records = [...records];
    this.#bytes = records.reduce(
      (sum, record) => sum + encodedBytes(ReadTrajectoryResponseSchema, record),
      0,
    );
    this.#released = released;
  }

  add(
    agentId: string,
    record: NonNullable<MessageInitShape<typeof ReadTrajectoryResponseSchema>["record"]>,
  ): void {
    if (this.#released !== undefined) return;
    const sequence = BigInt(this.#records.length + 1);
    const entry = create(ReadTrajectoryResponseSchema, { sequence, agentId, record });
    const bytes = encodedBytes(ReadTrajectoryResponseSchema, entry);
    if (bytes > this.maxRecordBytes) {
      this.miss(
        `a record of ${bytes} bytes is larger than the ${this.maxRecordBytes} that a message may have`,
      );
      return;
    }
    this.#records.push(entry);
    this.#bytes += bytes;
    this.onRecord(entry);
  }

  /** Something is missing, and why. */
  miss(reason: string): void {
    if (this.#missing.includes(reason)) return;
    this.#missing = this.#missing === "" ? reason : `${this.#missing}; ${reason}`;
  }

  /** Records behind a sequence. Throws ANSWER_EXPIRED once the caller has acknowledged the outcome. */
  after(sequence: bigint): readonly ReadTrajectoryResponse[] {
    if (this.#released !== undefined) {
      throw new Refusal("ANSWER_EXPIRED", "the episode was acknowledged: its trajectory is no longer kept");
    }
    return this.#records.slice(Number(sequence));
  }

  /** What the outcome tells of it. */
  get ref(): TrajectoryRef {
    return (
      this.#released ??
      create(TrajectoryRefSchema, {
        records: BigInt(this.#records.length),
        sizeBytes: BigInt(this.#bytes),
        missingReason: this.#missing,
      })
    );
  }

  /** Lets the records go; the caller has stored them (Ack). */
  release(): void {
    this.#released = this.ref;
    this.#records = [];
  }
}
