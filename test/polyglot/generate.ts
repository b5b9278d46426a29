// Makes the stubs of other languages below .cache/polyglot/, by the templates that users get, or by bare protoc.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository, run } from "./toolchain.js";

/** Languages that a template is shipped for. */
export type Language = "python" | "go" | "rust" | "java" | "typescript";

/** Import path under which buf.gen.go.yaml puts the Go code; the client's go.mod replaces it by a folder. */
export const GO_MODULE = "touchstone.dev/gen/go";

const stubs = join(repository, ".cache", "polyglot");

/** All files below `directory`, as sorted relative paths. Empty where there is no such folder. */
export function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) {
    return [];
  }
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * Makes `target` hold what `fresh` does. Test files that run side by side may do this at once: each file appears
 * whole, and one that is right already is left alone, so that build caches hold.
 */
function publish(fresh: string, target: string): void {
  const files = filesBelow(fresh);
  for (const file of files) {
    const content = readFileSync(join(fresh, file));
    const path = join(target, file);
    if (existsSync(path) && readFileSync(path).equals(content)) {
      continue;
    }
    mkdirSync(dirname(path), { recursive: true });
    renameSync(join(fresh, file), path);
  }
  const wanted = new Set(files);
  for (const file of filesBelow(target)) {
    if (!wanted.has(file)) {
      rmSync(join(target, file), { force: true });
    }
  }
}

function inScratch(name: string, make: (scratch: string) => string): string {
  mkdirSync(stubs, { recursive: true });
  const scratch = mkdtempSync(join(stubs, `.${name}-`));
  try {
    const target = join(stubs, name);
    publish(make(scratch), target);
    return target;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function addGoModule(folder: string): void {
  writeFileSync(join(folder, "go.mod"), `module ${GO_MODULE}\n\ngo 1.26.0\n`);
}

/**
 * Runs `buf.gen.<language>.yaml` and answers the folder of the stubs, `.cache/polyglot/<language>`.
 *
 * @param python the Python whose grpcio-tools are used; for language `python`
 */
export function generateByTemplate(language: Language, python?: string): string {
  return inScratch(language, (scratch) => {
    run("buf", ["generate", "--template", `buf.gen.${language}.yaml`, "-o", scratch], { python });
    const out = join(scratch, "out", language);
    if (language === "go") {
      addGoModule(out);
    }
    return out;
  });
}

/** Proto files as protoc is given them: relative to `proto` and `vendor`. */
function protoFiles(): string[] {
  const own = filesBelow(join(repository, "proto")).filter((file) => file.endsWith(".proto"));
  return [...own, "buf/validate/validate.proto"];
}

/** Makes the Python stubs by bare protoc, the one inside grpcio-tools, into `.cache/polyglot/python-protoc`. */
export function generatePythonByProtoc(python: string): string {
  return inScratch("python-protoc", (scratch) => {
    const out = join(scratch, "out");
    mkdirSync(out);
    const outputs = ["python", "pyi", "grpc_python"].map((kind) => `--${kind}_out=${out}`);
    const files = [...protoFiles(), "google/rpc/status.proto", "google/rpc/error_details.proto"];
    run(python, ["-m", "grpc_tools.protoc", "-I", "proto", "-I", "vendor", ...outputs, ...files]);
    return out;
  });
}

/**
 * Makes the Go stubs by bare protoc, the one inside grpcio-tools, into `.cache/polyglot/go-protoc`. The plugins are
 * those on the search path.
 */
export function generateGoByProtoc(python: string): string {
  return inScratch("go-protoc", (scratch) => {
    const out = join(scratch, "out");
    mkdirSync(out);
    // The file itself names a module of the protovalidate library; the stubs bring their own copy instead.
    const validate = `Mbuf/validate/validate.proto=${GO_MODULE}/buf/validate;validate`;
    const outputs = ["go", "go-grpc"].flatMap((kind) => [
      `--${kind}_out=${out}`,
      `--${kind}_opt=module=${GO_MODULE}`,
      `--${kind}_opt=${validate}`,
    ]);
    run(python, ["-m", "grpc_tools.protoc", "-I", "proto", "-I", "vendor", ...outputs, ...protoFiles()]);
    addGoModule(out);
    return out;
  });
}
