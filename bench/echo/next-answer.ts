/** Whoever waits for the next answer of a stream that has at most one on its way. */
export class NextAnswer<T> {
  #resolve: (answer: T) => void = () => {
    throw new Error("an answer came that nobody waits for");
  };
  #reject: (error: Error) => void = () => {};

  /** Waits; `send` sends what is answered. */
  after(send: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      send();
    });
  }

  take(answer: T): void {
    this.#resolve(answer);
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}
