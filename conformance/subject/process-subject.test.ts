import { expect, it } from "vitest";
import { startSubject } from "./process-subject.js";

/** Tells an address, and on SIGTERM says so and ends a little later, unless its stdin has ended before. */
const program = `
  process.stdin.once("end", () => process.exit(1)).resume();
  process.once("SIGTERM", () => { console.log("heard"); setTimeout(() => process.exit(7), 200); });
  console.log(JSON.stringify({ address: "127.0.0.1:1" }));
`;

it("leaves a subject that was signalled to end by itself, whatever shell stands before it", async () => {
  await using subject = await startSubject(`node -e '${program}'`);
  subject.signal("SIGTERM");
  expect(await subject.ended).toBe(7);
  expect(subject.output).toContain("heard");
  expect(subject.groupLives()).toBe(false);
});
