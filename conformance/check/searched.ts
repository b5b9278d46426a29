/** Everything of a value as one text to be searched: messages, statuses, bytes read as text. */
export function searchable(value: unknown): string {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === "bigint") return String(one);
    if (one instanceof Uint8Array) return new TextDecoder("latin1").decode(one);
    return one;
  });
  return text ?? "";
}

/** A text as it stands within `searchable`, where quotes and line ends of strings are escaped. */
export function asSearched(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
