/** How the command ends. */
export const exitCodes = {
  /** Every episode has a verdict; or the command did what it was asked. */
  ok: 0,
  /** Some episodes ended without a verdict. */
  failed: 1,
  /** Bad input: nothing was started or written. */
  badInput: 2,
  /** Stopped before the end. */
  stopped: 3,
} as const;
