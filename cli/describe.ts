import { Command } from "commander";

/** `touchstone describe URL` */
export function describeCommand(): Command {
  return new Command("describe")
    .description("Ask a server what it is: every touchstone.v1 service that it has, as JSON.")
    .argument("<url>", "where it is, such as http://127.0.0.1:7001")
    .option("--credential <token>", "bearer token; others on this machine may see it while the command runs")
    .action(async (url: string, { credential }: { readonly credential?: string }) => {
      const { describeServer } = await import("./describe-server.js");
      process.stdout.write(`${JSON.stringify(await describeServer(url, credential), null, 2)}\n`);
    });
}
