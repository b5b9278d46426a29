import { configDefaults, defineConfig } from "vitest/config";

const include = ["**/*.test.ts"];
const exclude = [...configDefaults.exclude, "dist"];
/** Tests that kill processes again and again, and want the machine for themselves: they run behind all others. */
const kills = "test/survival/kills.test.ts";

export default defineConfig({
  test: {
    globalSetup: ["test/built-command.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "tests", include, exclude: [...exclude, kills], sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: "kills", include: [kills], exclude, maxConcurrency: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
