/** What was found where something else was expected, as its author would write it: `"0.5"`, `42`, `a list`, `nothing`. */
export function foundText(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "string") return `"${value.length > 80 ? `${value.slice(0, 80)}…` : value}"`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : String(value);
}
