/** A session as the load plays it. Every method throws where an answer is not the one that was due. */
export interface LoadSession {
  /** Begins the session, or begins it anew after its end. */
  reset(): Promise<void>;
  /** Does the unit of work that is counted, and checks its answer. Tells whether the session is over. */
  step(): Promise<boolean>;
  /** Ends the session. */
  close(): Promise<void>;
}

/** A server that a point has started. */
export interface PointServer {
  /** What the load is told to find it by. */
  readonly address: string;
  /** Sessions that are open, where it knows. */
  live?(): number;
  close(): Promise<void>;
}

/** One thing that is measured: a server, and the sessions that a load process opens on it. */
export interface Point {
  /** Starts the server. Absent: the load process holds everything, and the address means nothing. */
  serve?(): Promise<PointServer>;
  /**
   * Makes ready to open sessions.
   *
   * @param sessions - How many will be open at once.
   * @returns What opens one; it has not begun before its `reset`.
   */
  connect(address: string, sessions: number): Promise<() => Promise<LoadSession>>;
}
