import type { Operation } from "./operation.js";

/**
 * Where the ledger keeps its operations: by the scope that a name lives in (a session, a table of sessions) and the
 * name. One interface, so that a store which outlives the process can take the place of memory.
 */
export interface Records {
  get(scope: string, name: string): Operation<unknown> | undefined;
  set(scope: string, name: string, operation: Operation<unknown>): void;
  delete(scope: string, name: string): void;
  /** Forgets everything of a scope. */
  drop(scope: string): void;
}

/** Records that live as long as the process. */
export function memoryRecords(): Records {
  const scopes = new Map<string, Map<string, Operation<unknown>>>();
  return {
    get: (scope, name) => scopes.get(scope)?.get(name),
    set(scope, name, operation) {
      let names = scopes.get(scope);
      if (names === undefined) {
        names = new Map();
        scopes.set(scope, names);
      }
      names.set(name, operation);
    },
    delete(scope, name) {
      const names = scopes.get(scope);
      names?.delete(name);
      if (names?.size === 0) scopes.delete(scope);
    },
    drop: (scope) => void scopes.delete(scope),
  };
}
