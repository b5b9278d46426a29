import { once } from "node:events";
import { Command } from "commander";
import { loadConfig } from "../servers/composition/load-config.js";
import { startServers } from "../servers/composition/start-servers.js";
import { createLogger, type LogLevel } from "../servers/runtime/log.js";
import { onInterrupt } from "./interrupt.js";
import { logOption } from "./log-option.js";

/** `touchstone serve CONFIG [NAME...]` */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Start the servers of a configuration, or some of them, until SIGTERM drains them.")
    .argument("<config>", "configuration file (YAML)")
    .argument("[name...]", "names of the servers to start; all where none is given")
    .addOption(logOption())
    .action(async (file: string, names: string[], { log }: { log: LogLevel }) => {
      using interrupt = onInterrupt();
      const config = await loadConfig(file);
      const started = await startServers({
        config,
        ...(names.length === 0 ? {} : { only: names }),
        log: createLogger(log),
      });
      for (const { name, kind, address, running } of started.servers.values()) {
        process.stdout.write(
          `${name}\t${kind}\t${address.url}${running === undefined ? "\telsewhere" : ""}\n`,
        );
      }
      if (!interrupt.signal.aborted) await once(interrupt.signal, "abort");
      await started.close();
    });
}
