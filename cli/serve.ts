import { once } from "node:events";
import { Command } from "commander";
import { loadConfig } from "../servers/composition/load-config.js";
import { createLogger, type LogLevel } from "../servers/runtime/log.js";
import { exitCodes } from "./exit-codes.js";
import { onInterrupt } from "./interrupt.js";
import { logOption } from "./log-option.js";
import { watchStuck } from "./stuck-watch.js";

/** `touchstone serve CONFIG [NAME...]` */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Start the servers of a configuration, or some of them, until SIGTERM drains them.")
    .argument("<config>", "configuration file (YAML)")
    .argument("[name...]", "names of the servers to start; all where none is given")
    .addOption(logOption())
    .action(async (file: string, names: string[], { log }: { log: LogLevel }) => {
      using interrupt = onInterrupt({
        stopping: () => "draining: nothing new is taken, what is held goes on; again to leave at once",
        abandoning: () => "leaving what is held",
      });
      const config = await loadConfig(file);
      // What servers need takes a while to load; help and refusals need not wait for it.
      const { loadServers } = await import("../servers/composition/load-servers.js");
      const { startServers } = await import("../servers/composition/start-servers.js");
      using _stuck = watchStuck();
      const loaded = await loadServers(config, names.length === 0 ? undefined : names);
      const started = await startServers({ config, loaded, log: createLogger(log) });
      for (const { name, kind, address, running } of started.servers.values()) {
        const elsewhere = running === undefined ? "\telsewhere" : "";
        process.stdout.write(`${name}\t${kind}\t${address.url}${elsewhere}\n`);
      }
      const { stop, abandon } = interrupt;
      abandon.addEventListener("abort", () => process.exit(exitCodes.stopped));
      if (!stop.aborted) await once(stop, "abort");
      await started.close();
    });
}
