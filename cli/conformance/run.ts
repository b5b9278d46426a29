import { Command } from "commander";
import type { RunFlags } from "./run-profile.js";

/** `touchstone conformance run PROFILE` */
export function runCommand(): Command {
  return new Command("run")
    .description(
      "Run the checks of a profile against a server. Exit codes: 0 conformant, 1 not, 2 usage, 3 incomplete, 4 harness error.",
    )
    .argument("<profile>", "environment, agent-session, model, episode, ...")
    .argument("[patterns...]", "only these clauses or checks, * for anything")
    .option("--target <url>", "a running server, such as http://127.0.0.1:7001")
    .option("--exec <command>", 'starts the server: it prints {"address":"host:port"} on stdout')
    .option("--config <file>", "what the suite needs to know of the server", "conformance.yaml")
    .option("--header <name:value>", "metadata of every call; shown nowhere", collect, [])
    .option("--ca <file>", "PEM file of certificates to trust")
    .option("--client-cert <file>", "PEM file of the certificate to show")
    .option("--client-key <file>", "PEM file of its private key")
    .option("--json <file>", "write the result document")
    .option("--html <file>", "write the report as one page")
    .option("--junit <file>", "write the report as JUnit XML")
    .option("--markdown <file>", "write the report as Markdown")
    .option("--seed <text>", "the order of an earlier run")
    .option("--time-scale <factor>", "factor on every watchdog, for slow machines", Number)
    .option("--serial", "one check after the other")
    .option("--slow", "run checks that take minutes too")
    .option("--allow-destructive", "run checks that could harm others' sessions")
    .option("--no-smoke", "skip the smoke stage")
    .option("--dry-run", "print what would run, and what would not and why")
    .option("--require-pass <id...>", "the run is incomplete unless these clauses or checks pass")
    .action(async (profile: string, patterns: string[], flags: RunFlags) => {
      const { runProfile } = await import("./run-profile.js");
      process.exitCode = await runProfile(profile, patterns, flags);
    });
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}
