import type { FailureInit } from "../../runtime/failure.js";
import type { Measured } from "../definition/verifying.js";

/** What a thread answers. */
export type WorkerAnswer =
  | { readonly measured: Measured }
  | { readonly error: { readonly text: string; readonly failure: FailureInit | undefined } };
