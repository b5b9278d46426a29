// Tools of other languages that a machine may lack: their tests are skipped there, and never in CI.
import type { TestContext } from "vitest";

/** A tool that some tests need. */
export interface RequiredTool<T> {
  /** Why a test that needs it does not run here; false: it is here. */
  readonly skip: string | false;
  /**
   * The tool. Where it is missing the running test is skipped and says why; with CI=true it fails, so that a
   * green run has run everything.
   */
  need(context: Pick<TestContext, "skip">): T;
}

/**
 * Looks once for a tool, at the time of the call.
 *
 * @param name what it is, for people: `Python with grpcio-tools`
 * @param find answers the tool, or undefined where it is not here
 * @param install the command that brings it
 */
export function requiredTool<T>(name: string, find: () => T | undefined, install: string): RequiredTool<T> {
  const tool = find();
  if (tool !== undefined) {
    return { skip: false, need: () => tool };
  }
  const reason = `${name} is not on this machine; ${install} brings it`;
  // Reporters show the reason of a skip in their verbose form only.
  console.warn(`Tests are skipped: ${reason}`);
  return {
    skip: reason,
    need(context) {
      if (process.env["CI"] === "true") {
        throw new Error(`${reason}. CI=true runs every test: install it before the tests.`);
      }
      return context.skip(reason);
    },
  };
}
