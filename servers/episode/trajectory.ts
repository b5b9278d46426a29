import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ReadTrajectoryResponse,
  ReadTrajectoryResponseSchema,
  type TrajectoryRef,
  TrajectoryRefSchema,
} from "../../gen/index.js";

/** What was said, done and earned in an episode, in order (EPI-OUT-007). */
export class Trajectory {
  #records: ReadTrajectoryResponse[] = [];
  #bytes = 0;
  #missing = "";
  #released: TrajectoryRef | undefined;

  add(
    agentId: string,
    record: NonNullable<MessageInitShape<typeof ReadTrajectoryResponseSchema>["record"]>,
  ): void {
    const entry = create(ReadTrajectoryResponseSchema, {
      sequence: BigInt(this.#records.length + 1),
      agentId,
      record,
    });
    this.#records.push(entry);
    this.#bytes += toBinary(ReadTrajectoryResponseSchema, entry).length;
  }

  /** Something is missing, and why. */
  miss(reason: string): void {
    this.#missing = this.#missing === "" ? reason : `${this.#missing}; ${reason}`;
  }

  /** Records behind a sequence. */
  after(sequence: bigint): readonly ReadTrajectoryResponse[] {
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
