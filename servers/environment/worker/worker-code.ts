/**
 * What a worker thread runs: loads the author's module and answers each job with what its default export returns. A text,
 * because a thread starts from a plain JavaScript file and this package's own may still be TypeScript. Of an error only
 * what is meant for callers goes back as it is: the failure of an OperationFailure.
 */
export const workerCode = `
const { parentPort, workerData } = require("node:worker_threads");
const loaded = (async () => {
  if (workerData.typescript !== undefined) (await import(workerData.typescript)).register();
  const { default: verify } = await import(workerData.module);
  if (typeof verify !== "function") throw new Error("expected a function as default export of " + workerData.module);
  return verify;
})();
loaded.catch(() => {});
parentPort.on("message", async ({ id, work }) => {
  try {
    const verify = await loaded;
    parentPort.postMessage({ id, measured: await verify(work) });
  } catch (error) {
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    const failure = error instanceof Error && error.name === "OperationFailure" ? error.failure : undefined;
    parentPort.postMessage({ id, error: { text, failure } });
  }
});
`;
