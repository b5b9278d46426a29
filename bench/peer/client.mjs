import { built } from "./built.mjs";

await import(built("load.js"));
