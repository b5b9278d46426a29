import { Option } from "commander";
import { logLevels } from "../servers/runtime/log.js";

/** How much the servers log, on standard error. */
export const logOption = (): Option =>
  new Option("--log <level>", "how much the servers log, on standard error")
    .choices(logLevels)
    .default("error");
