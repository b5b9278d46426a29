import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError } from "../call-error.js";
import type { Answer, CallOptions } from "../channel.js";
import { Call, type CallScope } from "./call.js";
import { lostEnd } from "./call-end.js";

/** A call with one answer. */
export class UnaryCall<I extends DescMessage, O extends DescMessage> extends Call<I, O> {
  readonly answer: Promise<Answer<MessageShape<O>>>;
  #resolve: (answer: Answer<MessageShape<O>>) => void = () => {};
  #reject: (error: CallError) => void = () => {};
  #bytes: Uint8Array | undefined;

  /** @param requests - The request, or a stream of them. */
  constructor(
    scope: CallScope,
    method: DescMethod & { readonly input: I; readonly output: O },
    requests: { readonly one: MessageShape<I> } | { readonly many: AsyncIterable<MessageShape<I>> },
    options: CallOptions = {},
  ) {
    super(scope, method, options);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if ("one" in requests) this.begin(requests.one);
    else this.beginStreaming(requests.many);
  }

  protected take(bytes: Uint8Array): void {
    if (this.#bytes === undefined) this.#bytes = bytes;
    else this.fail(lostEnd(Code.Internal, "expected one answer, found a second one"));
  }

  protected settle(error: CallError | undefined): void {
    if (error !== undefined) {
      this.#reject(error);
      return;
    }
    if (this.#bytes === undefined) {
      this.#reject(this.violation("expected an answer, found an end without one"));
      return;
    }
    const message = this.decode(this.#bytes);
    if (message instanceof CallError) this.#reject(message);
    else this.#resolve({ message, info: this.info });
  }
}
