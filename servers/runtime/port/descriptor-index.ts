import {
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The descriptors behind some services, as reflection asks for them. */
export interface DescriptorIndex {
  /** Full names, sorted. */
  readonly services: readonly string[];
  /** The file and everything it imports, the file first; serialized. */
  fileByName(name: string): Uint8Array[] | undefined;
  /** The same for the file that declares a service, method, message, field, oneof, enum, enum value or extension. */
  fileOfSymbol(name: string): Uint8Array[] | undefined;
  fileOfExtension(message: string, number: number): Uint8Array[] | undefined;
  /** The numbers of all known extensions of a message, in ascending order; undefined for an unknown message. */
  extensionNumbers(message: string): number[] | undefined;
}

/** Indexes the files of `services` and all they import. */
export function createDescriptorIndex(services: readonly DescService[]): DescriptorIndex {
  const files = new Map<string, DescFile>();
  const symbols = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescFile>>();
  const closures = new Map<DescFile, Uint8Array[]>();

  for (const file of closureOf(services.map((service) => service.file))) {
    files.set(file.proto.name, file);
    for (const type of nestedTypes(file)) {
      for (const symbol of symbolsOf(type)) symbols.set(symbol, file);
      if (type.kind === "message" && !extensions.has(type.typeName)) extensions.set(type.typeName, new Map());
      if (type.kind === "extension") {
        const { typeName } = type.extendee;
        const known = extensions.get(typeName) ?? new Map<number, DescFile>();
        extensions.set(typeName, known.set(type.number, file));
      }
    }
  }

  function serializedClosure(file: DescFile | undefined): Uint8Array[] | undefined {
    if (file === undefined) return undefined;
    const known =
      closures.get(file) ?? closureOf([file]).map((one) => toBinary(FileDescriptorProtoSchema, one.proto));
    closures.set(file, known);
    return known;
  }

  return {
    services: [...new Set(services.map((service) => service.typeName))].sort(),
    fileByName: (name) => serializedClosure(files.get(name)),
    fileOfSymbol: (name) => serializedClosure(symbols.get(name)),
    fileOfExtension: (message, number) => serializedClosure(extensions.get(message)?.get(number)),
    extensionNumbers(message) {
      const known = extensions.get(message);
      return known === undefined ? undefined : [...known.keys()].sort((a, b) => a - b);
    },
  };
}

/** The files and everything they import, each once, every file before those it imports. */
function closureOf(roots: readonly DescFile[]): DescFile[] {
  const seen = new Set<DescFile>();
  const importsFirst: DescFile[] = [];
  const visit = (file: DescFile): void => {
    if (seen.has(file)) return;
    seen.add(file);
    file.dependencies.forEach(visit);
    importsFirst.push(file);
  };
  roots.forEach(visit);
  return importsFirst.reverse();
}

function symbolsOf(type: DescMessage | DescEnum | DescExtension | DescService): string[] {
  const { typeName } = type;
  switch (type.kind) {
    case "message":
      return [typeName, ...[...type.fields, ...type.oneofs].map((member) => `${typeName}.${member.name}`)];
    case "service":
      return [typeName, ...type.methods.map((method) => `${typeName}.${method.name}`)];
    case "enum": {
      // Values live beside their enum, not in it.
      const scope = type.parent?.typeName ?? type.file.proto.package;
      return [
        typeName,
        ...type.values.map((value) => (scope === "" ? value.name : `${scope}.${value.name}`)),
      ];
    }
    case "extension":
      return [typeName];
  }
}
