import { built } from "./built.mjs";

await import(built("serve.js"));
