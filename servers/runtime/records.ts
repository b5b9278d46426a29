import type { Operation } from "./operation.js";

/** The answers of one kind of numbered operations that a scope keeps. */
export interface KeptAnswers {
  /** Index of the oldest one that may be kept; below it all are done and let go. */
  first: number;
  /** Names of the operations, oldest first. */
  readonly names: string[];
}

/**
 * Where the ledger keeps its operations: by the scope that a name lives in (a session, a table of sessions) and the
 * name. One interface, so that a store which outlives the process can take the place of memory.
 */
export interface Records {
  get(scope: string, name: string): Operation<unknown> | undefined;
  set(scope: string, name: string, operation: Operation<unknown>): void;
  delete(scope: string, name: string): void;
  /** What is kept of a kind of numbered operations, to be changed in place. */
  kept(scope: string, kind: string): KeptAnswers;
  /** Forgets everything of a scope. */
  drop(scope: string): void;
}

/** Records that live as long as the process. */
export function memoryRecords(): Records {
  const scopes = new Map<string, Map<string, Operation<unknown>>>();
  const kept = new Map<string, Map<string, KeptAnswers>>();
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
    kept(scope, kind) {
      let kinds = kept.get(scope);
      if (kinds === undefined) {
        kinds = new Map();
        kept.set(scope, kinds);
      }
      let answers = kinds.get(kind);
      if (answers === undefined) {
        answers = { first: 0, names: [] };
        kinds.set(kind, answers);
      }
      return answers;
    },
    drop(scope) {
      scopes.delete(scope);
      kept.delete(scope);
    },
  };
}
