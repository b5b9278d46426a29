/** Undoes the percent encoding of `grpc-message`. What is no escape is kept; bytes that are no UTF-8 become U+FFFD. */
export function decodeGrpcMessage(text: string | undefined): string {
  if (text === undefined || !text.includes("%")) return text ?? "";
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const escaped = text[at] === "%" ? /^[0-9A-Fa-f]{2}/.exec(text.slice(at + 1, at + 3))?.[0] : undefined;
    if (escaped === undefined) {
      bytes.push(text.charCodeAt(at) & 0xff);
    } else {
      bytes.push(Number.parseInt(escaped, 16));
      at += 2;
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

/** gRPC allows eight digits. */
const LARGEST_TIMEOUT = 99_999_999;

/** The value of `grpc-timeout` for this many milliseconds: rounded up, so that the caller's own clock rules. */
export function encodeGrpcTimeout(ms: number): string {
  const units = [
    ["m", 1],
    ["S", 1000],
    ["M", 60_000],
  ] as const;
  for (const [unit, length] of units) {
    const count = Math.max(1, Math.ceil(ms / length));
    if (count <= LARGEST_TIMEOUT) return `${count}${unit}`;
  }
  return `${Math.min(Math.ceil(ms / 3_600_000), LARGEST_TIMEOUT)}H`;
}
