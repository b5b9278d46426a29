/** What of a session was begun since its last operation that stands alone. */
interface Segment {
  /** The operation that stands alone and goes before; undefined once it is done. */
  gate: Promise<void> | undefined;
  running: number;
  onIdle: (() => void) | undefined;
}

/** The place of an operation among those of its session. */
export interface Place {
  /** What it waits for; undefined: nothing. */
  readonly before: Promise<void> | undefined;
  /** Tells that it is done. */
  leave(): void;
}

/**
 * The order in which the operations of a stream are begun, for each session by itself. Steps are begun at once, since
 * their session's turn keeps them in order; a Seed or a Close stands alone: it waits for what came before it, and what
 * comes behind waits for it (ENV-BATC-003, ENV-BATC-004). Sessions do not wait for each other (ENV-BATC-005).
 */
export class SessionOrder {
  readonly #segments = new Map<string, Segment>();

  /** The place of a step: behind the last operation that stands alone. */
  together(sessionId: string): Place {
    let segment = this.#segments.get(sessionId);
    if (segment === undefined) {
      segment = { gate: undefined, running: 0, onIdle: undefined };
      this.#segments.set(sessionId, segment);
    }
    const own = segment;
    own.running += 1;
    return {
      before: own.gate,
      leave: () => {
        own.running -= 1;
        if (own.running > 0) return;
        own.onIdle?.();
        this.#forget(sessionId, own);
      },
    };
  }

  /** The place of what stands alone: behind everything of its session. */
  alone(sessionId: string): Place {
    const before = this.#segments.get(sessionId);
    let open: () => void = () => {};
    const own: Segment = {
      gate: new Promise((resolve) => {
        open = resolve;
      }),
      running: 0,
      onIdle: undefined,
    };
    this.#segments.set(sessionId, own);
    return {
      before: before === undefined ? undefined : idle(before),
      leave: () => {
        own.gate = undefined;
        open();
        this.#forget(sessionId, own);
      },
    };
  }

  #forget(sessionId: string, segment: Segment): void {
    if (segment.running > 0 || segment.gate !== undefined) return;
    if (this.#segments.get(sessionId) === segment) this.#segments.delete(sessionId);
  }
}

async function idle(segment: Segment): Promise<void> {
  await segment.gate;
  if (segment.running === 0) return;
  await new Promise<void>((resolve) => {
    segment.onIdle = resolve;
  });
}
