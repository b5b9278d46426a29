// Comments of a compiled proto file, each with the name of what it stands beside.
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FileDescriptorProto,
  SourceCodeInfo_Location,
} from "@bufbuild/protobuf/wkt";

/** One comment. */
export interface CommentBlock {
  /** Name within the package: `SeedRequest.lease`, `EnvironmentService.Seed`; empty: the file's head. */
  readonly element: string;
  /** Its lines, without the blank that follows `//`. */
  readonly lines: readonly string[];
}

// Field numbers of descriptor.proto, of which a location's path is made.
const FILE_MESSAGE = 4;
const FILE_ENUM = 5;
const FILE_SERVICE = 6;
const FILE_EXTENSION = 7;
const MESSAGE_FIELD = 2;
const MESSAGE_NESTED = 3;
const MESSAGE_ENUM = 4;
const MESSAGE_ONEOF = 8;
const CHILD_OF_ENUM_OR_SERVICE = 2;

type Named = { readonly name: string };

function dotted(parent: string, child: Named | undefined): string {
  return child === undefined ? parent : `${parent}.${child.name}`;
}

function enumElement(prefix: string, descriptor: EnumDescriptorProto | undefined, path: number[]): string {
  const name = `${prefix}${descriptor?.name ?? ""}`;
  const [kind, index = -1] = path;
  return kind === CHILD_OF_ENUM_OR_SERVICE ? dotted(name, descriptor?.value[index]) : name;
}

function messageElement(prefix: string, descriptor: DescriptorProto | undefined, path: number[]): string {
  const name = `${prefix}${descriptor?.name ?? ""}`;
  const [kind, index = -1, ...rest] = path;
  switch (kind) {
    case MESSAGE_FIELD:
      return dotted(name, descriptor?.field[index]);
    case MESSAGE_ONEOF:
      return dotted(name, descriptor?.oneofDecl[index]);
    case MESSAGE_NESTED:
      return messageElement(`${name}.`, descriptor?.nestedType[index], rest);
    case MESSAGE_ENUM:
      return enumElement(`${name}.`, descriptor?.enumType[index], rest);
    default:
      return name;
  }
}

/** Name of what a path leads to; empty for what belongs to the file (syntax, package, options). */
function elementAt(file: FileDescriptorProto, path: number[]): string {
  const [kind, index = -1, ...rest] = path;
  switch (kind) {
    case FILE_MESSAGE:
      return messageElement("", file.messageType[index], rest);
    case FILE_ENUM:
      return enumElement("", file.enumType[index], rest);
    case FILE_SERVICE: {
      const service = file.service[index];
      const name = service?.name ?? "";
      const [child, method = -1] = rest;
      return child === CHILD_OF_ENUM_OR_SERVICE ? dotted(name, service?.method[method]) : name;
    }
    case FILE_EXTENSION:
      return file.extension[index]?.name ?? "";
    default:
      return "";
  }
}

function blocksOf(file: FileDescriptorProto, location: SourceCodeInfo_Location): CommentBlock[] {
  const element = elementAt(file, location.path);
  const texts = [
    ...location.leadingDetachedComments,
    location.leadingComments ?? "",
    location.trailingComments ?? "",
  ];
  return texts
    .filter((text) => text !== "")
    .map((text) => ({
      element,
      lines: text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => line.replace(/^ /, "")),
    }));
}

/** All comments of a file in their order. Empty where it was compiled without source info. */
export function commentBlocks(file: FileDescriptorProto): CommentBlock[] {
  return (file.sourceCodeInfo?.location ?? []).flatMap((location) => blocksOf(file, location));
}
