import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import {
  CallEnd,
  type CapturedCall,
  CapturedCallSchema,
  CaptureLevel,
  type Choice,
  ChoiceSchema,
  type Failure,
  type GenerateResponse,
  type Item,
  ModelDialect,
  type ReadCaptureResponse,
  ReadCaptureResponseSchema,
  UsageSchema,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { addUsage } from "../runtime/usage.js";
import { itemChain } from "./item-chain.js";

/** A call of a gateway, from its beginning on. */
export interface CaptureEntry {
  readonly record: CapturedCall;
  /** The longest earlier call whose input and output this input begins with. */
  readonly parent: CaptureEntry | undefined;
  /** Digest of the input. */
  readonly input: string;
  /** Number of the call in its gateway, from 0. */
  readonly index: number;
  /** Items of input and output together; of the input while there is no output. */
  items: number;
  /** What was said is in the record, as far as the level asks for it. */
  whole: boolean;
}

/** What a capture is told of a call that begins. */
export interface BeginningCall {
  readonly callId: string;
  readonly startTime: Date;
  readonly items: readonly Item[];
}

/** How a capture keeps its calls. */
export interface CaptureOptions {
  readonly level: CaptureLevel;
  /** Largest message that ReadCapture may send. */
  readonly maxMessageBytes: number;
  /** Told of an unexpected error while a call was captured, for the log. */
  readonly onError: (error: unknown) => void;
}

/** Bytes that the end of a call without an answer may add to its record: its failure, above all. */
const endBytes = 32 << 10;

/**
 * What a gateway's calls were, in the order in which they began, each once (MDL-GATE-004). A fault in here never fails a
 * call: it is told in the call's record and counted.
 */
export class Capture {
  /** What all calls used. */
  readonly usage = create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) });
  readonly #entries: CaptureEntry[] = [];
  #nextIndex = 0;
  /** Calls by the digest of their input and output. */
  readonly #ends = new Map<string, CaptureEntry>();

  constructor(private readonly options: CaptureOptions) {}

  get level(): CaptureLevel {
    return this.options.level;
  }

  /** Calls begun. */
  get calls(): number {
    return this.#entries.length;
  }

  /** Calls whose capture is not whole. */
  get faults(): number {
    return this.#entries.filter(({ record }) => record.captureFault !== "").length;
  }

  /** The longest earlier call whose input and output a conversation begins with. */
  parentOf(items: readonly Item[]): CaptureEntry | undefined {
    return this.level === CaptureLevel.SUMMARY ? undefined : this.#longest(itemChain(items));
  }

  /** A call begins. */
  begin({ callId, startTime, items }: BeginningCall): CaptureEntry {
    const record = create(CapturedCallSchema, {
      callId,
      dialect: ModelDialect.TOUCHSTONE_V1,
      startTime: timestampFromDate(startTime),
    });
    const place = { record, index: this.#nextIndex, items: items.length, whole: true };
    let entry: CaptureEntry = { ...place, parent: undefined, input: "" };
    if (this.level !== CaptureLevel.SUMMARY) {
      try {
        const chain = itemChain(items);
        const parent = this.#longest(chain);
        record.parentCallId = parent?.record.callId ?? "";
        record.prefixItems = parent?.items ?? 0;
        record.input = items.slice(record.prefixItems);
        entry = { ...place, parent, input: chain.at(-1) ?? "" };
        this.#cutToSize(entry, endBytes);
      } catch (error) {
        this.#fault(entry, error);
      }
    }
    this.#entries.push(entry);
    this.#nextIndex += 1;
    return entry;
  }

  /** A call was refused after all: it never was, and the next one has its number if none has come since. */
  forget(entry: CaptureEntry): void {
    const place = this.#entries.indexOf(entry);
    if (place >= 0) this.#entries.splice(place, 1);
    if (entry.index === this.#nextIndex - 1) this.#nextIndex -= 1;
  }

  /** A call has ended with an answer; its token records are whole, as far as there are any. */
  complete(entry: CaptureEntry, answer: GenerateResponse, ms: number): void {
    const { record } = entry;
    this.#end(entry, CallEnd.COMPLETED, ms);
    record.usage = answer.usage;
    if (answer.usage !== undefined) addUsage(this.usage, answer.usage);
    try {
      record.choices = answer.choices.map((choice) => this.#kept(choice, entry.whole));
      if (!entry.whole || this.level === CaptureLevel.SUMMARY) return;
      if (this.level === CaptureLevel.TOKENS) record.captureFault = missingTokens(answer);
      this.#cutToSize(entry, 0);
      if (!entry.whole) return;
      const first = answer.choices[0]?.items ?? [];
      entry.items += first.length;
      this.#ends.set(itemChain(first, entry.input).at(-1) ?? "", entry);
    } catch (error) {
      this.#fault(entry, error);
    }
  }

  /** A call's caller has left. */
  cut(entry: CaptureEntry, ms: number): void {
    this.#end(entry, CallEnd.CUT, ms);
    this.usage.modelCalls += 1;
  }

  /** A call has ended with an error. */
  fail(entry: CaptureEntry, failure: Failure, ms: number): void {
    this.#end(entry, CallEnd.FAILED, ms);
    entry.record.failure = failure;
    this.usage.modelCalls += 1;
  }

  /** The calls behind a sequence, as far as there are any now. */
  *read(afterSequence: bigint): Generator<ReadCaptureResponse, void, undefined> {
    const { length } = this.#entries;
    for (let i = Number(afterSequence); i < length; i += 1) {
      const call = this.#entries[i]?.record;
      if (call !== undefined) yield create(ReadCaptureResponseSchema, { sequence: BigInt(i + 1), call });
    }
  }

  /**
   * The longest earlier call that a conversation begins with. Of a call with several choices the first one counts,
   * because a captured call cannot name another one of its parent.
   */
  #longest(chain: readonly string[]): CaptureEntry | undefined {
    for (let items = chain.length - 1; items > 0; items -= 1) {
      const found = this.#ends.get(chain[items] ?? "");
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #kept({ index, finishReason, items, tokens }: Choice, whole: boolean): Choice {
    if (!whole || this.level === CaptureLevel.SUMMARY) return create(ChoiceSchema, { index, finishReason });
    const told = this.level === CaptureLevel.TOKENS && tokens !== undefined ? { tokens } : {};
    return create(ChoiceSchema, { index, finishReason, items, ...told });
  }

  /** Takes what was said out of a record that could not be read otherwise, and says so (R11). */
  #cutToSize(entry: CaptureEntry, reserved: number): void {
    const { record } = entry;
    const message = create(ReadCaptureResponseSchema, { sequence: BigInt(this.calls + 1), call: record });
    const actual = encodedBytes(ReadCaptureResponseSchema, message) + reserved;
    const limit = this.options.maxMessageBytes;
    if (actual <= limit) return;
    entry.whole = false;
    record.input = [];
    record.choices = record.choices.map((choice) => this.#kept(choice, false));
    record.captureFault = `the record of this call has ${actual} bytes, more than the ${limit} that a message may have; what was said is left out`;
  }

  #end({ record }: CaptureEntry, end: CallEnd, ms: number): void {
    record.end = end;
    record.duration = fromMs(ms);
  }

  #fault(entry: CaptureEntry, error: unknown): void {
    entry.whole = false;
    entry.record.captureFault = "an unexpected error while the call was captured; the server's log has it";
    this.options.onError(error);
  }
}

/** What is to be said where tokens could not be had; empty: all are there. */
function missingTokens({ choices }: GenerateResponse): string {
  const missing = choices.filter(({ items, tokens }) => tokens === undefined && items.length > 0);
  if (missing.length === 0) return "";
  return `the model could not tell the tokens of choice ${missing.map(({ index }) => index).join(", ")}`;
}
