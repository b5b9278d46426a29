/** An error on one line, without the code that RPC errors begin with. */
export function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = "rawMessage" in error ? String(error.rawMessage) : error.message;
  return text.split("\n")[0] ?? "";
}
