import { Command } from "commander";
import { type ReachFlags, withReachOptions } from "./reach-options.js";

/** `touchstone describe URL` */
export function describeCommand(): Command {
  const command = new Command("describe")
    .description("Ask a server what it is: every touchstone.v1 service that it has, as JSON.")
    .argument("<url>", "where it is, such as http://127.0.0.1:7001");
  return withReachOptions(command).action(async (url: string, flags: ReachFlags) => {
    const { describeServer } = await import("./describe-server.js");
    process.stdout.write(`${JSON.stringify(await describeServer(url, flags), null, 2)}\n`);
  });
}
