/** Whether an id fits a pattern in which `*` stands for anything: `ENV-STEP-*`, `*.by-action-id`. */
export function fits(pattern: string, id: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(id);
}

/** Whether a check is chosen: by its id or its clause, by any of the patterns; no pattern chooses all. */
export function chosen(patterns: readonly string[], check: { id: string; clause: string }): boolean {
  return patterns.length === 0 || patterns.some((one) => fits(one, check.id) || fits(one, check.clause));
}
