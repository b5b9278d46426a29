// npm run build
import { buildDist } from "./build-dist.js";

const began = performance.now();
process.stderr.write("building dist/\n");
try {
  await buildDist();
  process.stderr.write(`built dist/ in ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\ndist/ is as it was\n`);
  process.exitCode = 1;
}
