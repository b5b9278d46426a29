/** A question and its answer, before anybody says how to write the answer down. */
export interface Riddle {
  readonly question: string;
  /** The right answer, for `judge`. */
  readonly expected: string;
}
