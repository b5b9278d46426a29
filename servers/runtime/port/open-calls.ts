import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor } from "@connectrpc/connect";

/** The calls that connect-node is serving. */
export interface OpenCalls {
  readonly interceptor: Interceptor;
  /** Ends every open call with this status, whether or not its implementation heeds its signal. */
  abortAll(reason: ConnectError): void;
}

/** One call: the promise it waits for now can be rejected from outside. */
interface OpenCall {
  reject: (reason: unknown) => void;
}

/**
 * Follows the calls of connect-node, which itself can neither end a call whose implementation does not stop nor tell
 * what it answers as "internal error".
 *
 * @param report - Hears of everything thrown that is not a ConnectError.
 */
export function createOpenCalls(report: (method: DescMethod, error: unknown) => void): OpenCalls {
  const open = new Set<OpenCall>();

  /** `promise`, unless the call is aborted first. */
  function orAborted<T>(call: OpenCall, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      call.reject = reject;
      promise.then(resolve, reject);
    });
  }

  async function* followed<T>(
    call: OpenCall,
    messages: AsyncIterable<T>,
    seen: (error: unknown) => void,
  ): AsyncGenerator<T> {
    const iterator = messages[Symbol.asyncIterator]();
    let over = false;
    try {
      for (;;) {
        const item = await orAborted(call, iterator.next());
        if (item.done === true) {
          over = true;
          return;
        }
        yield item.value;
      }
    } catch (error) {
      seen(error);
      throw error;
    } finally {
      open.delete(call);
      // Not awaited: an implementation that is stuck must not hold the answer back.
      if (!over) iterator.return?.().catch(seen);
    }
  }

  const interceptor: Interceptor = (next) => async (request) => {
    const call: OpenCall = { reject: () => {} };
    const seen = (error: unknown): void => {
      if (!(error instanceof ConnectError) && !request.signal.aborted) report(request.method, error);
    };
    open.add(call);
    try {
      const response = await orAborted(call, next(request));
      if (!response.stream) {
        open.delete(call);
        return response;
      }
      return { ...response, message: followed(call, response.message, seen) };
    } catch (error) {
      open.delete(call);
      seen(error);
      throw error;
    }
  };

  return {
    interceptor,
    abortAll(reason) {
      for (const call of open) call.reject(reason);
    },
  };
}
