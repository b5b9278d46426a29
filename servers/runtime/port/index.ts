export { createHealth, type Health } from "./health.js";
export { openPort, type Port } from "./open-port.js";
export {
  DEFAULT_KEEPALIVE,
  type PortKeepalive,
  type PortOptions,
  type PortTls,
} from "./port-options.js";
export { reflectionRoutes } from "./reflection.js";
