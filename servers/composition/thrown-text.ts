/**
 * What was thrown, on one line: what follows the first are stacks and excerpts. A user's module may throw anything, also
 * what cannot be shown.
 */
export function thrownText(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return String(text).split("\n")[0] ?? "";
  } catch {
    return "something that cannot be shown";
  }
}
