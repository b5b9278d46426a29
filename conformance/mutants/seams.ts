import type { Limits } from "../../servers/index.js";
import type { AdmissionOptions } from "../../servers/runtime/admission.js";
import type { Ledger, Work } from "../../servers/runtime/ledger.js";
import type { Runtime } from "../../servers/runtime/runtime.js";
import type { ReferenceWorld } from "../reference/world.js";
import type { Build } from "./mutant.js";

/** Several faults in one server. */
export function together(...builds: readonly Build[]): Build {
  return (parts) => builds.reduce((made, build) => build(made), parts);
}

/** Changes what the world defines. `original` is the right one. */
export function inWorld(change: (original: ReferenceWorld) => Partial<ReferenceWorld>): Build {
  return (parts) => ({ ...parts, world: { ...parts.world, ...change(parts.world) } });
}

/** Changes a part of the runtime. */
export function inRuntime(change: (original: Runtime) => Partial<Runtime>): Build {
  return (parts) => ({ ...parts, runtime: { ...parts.runtime, ...change(parts.runtime) } });
}

/** Changes bounds. */
export function inLimits(change: (original: Limits) => Partial<Limits>): Build {
  return inRuntime(({ limits }) => ({ limits: { ...limits, ...change(limits) } }));
}

/** Changes the ledger. */
export function inLedger(change: (original: Ledger) => Partial<Ledger>): Build {
  return inRuntime(({ ledger }) => ({ ledger: { ...ledger, ...change(ledger) } }));
}

/** Changes every operation before the ledger sees it. */
export function inWork(change: <A>(work: Work<A>, ledger: Ledger) => Work<A>): Build {
  return inLedger((ledger) => ({ perform: (work) => ledger.perform(change(work, ledger)) }));
}

/** Changes who may come in. */
export function inAdmission(
  change: (original: Runtime["admission"], options: AdmissionOptions) => ReturnType<Runtime["admission"]>,
): Build {
  return inRuntime(({ admission }) => ({ admission: (options) => change(admission, options) }));
}
