// The load process of a point: `load.js POINT ADDRESS SESSIONS SECONDS [steps|create|idle]`, as the peers' clients have it.
import { churn } from "./load/churn.js";
import { hold } from "./load/hold.js";
import { play } from "./load/play.js";
import { loadPoint } from "./points/index.js";

const [name, address = "", count, time, mode = "steps"] = process.argv.slice(2);
const sessions = Number(count);
const seconds = Number(time);
if (!(Number.isInteger(sessions) && sessions > 0 && seconds > 0)) {
  throw new Error(`expected POINT ADDRESS SESSIONS SECONDS [MODE], found ${process.argv.slice(2).join(" ")}`);
}
const tell = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
/** Whoever runs this reads our CPU time before it ends our input. */
const released = new Promise<void>((resolve) => {
  process.stdin.on("end", resolve).on("close", resolve).resume();
});

const open = await (await loadPoint(name)).connect(address, sessions);
const task = { open, sessions, seconds, ready: () => tell({ ready: true }) };
switch (mode) {
  case "steps":
    tell(await play(task));
    break;
  case "create":
    tell(await churn(task));
    break;
  case "idle":
    tell(await hold(task));
    break;
  default:
    throw new Error(`expected mode steps, create or idle, found ${mode}`);
}
await released;
process.exit(0);
