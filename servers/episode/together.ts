/**
 * Does works at the same time and answers when all have ended. The first that throws ends the others by their signal;
 * what it threw is thrown once none is left that runs.
 */
export async function together<T>(
  works: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<readonly T[]> {
  const unwanted = new AbortController();
  const settled = await Promise.allSettled(
    works.map(async (work) => {
      try {
        return await work(unwanted.signal);
      } catch (error) {
        unwanted.abort(error);
        throw error;
      }
    }),
  );
  return settled.map((result) => {
    if (result.status === "rejected") throw unwanted.signal.reason;
    return result.value;
  });
}
