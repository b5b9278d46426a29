import type { Admission } from "../runtime/admission.js";
import type { Runtime } from "../runtime/runtime.js";
import type { ModelDefinition } from "./define-model.js";
import type { Gateways } from "./gateway.js";

/** What the calls of one model service share. */
export interface ModelContext {
  readonly definition: ModelDefinition;
  readonly runtime: Runtime;
  /** Lets calls to the model, first come, first served (field-case-65). */
  readonly admission: Admission;
  readonly gateways: Gateways;
}
