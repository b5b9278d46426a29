import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  CallEnd,
  type CapturedCall,
  CapturedCallSchema,
  CaptureLevel,
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
  /** Items of input and output together; of the input while there is no output. */
  items: number;
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

/**
 * What a gateway's calls were, in the order in which they began, each once (MDL-GATE-004). A fault in here never fails a
 * call: it is told in the call's record and counted.
 */
export class Capture {
  /** What all calls used. */
  readonly usage = create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) });
  readonly #entries: CaptureEntry[] = [];
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
    let entry: CaptureEntry = { record, parent: undefined, input: "", items: items.length };
    if (this.level !== CaptureLevel.SUMMARY) {
      try {
        const chain = itemChain(items);
        const parent = this.#longest(chain);
        record.parentCallId = parent?.record.callId ?? "";
        record.prefixItems = parent?.items ?? 0;
        record.input = items.slice(record.prefixItems);
        entry = { record, parent, input: chain.at(-1) ?? "", items: items.length };
      } catch (error) {
        this.#fault(record, error);
      }
    }
    this.#entries.push(entry);
    return entry;
  }

  /** A call was refused after all: it never was. */
  forget(entry: CaptureEntry): void {
    const place = this.#entries.indexOf(entry);
    if (place >= 0) this.#entries.splice(place, 1);
  }

  /** A call has ended with an answer; its token records are whole, as far as there are any. */
  complete(entry: CaptureEntry, answer: GenerateResponse, ms: number): void {
    const { record } = entry;
    this.#end(entry, CallEnd.COMPLETED, ms);
    record.usage = answer.usage;
    if (answer.usage !== undefined) addUsage(this.usage, answer.usage);
    try {
      record.choices = answer.choices.map((choice) => this.#kept(choice));
      if (this.level === CaptureLevel.TOKENS) record.captureFault = missingTokens(answer);
      if (this.level === CaptureLevel.SUMMARY || this.#tooLarge(entry)) return;
      const first = answer.choices[0]?.items ?? [];
      entry.items += first.length;
      this.#ends.set(itemChain(first, entry.input).at(-1) ?? "", entry);
    } catch (error) {
      this.#fault(record, error);
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

  #kept(choice: GenerateResponse["choices"][number]): GenerateResponse["choices"][number] {
    const { index, finishReason, items, tokens } = choice;
    switch (this.level) {
      case CaptureLevel.SUMMARY:
        return create(ChoiceSchema, { index, finishReason });
      case CaptureLevel.TOKENS:
        return create(ChoiceSchema, {
          index,
          finishReason,
          items,
          ...(tokens === undefined ? {} : { tokens }),
        });
      default:
        return create(ChoiceSchema, { index, finishReason, items });
    }
  }

  /** Whether a record is too large to be read; what was said goes then, and the record says so (R11). */
  #tooLarge({ record }: CaptureEntry): boolean {
    const message = create(ReadCaptureResponseSchema, { sequence: BigInt(this.calls), call: record });
    const actual = toBinary(ReadCaptureResponseSchema, message).length;
    const limit = this.options.maxMessageBytes;
    if (actual <= limit) return false;
    record.input = [];
    record.choices = record.choices.map(({ index, finishReason }) =>
      create(ChoiceSchema, { index, finishReason }),
    );
    record.captureFault = `the record of this call has ${actual} bytes, more than the ${limit} that a message may have; what was said is left out`;
    return true;
  }

  #end({ record }: CaptureEntry, end: CallEnd, ms: number): void {
    record.end = end;
    record.duration = fromMs(ms);
  }

  #fault(record: CapturedCall, error: unknown): void {
    record.captureFault = "an unexpected error while the call was captured; the server's log has it";
    this.options.onError(error);
  }
}

/** What is to be said where tokens could not be had; empty: all are there. */
function missingTokens({ choices }: GenerateResponse): string {
  const missing = choices.filter(({ items, tokens }) => tokens === undefined && items.length > 0);
  if (missing.length === 0) return "";
  return `the model could not tell the tokens of choice ${missing.map(({ index }) => index).join(", ")}`;
}
