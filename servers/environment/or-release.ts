/**
 * Does what may still fail once an author's state is made; where it does, the state is released at once, for no session
 * will ever hold it (R5, ENV-SEED-010).
 */
export async function orRelease<T>(
  release: () => void | Promise<void> | undefined,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await release();
    throw error;
  }
}
