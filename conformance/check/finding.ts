/** The subject broke a clause: the only thing that can say `fail`. */
export class Finding extends Error {
  override readonly name = "Finding";
  constructor(
    /** What was judged, "the repeat of Seed". */
    readonly subject: string,
    /** What the clause wants, for people. */
    readonly expected: string,
    /** What came, for people. */
    readonly actual: string,
  ) {
    super(`${subject}: expected ${expected}, got ${actual}`);
  }
}

/** A line of conformance.yaml that the check needs is not there. */
export class MissingFixture extends Error {
  override readonly name = "MissingFixture";
  constructor(
    /** Its path in conformance.yaml, `environment.slow_action`. */
    readonly path: string,
    /** Without it the clause counts as failed. */
    readonly mandatory: boolean,
  ) {
    super(`conformance.yaml has no ${path}`);
  }
}

/** A race was lost: nothing can be said. */
export class Inconclusive extends Error {
  override readonly name = "Inconclusive";
}

/** The subject had no room for the check. */
export class NoRoom extends Error {
  override readonly name = "NoRoom";
}

/** What a check asks about does not arise for this subject: it declares a choice that the clause leaves. */
export class NotApplicable extends Error {
  override readonly name = "NotApplicable";
}

/** The connection was lost where the check did not ask for it: nothing is known of the clause. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}
